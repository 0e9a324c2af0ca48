#include "harness/command/one_point.h"

#include "harness/base/file.h"
#include "harness/base/json.h"
#include "harness/base/log.h"
#include "harness/nvml/devices.h"
#include "harness/command/progress.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct json *row_json(const struct row *row)
{
    struct json *object = json_make_object();
    for (int i = 0; i < COLUMNS; i++) {
        const char *name = column_facts[i].name;
        const struct cell *cell = &row->cell[i];
        if (cell->kind == CELL_COUNT)
            json_set_count(object, name, cell->count);
        else if (cell->kind == CELL_REAL)
            json_set_real(object, name, cell->real);
        else
            json_set_text(object, name, cell->kind == CELL_TEXT ? cell->text : NULL);
    }
    return object;
}

static void say_failure(const struct row *closing)
{
    const char *phase = row_text(closing, COLUMN_failed_phase);
    const char *error = row_text(closing, COLUMN_error);
    struct reading refused = row_count(closing, COLUMN_refused_bytes);
    struct reading free_bytes = row_count(closing, COLUMN_free_bytes_at_failure);
    struct text why = TEXT_INIT;
    text_add(&why, row_text(closing, COLUMN_status));
    if (phase != NULL)
        text_addf(&why, " in %s", phase);
    if (refused.known && free_bytes.known)
        text_addf(&why, ": %" PRIu64 " bytes refused, %" PRIu64 " free", refused.value,
                  free_bytes.value);
    else if (error != NULL)
        text_addf(&why, ": %s", error);
    log_error("measure: %s", text_string(&why));
    text_release(&why);
}

static void take_rows(void *user, const struct row *rows, size_t count)
{
    struct json *list = user;
    for (size_t i = 0; i < count; i++) {
        json_append(list, row_json(&rows[i]));
        if (row_is_closing(&rows[i]) && row_status(&rows[i]) != STATUS_ok)
            say_failure(&rows[i]);
    }
}

/* Rows that were made are given out whatever became of the run: a failure is a result. */
static enum sweep_outcome measure(struct command_call *call, const struct study *study)
{
    struct json *document = json_make_object(), *rows = json_make_array();
    struct sweep_request request = {
        .study = study, .command_line = call->command_line, .rows = take_rows, .user = rows};
    struct text why = TEXT_INIT;
    enum sweep_outcome outcome = sweep_run(&request, &why);
    if (why.length)
        log_error("measure: %s", text_string(&why));
    else if (progress_is_signal(outcome))
        log_error("measure: interrupted; nothing was measured");
    bool any = json_length(rows) > 0;
    json_set_count(document, "schema", ROW_SCHEMA);
    json_set(document, "rows", rows);
    if (any)
        json_write(document, &call->out);
    json_release(document);
    text_release(&why);
    return outcome;
}

/* Whether the card asked for is there at all; whether CUDA can use it is found by running. */
static int find_device(const char *index, struct text *why)
{
    struct nvml *nvml;
    struct nvml_device *found = NULL;
    size_t count;
    if (nvml_open(&nvml, why) != 0)
        return -1;
    int outcome = devices_find(nvml, index, &found, &count, why);
    free(found);
    nvml_close(nvml);
    return outcome;
}

static int refuse(int code, const char *reason)
{
    log_error("measure: %s", reason);
    return code;
}

/* The device is checked before everything else: on a machine that cannot measure, mending the
 * rest of the command line would be in vain. */
static int run(struct command_call *call)
{
    const struct one_point *options = call->options;
    struct text why = TEXT_INIT;
    struct study study;
    int code = EXIT_FAILURE;
    const char *index = one_point_cuda_index(options);
    if (index && find_device(index, &why) != 0)
        code = refuse(SWEEP_NO_DEVICE, text_string(&why));
    else if (options->output[0] && file_exists(options->output))
        code = refuse(SWEEP_EXISTS, "the output exists; nothing was measured");
    else if (one_point_study(call, &study, &why) != 0)
        command_log_lines(&why);
    else {
        struct text notes = TEXT_INIT;
        bool good = study_look(&study, &notes, &why) == 0;
        if (notes.length)
            log_note("%s", text_string(&notes));
        if (!good)
            code = refuse(EXIT_FAILURE, text_string(&why));
        else
            code = (int)measure(call, &study);
        text_release(&notes);
        study_release(&study);
    }
    text_release(&why);
    return code;
}

static const struct option_part parts[] = {{.table = one_point_options}, {.table = NULL}};
const struct command command_measure = {
    .name = "measure",
    .summary = "one point on one device, JSON result (the single-run form of sweep)",
    .about =
        "  highwater measure --device cuda:0 --workload dense --batch 2 --context 128 \\\n"
        "      --width 1024 --dtype float32 --warmup 3 --repeats 5 --output measures.json\n\n"
        "The rows are those of rows.csv. A run that fails is written too, and exits 3.",
    .repeated = "set",
    .options_size = sizeof(struct one_point),
    .parts = parts,
    .more = one_point_more,
    .run = run,
};
