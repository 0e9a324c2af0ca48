#include "harness/command/command.h"

#include "harness/base/json.h"
#include "harness/base/log.h"
#include "harness/command/folder_view.h"
#include "kernels/backends.h"

#include <stdlib.h>
#include <string.h>

static void print_text(const struct folder_view *view, struct text *out)
{
    text_addf(out, "%s on %s: %s\n", view->study.name,
              backend_names[view->study.setting.backend],
              view->in_use ? text_string(&view->user) : "nobody is at work");
    text_addf(out, "%zu run%s done, %s%zu left\n", view->made, view->made == 1 ? "" : "s",
              view->study.boundary_count > 0 && view->left > 0 ? "about " : "", view->left);
    text_addf(out, "%zu fitted, %zu failed, %zu skipped\n", view->fitted, view->failed,
              view->skipped);
    if (view->current.length > 0)
        text_addf(out, "now %s, since %s UTC\n", text_string(&view->current),
                  text_string(&view->since));
    if (view->table.damage.length > 0)
        text_addf(out,
                  "damaged from byte %llu on: %s; what lies behind is not counted, "
                  "--resume keeps it aside and makes those runs again\n",
                  (unsigned long long)view->table.end, text_string(&view->table.damage));
    probes_add_text(&view->probes, out);
}

/* null: the table is whole */
static void add_damage(const struct whole_runs *table, struct json *document)
{
    if (table->damage.length == 0) {
        json_set_text(document, "damage", NULL);
        return;
    }
    struct json *entry = json_make_object();
    json_set_count(entry, "byte", table->end);
    json_set_text(entry, "reason", text_string(&table->damage));
    json_set(document, "damage", entry);
}

static void print_json(const struct folder_view *view, struct text *out)
{
    struct json *document = json_make_object();
    struct text boundaries = TEXT_INIT;
    probes_add_text(&view->probes, &boundaries);
    json_set_text(document, "study", view->study.name);
    json_set_text(document, "backend", backend_names[view->study.setting.backend]);
    json_set_flag(document, "in_use", view->in_use);
    json_set_count(document, "done", view->made);
    json_set_count(document, "left", view->left);
    json_set_flag(document, "left_is_estimated",
                  view->study.boundary_count > 0 && view->left > 0);
    json_set_count(document, "fitted", view->fitted);
    json_set_count(document, "failed", view->failed);
    json_set_count(document, "skipped", view->skipped);
    bool running = view->current.length > 0;
    json_set_text(document, "current", running ? text_string(&view->current) : NULL);
    json_set_text(document, "current_since_utc", running ? text_string(&view->since) : NULL);
    add_damage(&view->table, document);
    struct json *list = json_make_array();
    for (const char *line = text_string(&boundaries); *line != '\0';) {
        size_t length = strcspn(line, "\n");
        char *one = xstrndup(line, length);
        struct json *entry = json_make_object();
        json_set_text(entry, "said", one);
        json_append(list, entry);
        free(one);
        line += length + (line[length] == '\n');
    }
    json_set(document, "boundaries", list);
    json_write(document, out);
    json_release(document);
    text_release(&boundaries);
}

static int run(struct command_call *call)
{
    const struct output_option *options = call->options;
    struct folder_view view;
    struct text why = TEXT_INIT;
    int result = folder_view_open(&view, call->operands[0], &why);
    if (result == 0 && options->json)
        print_json(&view, &call->out);
    else if (result == 0)
        print_text(&view, &call->out);
    if (result == 0)
        folder_view_close(&view);
    if (result != 0)
        log_error("status: %s", text_string(&why));
    text_release(&why);
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct option_part parts[] = {{.title = "output", .table = output_options},
                                           {.table = NULL}};
const struct command command_status = {
    .name = "status",
    .summary = "a results folder, also while a sweep runs: done, left, current point",
    .operands = "FOLDER",
    .operand_min = 1,
    .operand_max = 1,
    .about = "Reads the folder and touches nothing in it. Runs whose end says nothing about\n"
             "the point (dirty, interrupted, device_lost, launch_failed) count as left.",
    .output = "output",
    .options_size = sizeof(struct output_option),
    .parts = parts,
    .run = run,
};
