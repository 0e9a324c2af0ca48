/* A small study and its plan, for the tests of plan and prediction. */
#ifndef TESTS_UNIT_PLAN_BED_H
#define TESTS_UNIT_PLAN_BED_H

#include "harness/plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HEAD                                                                                   \
    "[study]\nname=n\nquestion=q\nworkload=dense\n[device]\nbackend=simulated\n"               \
    "capacity=80GiB\n[point]\nbatch=2\ncontext=128\nwidth=64\ndtype=float32\nwarmup=1\n"       \
    "repeats=2\n"

static inline void make_study(const char *bytes, struct study *study)
{
    struct text text = TEXT_INIT, errors = TEXT_INIT;
    text_add(&text, bytes);
    if (study_parse("F", &text, NULL, 0, study, &errors) != 0)
        fail_msg("%s", text_string(&errors));
    text_release(&text);
    text_release(&errors);
}

static inline void make_plan(const char *bytes, struct study *study, struct plan *plan)
{
    struct text why = TEXT_INIT;
    make_study(bytes, study);
    assert_int_equal(plan_make(study, 1, plan, &why), 0);
    text_release(&why);
}

static inline struct plan_run run_of(const struct plan *plan, size_t index)
{
    struct plan_run run;
    assert_true(index < plan->count);
    plan_run_at(plan, index, &run);
    return run;
}

static inline uint64_t number(const struct row *row, enum column column)
{
    struct reading reading = row_count(row, column);
    assert_true(reading.known);
    return reading.value;
}

#endif
