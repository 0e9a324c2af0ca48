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

/* Values that are neither a fit nor a failure of the search, and how their runs ended. */
static struct json *between_json(const struct boundary_search *search,
                                 const struct boundary_answer *answer)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < search->seen_count; i++) {
        const struct boundary_seen *seen = &search->seen[i];
        bool judged = seen->fits + seen->fails > 0;
        if (judged && !boundary_is_unstable(answer, seen))
            continue;
        struct json *object = json_make_object();
        json_set_text(object, "state", judged ? "unstable" : "not_judged");
        json_set_count(object, "value", seen->value);
        json_set_count(object, "fitted", seen->fits);
        json_set_count(object, "failed", seen->fails);
        json_set_count(object, "not_judged", seen->not_judged);
        json_append(list, object);
    }
    return list;
}

static void add_search(const struct boundary_search *search, struct json *object)
{
    const struct study_boundary *boundary = &search->boundary;
    struct boundary_answer answer;
    uint64_t runs = 0;
    boundary_answer(search, &answer);
    for (size_t i = 0; i < search->seen_count; i++)
        runs += search->seen[i].fits + search->seen[i].fails + search->seen[i].not_judged;
    json_set_count(object, "from", boundary->from);
    json_set_count(object, "to", boundary->to);
    json_set_count(object, "step", boundary->step);
    json_set_count(object, "confirm", boundary->confirm);
    json_set_text(object, "state", boundary_end_names[answer.end]);
    json_set_flag(object, "confirmed", answer.end == BOUNDARY_CONFIRMED);
    json_set_reading(object, "last_fit", answer.fits);
    json_set_count(object, "last_fit_runs", answer.fits_runs);
    json_set_reading(object, "first_failure", answer.fails);
    json_set_count(object, "first_failure_runs", answer.fails_runs);
    json_set_flag(object, "none_fits", answer.none);
    json_set_flag(object, "all_fit", answer.all);
    json_set_count(object, "runs_made", runs);
    json_set(object, "not_settled", between_json(search, &answer));
}

/* One for each search: of a rank, or with placement = alone of a device by its place. */
static struct json *boundaries_json(const struct probes *probes)
{
    bool alone = probes->study->placement == PLACEMENT_ALONE;
    struct json *list = json_make_array();
    for (size_t b = 0; b < probes->study->boundary_count; b++)
        for (uint64_t rank = 0; rank < probes->ranks; rank++) {
            const struct probe_card *card = &probes->cards[rank];
            const struct boundary_search *search = probes_search(probes, b, rank);
            struct json *object = json_make_object();
            json_set_text(object, "dimension",
                          dimension_facts[search->boundary.dimension].name);
            json_set_reading(object, "rank", alone ? reading_missing() : reading_of(rank));
            json_set_reading(object, "place", alone ? reading_of(rank + 1) : reading_missing());
            json_set_text(object, "device_uuid",
                          row_text(&card->facts.known, COLUMN_device_uuid));
            json_set_count(object, "card_changes", card->changes);
            add_search(search, object);
            json_append(list, object);
        }
    return list;
}

static void print_json(const struct folder_view *view, struct text *out)
{
    struct json *document = json_make_object();
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
    json_set(document, "boundaries", boundaries_json(&view->probes));
    json_write(document, out);
    json_release(document);
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
    .options_size = sizeof(struct output_option),
    .parts = parts,
    .run = run,
};
