#include "harness/command/command.h"

#include "harness/base/json.h"
#include "harness/base/log.h"
#include "harness/launch/resume.h"
#include "harness/study/probes.h"
#include "kernels/backends.h"

#include <stdlib.h>
#include <string.h>

/* What a folder says, read without touching it. */
struct view {
    const char *folder;
    struct study study;
    struct plan plan;
    struct probes probes;
    struct run_set done;
    uint64_t places; /* placement = alone: devices */
    size_t made, fitted, failed, skipped, left;
    bool in_use;
    struct text user;    /* who works in it */
    struct text current; /* the run in progress, "" none */
    struct text since;   /* when it began, UTC */
};

static void count(struct view *view, uint32_t statuses)
{
    view->made++;
    view->fitted += statuses == 1u << STATUS_ok;
    view->skipped += statuses == 1u << STATUS_skipped;
    view->failed += statuses != 1u << STATUS_ok && statuses != 1u << STATUS_skipped;
}

static bool is_alone(const struct view *view)
{
    return view->study.placement == PLACEMENT_ALONE;
}

/* The number of ranks stands in the rows; before the first there is none to search for. */
static void hear_run(void *user, const struct row *closing, size_t ranks)
{
    struct view *view = user;
    struct text said = TEXT_INIT;
    const char *role = row_text(&closing[0], COLUMN_role);
    uint32_t statuses = 0;
    if (view->probes.study == NULL)
        probes_open(&view->probes, &view->study, is_alone(view) ? view->places : ranks, NULL);
    for (size_t i = 0; i < ranks; i++)
        statuses |= 1u << row_status(&closing[i]);
    if (role != NULL && strcmp(role, plan_role_names[ROLE_BOUNDARY]) == 0)
        count(view, statuses);
    if ((statuses & RESUME_ALWAYS) == 0)
        probes_feed(&view->probes, closing, ranks, &said);
    text_release(&said);
}

/* The study or the names of its runs say how many devices it is on. */
static int count_places(struct view *view, struct text *why)
{
    struct reading told = study_ranks(&view->study);
    struct run_set done = RUN_SET_INIT;
    view->places = told.known ? told.value : 1;
    if (!is_alone(view) || told.known)
        return 0;
    if (results_look(view->folder, NULL, &done, why) != 0)
        return -1;
    for (size_t i = 0; i < done.count; i++) {
        uint64_t place = plan_place(done.runs[i].name);
        view->places = place > view->places ? place : view->places;
    }
    run_set_release(&done);
    return 0;
}

static int look(struct view *view, struct text *why)
{
    const struct results_listener listener = {.run = hear_run, .user = view};
    struct plan_run probe;
    if (count_places(view, why) != 0 ||
        results_look(view->folder, &listener, &view->done, why) != 0 ||
        plan_make(&view->study, view->places, &view->plan, why) != 0)
        return -1;
    for (size_t i = 0; i < view->plan.count; i++) {
        const struct run_record *record =
            run_set_find(&view->done, view->plan.runs[i].name);
        if (record != NULL && (record->statuses & RESUME_ALWAYS) == 0)
            count(view, record->statuses);
        else
            view->left++;
    }
    if (view->probes.study == NULL)
        probes_open(&view->probes, &view->study, view->places, NULL);
    if (probes_next(&view->probes, &view->done, &probe))
        view->left += (size_t)probes_left(&view->probes);
    view->in_use = results_in_use(view->folder);
    if (view->in_use) {
        results_add_user(view->folder, &view->user);
        results_current(view->folder, &view->current, &view->since);
    }
    return 0;
}

static void print_text(const struct view *view, struct text *out)
{
    text_addf(out, "%s on %s: %s\n", view->study.name, backend_names[view->study.backend],
              view->in_use ? text_string(&view->user) : "nobody is at work");
    text_addf(out, "%zu runs done, %s%zu left\n", view->made,
              view->study.boundary_count > 0 && view->left > 0 ? "about " : "", view->left);
    text_addf(out, "%zu fitted, %zu failed, %zu skipped\n", view->fitted, view->failed,
              view->skipped);
    if (view->current.length > 0)
        text_addf(out, "now %s, since %s UTC\n", text_string(&view->current),
                  text_string(&view->since));
    probes_add_text(&view->probes, out);
}

static void print_json(const struct view *view, struct text *out)
{
    struct json *document = json_make_object();
    struct text boundaries = TEXT_INIT;
    probes_add_text(&view->probes, &boundaries);
    json_set_text(document, "study", view->study.name);
    json_set_text(document, "backend", backend_names[view->study.backend]);
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

static void view_release(struct view *view)
{
    probes_close(&view->probes);
    plan_release(&view->plan);
    run_set_release(&view->done);
    text_release(&view->user);
    text_release(&view->current);
    text_release(&view->since);
}

static int run(struct command_call *call)
{
    const struct output_option *options = call->options;
    struct view view = {.folder = call->operands[0]};
    struct text why = TEXT_INIT;
    char *frozen = xasprintf("%s/study.ini", view.folder);
    int result = study_read(frozen, NULL, 0, &view.study, &why);
    free(frozen);
    if (result == 0) {
        result = look(&view, &why);
        if (result == 0 && options->json)
            print_json(&view, &call->out);
        else if (result == 0)
            print_text(&view, &call->out);
        view_release(&view);
        study_release(&view.study);
    }
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
    .about = "Reads the folder and touches nothing in it. Runs whose end says nothing about the\n"
             "point (dirty, interrupted, device_lost, launch_failed) count as left.",
    .output = "output",
    .options_size = sizeof(struct output_option),
    .parts = parts,
    .run = run,
};
