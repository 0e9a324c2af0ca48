#include "harness/study/interpret.h"
#include "harness/study/sections.h"
#include "harness/study/until.h"
#include "harness/base/units.h"

#include <stdlib.h>
#include <string.h>

static int check_point(const struct study *study, const struct point *point, struct text *why)
{
    return workload_check(study->setting.workload, point, study->setting.options, why);
}

/* The workload's own keys by themselves: what is wrong with one is said of it, once. */
static bool check_options(const struct document *document, const struct study *study,
                          struct complaints *complaints)
{
    const struct workload *workload = study->setting.workload;
    struct text why = TEXT_INIT;
    const char *key = NULL;
    bool good = !workload->check_options ||
                workload->check_options(study->setting.options, &key, &why) == 0;
    if (!good)
        complain(complaints, COMPLAINT_VALUE, document_subject(document, workload->name, key),
                 "%s: %s", key, text_string(&why));
    text_release(&why);
    return good;
}

static void check_inputs(const struct document *document, const struct study *study,
                         struct complaints *complaints)
{
    struct text why = TEXT_INIT, section = TEXT_INIT;
    for (size_t i = 0; i < study->input_count && complaints->dropped == 0; i++) {
        text_clear(&why);
        text_setf(&section, "input %s", study->inputs[i].name);
        if (check_point(study, &study->inputs[i].point, &why) != 0 &&
            !complaints_about(complaints, text_string(&section)))
            complain(complaints, COMPLAINT_TOGETHER,
                     document_subject(document, text_string(&section), NULL), "[%s]: %s",
                     text_string(&section), text_string(&why));
    }
    text_release(&section);
    text_release(&why);
}

/* The first value that the workload refuses stands for all of its list. */
static void check_sweep(const struct document *document, const struct study *study,
                        const struct study_sweep *sweep, struct complaints *complaints)
{
    struct text why = TEXT_INIT, section = TEXT_INIT;
    struct point point = study->setting.point;
    text_setf(&section, "sweep %s", dimension_facts[sweep->dimension].name);
    for (size_t i = 0; i < sweep->count; i++) {
        point.value[sweep->dimension] = reading_of(sweep->values[i]);
        text_clear(&why);
        if (check_point(study, &point, &why) == 0)
            continue;
        complain(complaints, COMPLAINT_TOGETHER,
                 document_subject(document, text_string(&section), "values"),
                 "values: %s = %llu: %s", dimension_facts[sweep->dimension].name,
                 (unsigned long long)sweep->values[i], text_string(&why));
        break;
    }
    text_release(&section);
    text_release(&why);
}

/* Its ends stand for all that a search may run. */
static void check_boundary(const struct document *document, const struct study *study,
                           const struct study_boundary *boundary, struct complaints *complaints)
{
    const uint64_t ends[] = {boundary->from, boundary->to};
    struct text why = TEXT_INIT, section = TEXT_INIT;
    struct point point = study->setting.point;
    text_setf(&section, "boundary %s", dimension_facts[boundary->dimension].name);
    bool spoiled = complaints_about(complaints, text_string(&section));
    for (size_t i = 0; i < 2 && !spoiled; i++) {
        point.value[boundary->dimension] = reading_of(ends[i]);
        text_clear(&why);
        if (check_point(study, &point, &why) != 0)
            complain(complaints, COMPLAINT_TOGETHER,
                     document_subject(document, text_string(&section), i ? "to" : "from"),
                     "[%s]: %llu: %s", text_string(&section), (unsigned long long)ends[i],
                     text_string(&why));
    }
    text_release(&section);
    text_release(&why);
}

static void check_amount(const struct document *document, const struct study *study,
                         struct complaints *complaints)
{
    bool asked = document->malformed;
    for (size_t i = 0; i < document->count; i++) /* a misspelt one has been complained of */
        asked = asked || !study_is_setting(&document->sections[i]);
    if (!asked) {
        complain(complaints, COMPLAINT_MISSING, (struct subject){NULL, NULL, 0},
                 "nothing to run: no [sweep DIMENSION], [input NAME] or [boundary DIMENSION]");
        return;
    }
    uint64_t points = study->input_count, runs = 0;
    for (size_t i = 0; i < study->sweep_count; i++)
        points += study->sweeps[i].count;
    if (multiply_checked(points, study->trials, &runs) != 0 || runs > STUDY_RUNS_LIMIT)
        complain(complaints, COMPLAINT_TOGETHER, document_subject(document, "study", "trials"),
                 "%llu points in %llu trials: at most %zu runs", (unsigned long long)points,
                 (unsigned long long)study->trials, STUDY_RUNS_LIMIT);
}

static void check_schedule(const struct document *document, const struct study *study,
                           struct complaints *complaints)
{
    struct text why = TEXT_INIT;
    uint64_t moment;
    if (until_moment(study->until, 0, &moment, &why) != 0)
        complain(complaints, COMPLAINT_VALUE, document_subject(document, "study", "until"),
                 "until: %s", text_string(&why));
    if (study->after_oom == AFTER_OOM_SKIP_LARGER && study->order != ORDER_LISTED)
        complain(complaints, COMPLAINT_TOGETHER,
                 document_subject(document, "study", "after_oom"),
                 "after_oom: skip-larger needs order = listed");
    text_release(&why);
}

void study_check_points(const struct document *document, const struct study *study,
                        struct complaints *complaints)
{
    check_schedule(document, study, complaints);
    check_amount(document, study, complaints);
    if (!study->setting.workload || complaints_about(complaints, "point") ||
        complaints_about(complaints, study->setting.workload->name) ||
        !check_options(document, study, complaints))
        return;
    check_inputs(document, study, complaints);
    for (size_t i = 0; i < study->sweep_count; i++)
        check_sweep(document, study, &study->sweeps[i], complaints);
    for (size_t i = 0; i < study->boundary_count; i++)
        check_boundary(document, study, &study->boundaries[i], complaints);
}
