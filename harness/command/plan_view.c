#include "harness/command/plan_view.h"

#include "harness/base/json.h"
#include "harness/base/units.h"
#include "harness/plan/duration.h"
#include "kernels/backends.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Is there a card whose capacity is known? */
static bool is_judged(const struct plan_view *view)
{
    bool judged = false;
    for (size_t i = 0; i < view->outlook.group_count; i++)
        judged = judged || view->outlook.groups[i].capacity.known;
    return judged;
}

/* Points that do not fit on every card whose capacity is known. */
static size_t count_misfits(const struct plan_view *view)
{
    size_t misfits = 0;
    for (size_t i = 0; i < view->outlook.point_count; i++) {
        bool fits = true;
        for (size_t j = 0; j < view->outlook.group_count; j++)
            fits = fits && outlook_of_point(&view->outlook, i, j)->fits;
        misfits += !fits;
    }
    return misfits;
}

/* --- for people --- */

static void add_size(const char *what, struct reading size, struct text *out)
{
    if (!size.known)
        return;
    text_addf(out, "%s ", what);
    text_add_size(out, size.value);
    text_add(out, ", ");
}

static void add_cards(const struct plan_view *view, struct text *out)
{
    for (size_t i = 0; i < view->outlook.group_count; i++) {
        const struct seat_group *group = &view->outlook.groups[i];
        text_addf(out, "%s: ", group->ranks);
        add_size("the allocator's limit", group->seat.limit, out);
        add_size("capacity", group->capacity, out);
        text_addf(out, "%s\n", group->basis);
    }
}

static void add_misfits(const struct plan_view *view, struct text *out)
{
    size_t misfits = count_misfits(view), points = view->outlook.point_count;
    bool judged = is_judged(view);
    text_add(out, "predicted not to fit: ");
    if (judged || misfits > 0)
        text_addf(out, "%zu of %zu point%s%s\n", misfits, points, points == 1 ? "" : "s",
                  judged ? "" : ", the others not judged");
    else
        text_add(out, "not judged\n");
}

static void add_last_fit(const struct study_boundary *boundary, const struct seat_group *group,
                         const struct boundary_outlook *found, struct text *out)
{
    if (!group->capacity.known)
        text_add(out, "not judged");
    else if (found->none)
        text_add(out, "none, not even the first");
    else
        text_addf(out, "%" PRIu64 "%s", found->last_fit.value,
                  boundary->to - found->last_fit.value < boundary->step
                      ? ", the largest asked for"
                      : "");
}

static void add_boundaries(const struct plan_view *view, struct text *out)
{
    const struct outlook *outlook = &view->outlook;
    for (size_t i = 0; i < view->study->boundary_count; i++) {
        const struct study_boundary *boundary = &view->study->boundaries[i];
        text_addf(out,
                  "boundary %s: searched for from %" PRIu64 " to %" PRIu64 " step %" PRIu64
                  ", confirm %" PRIu64 ", at most %" PRIu64 " runs\n  predicted last fit: ",
                  dimension_facts[boundary->dimension].name, boundary->from, boundary->to,
                  boundary->step, boundary->confirm,
                  outlook_boundary_runs(outlook, view->study, boundary));
        for (size_t j = 0; j < outlook->group_count; j++) {
            const struct seat_group *group = &outlook->groups[j];
            if (outlook->group_count > 1)
                text_addf(out, "%s%s ", j ? "; " : "", group->ranks);
            add_last_fit(boundary, group, &outlook->boundaries[i * outlook->group_count + j],
                         out);
        }
        text_add_char(out, '\n');
    }
}

static void add_head(const struct plan_view *view, struct text *out)
{
    const struct study *study = view->study;
    text_addf(out, "study %s: %s\n", study->name, study->question);
    text_addf(out, "workload %s on backend %s\n", study->setting.workload->name,
              backend_names[study->setting.backend]);
    if (view->notes.length)
        text_addf(out, "%s\n", text_string(&view->notes));
    add_cards(view, out);
    size_t points = view->outlook.point_count;
    if (view->plan.count > 0 || study->boundary_count == 0)
        text_addf(out, "%zu run%s of %zu point%s%s, %" PRIu64 " trial%s each\n",
                  view->plan.count, view->plan.count == 1 ? "" : "s", points,
                  points == 1 ? "" : "s",
                  study->phases == PHASES_BOTH ? " (split and whole count as two)" : "",
                  study->trials, study->trials == 1 ? "" : "s");
    if (study->placement == PLACEMENT_ALONE)
        text_addf(out, "placement alone: a run of its own on each of %" PRIu64 " device%s%s\n",
                  view->outlook.ranks, view->outlook.ranks == 1 ? "" : "s",
                  view->outlook.ranks_unknown
                      ? ", counted for one: how many there are is not known here"
                      : "");
    if (view->outlook.point_count > 0)
        add_misfits(view, out);
    add_boundaries(view, out);
    if (view->plan.count == 0)
        return;
    text_add(out, study->boundary_count ? "assumed duration without the boundaries' runs: "
                                        : "assumed duration: ");
    text_add_duration(out, view->outlook.duration_ns);
    text_addf(out, " (%s)\n", duration_rule(study));
}

/* "yes", "no: warm_forward", or each card's own answer where they differ in capacity. */
static void add_fits(const struct outlook *outlook, const struct plan_run *run, size_t point,
                     struct text *out)
{
    size_t first, end;
    outlook_groups_of(outlook, run, &first, &end);
    for (size_t i = first; i < end; i++) {
        const struct seat_group *group = &outlook->groups[i];
        const struct point_outlook *one = outlook_of_point(outlook, point, i);
        if (i > first)
            text_add(out, "; ");
        if (end - first > 1)
            text_addf(out, "%s ", group->ranks);
        if (one->fits)
            text_add(out, group->capacity.known ? "yes" : "not judged");
        else
            text_addf(out, "no: %s", one->failed_phase);
    }
}

/* Counters are the same on every card until one refuses: the last to refuse tells most. */
static const struct point_outlook *fullest(const struct outlook *outlook,
                                           const struct plan_run *run, size_t point)
{
    size_t first, end;
    outlook_groups_of(outlook, run, &first, &end);
    const struct point_outlook *best = outlook_of_point(outlook, point, first);
    for (size_t i = first + 1; i < end; i++) {
        const struct point_outlook *other = outlook_of_point(outlook, point, i);
        if (other->allocated_peak.known &&
            (!best->allocated_peak.known ||
             other->allocated_peak.value > best->allocated_peak.value))
            best = other;
    }
    return best;
}

static void add_runs(const struct plan_view *view, struct text *out)
{
    struct plan_run run;
    text_addf(out,
              "\nruns in the order of launch; bytes, and the same in GiB (2^30), are computed, "
              ">= is what was reached before the refusal\n%6s  %-32s %-8s",
              "order", "run", "role");
    text_add_peak_heading(out, "allocated_peak");
    text_add_peak_heading(out, "reserved_peak");
    text_add(out, "  fits\n");
    for (size_t i = 0; i < view->plan.count; i++) {
        size_t point = view->outlook.point_of_run[i];
        plan_run_at(&view->plan, i, &run);
        const struct point_outlook *one = fullest(&view->outlook, &run, point);
        text_addf(out, "%6zu  %-32s %-8s", i + 1, run.name, plan_role_names[run.role]);
        const char *mark = one->fits ? "" : ">=";
        text_add_peak(out, mark, one->allocated_peak);
        text_add_peak(out, mark, one->reserved_peak);
        text_add(out, "  ");
        add_fits(&view->outlook, &run, point, out);
        text_add_char(out, '\n');
    }
}

static bool is_peak(enum column column)
{
    return column == COLUMN_allocated_peak_bytes || column == COLUMN_reserved_peak_bytes;
}

static void add_phase(const struct outlook_phase *phase, struct text *out)
{
    struct text name = TEXT_INIT;
    text_addf(&name, "%s%s%s", phase->phase, phase->pass ? " " : "",
              phase->pass ? phase->pass : "");
    if (phase->times > 1)
        text_addf(&name, " x%" PRIu64, phase->times);
    text_addf(out, "  %-26s", text_string(&name));
    text_release(&name);
    for (int i = 0; i < OUTLOOK_COUNTERS; i++)
        if (is_peak(outlook_columns[i]))
            text_add_peak(out, phase->status == STATUS_ok ? "" : ">=", phase->counters[i]);
        else
            text_add_bytes_cell(out, "", phase->counters[i]);
    text_addf(out, "  %s\n", status_facts[phase->status].name);
}

static void add_points(const struct plan_view *view, struct text *out)
{
    struct plan_run run;
    text_addf(out,
              "\npoints with the computed counters of each phase, in bytes, peaks also in GiB\n"
              "  %-26s",
              "phase");
    for (int i = 0; i < OUTLOOK_COUNTERS; i++) {
        const char *column = column_facts[outlook_columns[i]].name;
        char *name = xstrndup(column, strlen(column) - strlen("_bytes"));
        if (is_peak(outlook_columns[i]))
            text_add_peak_heading(out, name);
        else
            text_addf(out, " %*s", UNITS_BYTES, name);
        free(name);
    }
    text_add(out, "  status\n");
    for (size_t i = 0; i < view->outlook.point_count; i++) {
        const struct point_outlook *one = fullest(&view->outlook, NULL, i);
        plan_run_at(&view->plan, view->outlook.points[i], &run);
        for (int d = 0; d < DIMENSIONS; d++)
            if (run.point.value[d].known)
                text_addf(out, "%s%s=%" PRIu64, d ? " " : "", dimension_facts[d].name,
                          run.point.value[d].value);
        text_add(out, run.phases == PHASES_WHOLE ? ", whole: " : ": ");
        add_fits(&view->outlook, NULL, i, out);
        text_add_char(out, '\n');
        for (size_t j = 0; j < one->phase_count; j++)
            add_phase(&one->phases[j], out);
    }
}

void plan_view_text(const struct plan_view *view, struct text *out)
{
    add_head(view, out);
    if (view->plan.count == 0)
        return;
    add_runs(view, out);
    add_points(view, out);
}

/* --- as JSON --- */

static struct json *cards_json(const struct plan_view *view)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < view->outlook.group_count; i++) {
        const struct seat_group *group = &view->outlook.groups[i];
        struct json *object = json_make_object();
        json_set_text(object, "ranks", group->ranks);
        json_set_reading(object, "capacity_bytes", group->capacity);
        json_set_reading(object, "allocator_limit_bytes", group->seat.limit);
        json_set_text(object, "basis", group->basis);
        json_append(list, object);
    }
    return list;
}

static struct json *notes_json(const struct text *lines)
{
    struct json *list = json_make_array();
    size_t at = 0, length;
    for (const char *line; (line = text_line(lines, &at, &length)) != NULL;) {
        char *note = xstrndup(line, length);
        json_append_text(list, note);
        free(note);
    }
    return list;
}

static struct json *phases_json(const struct point_outlook *one)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < one->phase_count; i++) {
        const struct outlook_phase *phase = &one->phases[i];
        struct json *object = json_make_object();
        json_set_text(object, "phase", phase->phase);
        json_set_text(object, "pass", phase->pass);
        json_set_count(object, "times", phase->times);
        json_set_text(object, "status", status_facts[phase->status].name);
        for (int j = 0; j < OUTLOOK_COUNTERS; j++)
            json_set_reading(object, column_facts[outlook_columns[j]].name, phase->counters[j]);
        json_append(list, object);
    }
    return list;
}

static struct json *outlooks_json(const struct outlook *outlook, size_t point)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < outlook->group_count; i++) {
        const struct point_outlook *one = outlook_of_point(outlook, point, i);
        struct json *object = json_make_object();
        json_set_text(object, "ranks", outlook->groups[i].ranks);
        if (outlook->groups[i].capacity.known || !one->fits)
            json_set_flag(object, "fits", one->fits);
        else
            json_set_text(object, "fits", NULL);
        json_set_text(object, "failed_phase", one->failed_phase[0] ? one->failed_phase : NULL);
        json_set_reading(object, "allocated_peak_bytes", one->allocated_peak);
        json_set_reading(object, "reserved_peak_bytes", one->reserved_peak);
        json_set(object, "phases", phases_json(one));
        json_append(list, object);
    }
    return list;
}

static struct json *points_json(const struct plan_view *view)
{
    struct json *list = json_make_array();
    struct plan_run run;
    for (size_t i = 0; i < view->outlook.point_count; i++) {
        struct json *object = json_make_object(), *values = json_make_object();
        plan_run_at(&view->plan, view->outlook.points[i], &run);
        for (int d = 0; d < DIMENSIONS; d++)
            if (run.point.value[d].known)
                json_set_count(values, dimension_facts[d].name, run.point.value[d].value);
        json_set_count(object, "point", i + 1);
        json_set_text(object, "phases", run.phases == PHASES_WHOLE ? "whole" : "split");
        json_set(object, "dimensions", values);
        json_set(object, "cards", outlooks_json(&view->outlook, i));
        json_append(list, object);
    }
    return list;
}

static struct json *runs_json(const struct plan_view *view)
{
    struct json *list = json_make_array();
    struct plan_run run;
    for (size_t i = 0; i < view->plan.count; i++) {
        struct json *object = json_make_object();
        plan_run_at(&view->plan, i, &run);
        json_set_count(object, "order", i + 1);
        json_set_text(object, "run", run.name);
        json_set_text(object, "role", plan_role_names[run.role]);
        json_set_text(object, "dimension",
                      run.dimension < 0 ? NULL : dimension_facts[run.dimension].name);
        json_set_reading(object, "value",
                         run.dimension < 0 ? reading_missing() : reading_of(run.value));
        json_set_text(object, "input", run.input);
        json_set_count(object, "trial", run.trial);
        json_set_reading(object, "place",
                         run.place > 0 ? reading_of(run.place) : reading_missing());
        json_set_count(object, "point", view->outlook.point_of_run[i] + 1);
        json_append(list, object);
    }
    return list;
}

static struct json *boundary_cards_json(const struct outlook *outlook, size_t boundary)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < outlook->group_count; i++) {
        const struct boundary_outlook *found =
            &outlook->boundaries[boundary * outlook->group_count + i];
        struct json *object = json_make_object();
        json_set_text(object, "ranks", outlook->groups[i].ranks);
        json_set_reading(object, "predicted_last_fit", found->last_fit);
        if (outlook->groups[i].capacity.known)
            json_set_flag(object, "predicted_none_fits", found->none);
        else
            json_set_text(object, "predicted_none_fits", NULL);
        json_append(list, object);
    }
    return list;
}

static struct json *boundaries_json(const struct plan_view *view)
{
    struct json *list = json_make_array();
    for (size_t i = 0; i < view->study->boundary_count; i++) {
        const struct study_boundary *boundary = &view->study->boundaries[i];
        struct json *object = json_make_object();
        json_set_text(object, "dimension", dimension_facts[boundary->dimension].name);
        json_set_count(object, "from", boundary->from);
        json_set_count(object, "to", boundary->to);
        json_set_count(object, "step", boundary->step);
        json_set_count(object, "confirm", boundary->confirm);
        json_set_count(object, "most_runs",
                       outlook_boundary_runs(&view->outlook, view->study, boundary));
        json_set(object, "cards", boundary_cards_json(&view->outlook, i));
        json_append(list, object);
    }
    return list;
}

void plan_view_json(const struct plan_view *view, struct text *out)
{
    const struct study *study = view->study;
    struct json *document = json_make_object();
    json_set_count(document, "schema", 1);
    json_set_text(document, "evidence", "computed");
    json_set_text(document, "study", study->name);
    json_set_text(document, "question", study->question);
    json_set_text(document, "workload", study->setting.workload->name);
    json_set_text(document, "caution", study->setting.workload->caution);
    json_set(document, "notes", notes_json(&view->notes));
    json_set_text(document, "backend", backend_names[study->setting.backend]);
    json_set_count(document, "run_count", view->plan.count);
    json_set_count(document, "point_count", view->outlook.point_count);
    size_t misfits = count_misfits(view);
    bool judged = is_judged(view) || misfits > 0;
    json_set_reading(document, "predicted_not_to_fit",
                     judged ? reading_of(misfits) : reading_missing());
    json_set_count(document, "assumed_duration_ns", view->outlook.duration_ns);
    json_set_text(document, "assumed_duration_rule", duration_rule(study));
    json_set(document, "cards", cards_json(view));
    json_set(document, "boundaries", boundaries_json(view));
    json_set(document, "runs", runs_json(view));
    json_set(document, "points", points_json(view));
    json_write(document, out);
    json_release(document);
}
