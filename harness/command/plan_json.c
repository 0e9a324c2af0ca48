#include "harness/command/plan_view.h"

#include "harness/base/json.h"
#include "harness/plan/duration.h"
#include "kernels/backends.h"

#include <stdlib.h>
#include <string.h>

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

static struct json *notes_json(const char *lines)
{
    struct json *list = json_make_array();
    while (*lines) {
        size_t length = strcspn(lines, "\n");
        char *line = xstrndup(lines, length);
        json_append_text(list, line);
        free(line);
        lines += length + (lines[length] == '\n');
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
    json_set(document, "notes", notes_json(text_string(&view->notes)));
    json_set_text(document, "backend", backend_names[study->setting.backend]);
    json_set_count(document, "run_count", view->plan.count);
    json_set_count(document, "point_count", view->outlook.point_count);
    size_t misfits = plan_view_misfits(view);
    bool judged = plan_view_is_judged(view) || misfits > 0;
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
