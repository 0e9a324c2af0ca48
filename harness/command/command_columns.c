#include "harness/command/command.h"

#include "harness/base/json.h"
#include "harness/record/row.h"

#include <stdlib.h>

static const char *const type_names[] = {
    [COLUMN_TYPE_COUNT] = "count",
    [COLUMN_TYPE_REAL] = "real",
    [COLUMN_TYPE_TEXT] = "text",
};
static const char *const fits_names[] = {
    [FITS_YES] = "yes",
    [FITS_NO] = "no",
    [FITS_NOT_JUDGED] = "",
};

static void print_text(struct text *out)
{
    text_add(out, "columns of rows.csv, in their order: name, type, unit, definition\n"
                  "A cell that is empty was not measured: it is not zero.\n\n");
    for (int i = 0; i < COLUMNS; i++) {
        const struct column_fact *fact = &column_facts[i];
        text_addf(out, "%-33s %-6s %-9s %s\n", fact->name, type_names[fact->type],
                  fact->unit[0] ? fact->unit : "-", fact->definition);
    }
    text_add(out, "\nvalues of status: name, what fits says in the closing row, meaning\n\n");
    for (int i = 0; i < STATUSES; i++) {
        const struct status_fact *fact = &status_facts[i];
        const char *fits = fits_names[fact->judged];
        text_addf(out, "%-14s %-6s %s\n", fact->name, fits[0] ? fits : "empty", fact->meaning);
    }
}

static void print_json(struct text *out)
{
    struct json *document = json_make_object(), *columns = json_make_array(),
                *statuses = json_make_array();
    for (int i = 0; i < COLUMNS; i++) {
        struct json *column = json_make_object();
        json_set_text(column, "name", column_facts[i].name);
        json_set_text(column, "type", type_names[column_facts[i].type]);
        json_set_text(column, "unit", column_facts[i].unit);
        json_set_flag(column, "deterministic", column_facts[i].deterministic);
        json_set_text(column, "definition", column_facts[i].definition);
        json_append(columns, column);
    }
    for (int i = 0; i < STATUSES; i++) {
        struct json *status = json_make_object();
        json_set_text(status, "name", status_facts[i].name);
        json_set_text(status, "fits", fits_names[status_facts[i].judged]);
        json_set_text(status, "meaning", status_facts[i].meaning);
        json_append(statuses, status);
    }
    json_set_count(document, "schema", ROW_SCHEMA);
    json_set(document, "columns", columns);
    json_set(document, "statuses", statuses);
    json_write(document, out);
    json_release(document);
}

static int run(struct command_call *call)
{
    const struct output_option *to = call->options;
    if (to->json)
        print_json(&call->out);
    else
        print_text(&call->out);
    return EXIT_SUCCESS;
}

static const struct option_part parts[] = {{.table = output_options}, {.table = NULL}};
const struct command command_columns = {
    .name = "columns",
    .summary = "every column of rows.csv: name, type, unit, definition",
    .options_size = sizeof(struct output_option),
    .parts = parts,
    .run = run,
};
