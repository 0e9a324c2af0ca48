/* The list of runs: order and names. */
#include "harness/study/interpret.h"
#include "tests/unit/plan/plan_bed.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- order and names --- */

static void test_listed(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "r-input-b-t1", "r-input-b-t2", "r-input-a-t1", "r-input-a-t2",   "r-batch-4-t1",
        "r-batch-4-t2", "r-batch-1-t1", "r-batch-1-t2", "r-context-2-t1", "r-context-2-t2"};
    struct study study;
    struct plan plan;
    struct text why = TEXT_INIT;
    make_study(HEAD "[sweep batch]\nvalues=4,1\n[input b]\nwidth=8\n[sweep context]\n"
                    "values=2\n[input a]\n",
               &study);
    study.trials = 2;
    assert_int_equal(plan_make(&study, 1, &plan, &why), 0);
    text_release(&why);
    assert_int_equal(plan.count, 10);
    for (size_t i = 0; i < 10; i++)
        assert_string_equal(run_of(&plan, i).name, wanted[i]);
    plan_release(&plan);
    study_release(&study);
}

static void test_a_sweep_varies_one_thing(void **state)
{
    (void)state;
    struct study study;
    struct plan plan;
    make_plan(HEAD "[sweep batch]\nvalues=4,1\n[sweep width]\nvalues=8\n[input a]\ncontext=7\n",
              &study, &plan);
    for (size_t i = 0; i < plan.count; i++) {
        const struct plan_run found = run_of(&plan, i), *run = &found;
        assert_int_equal(run->trial, 1);
        assert_int_equal(run->phases, PHASES_SPLIT);
        for (int d = 0; d < DIMENSIONS; d++) {
            uint64_t fixed = study.setting.point.value[d].value;
            bool of_input = run->role == ROLE_INPUT && d == DIMENSION_context;
            assert_true(run->point.value[d].known == study.setting.point.value[d].known);
            if (study.setting.point.value[d].known)
                assert_int_equal(run->point.value[d].value, d == run->dimension ? run->value
                                                            : of_input          ? 7
                                                                                : fixed);
        }
    }
    assert_false(run_of(&plan, 0).point.value[DIMENSION_layers].known);
    plan_release(&plan);
    study_release(&study);
}

/* A run is found again by its row. */
static void assert_told(const struct study *study, const struct plan_run *run)
{
    struct plan_run found;
    struct row wanted = ROW_INIT, described = ROW_INIT;
    plan_describe_run(run, &wanted);
    if (!plan_run_told(study, &wanted, &found))
        fail_msg("%s: no such run", run->name);
    plan_describe_run(&found, &described);
    for (enum column column = 0; column < COLUMNS; column++)
        assert_true(row_same_cell(&wanted, &described, column));
    assert_int_equal(found.place, run->place);
    assert_int_equal(found.dimension, run->dimension);
    assert_int_equal(plan_place(&wanted), run->place);
    row_release(&wanted);
    row_release(&described);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct plan_run *)a)->name, ((const struct plan_run *)b)->name);
}

static void test_names_are_unique_and_fit(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    struct study study;
    struct plan plan;
    make_plan(HEAD "[sweep batch]\nvalues=1:600:+1, 4294967295\n[sweep context]\n"
                   "values=1:600:+1\n"
                   "[input nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn]\n[input a]\n[input a-t1]\n"
                   "[input batch-1]\n[input a-whole]\n[input a-t1-whole]\n",
              &study, &plan);
    plan_release(&plan);
    study.phases = PHASES_BOTH;
    assert_int_equal(plan_make(&study, 1, &plan, &why), 0);
    struct plan_run *runs = xcalloc(plan.count, sizeof *runs);
    for (size_t i = 0; i < plan.count; i++) {
        runs[i] = run_of(&plan, i);
        assert_true(strlen(runs[i].name) + 1 < sizeof runs[i].name);
        assert_told(&study, &runs[i]);
    }
    qsort(runs, plan.count, sizeof *runs, by_name);
    for (size_t i = 1; i < plan.count; i++)
        assert_string_not_equal(runs[i].name, runs[i - 1].name);
    free(runs);
    plan_release(&plan);
    study_release(&study);
}

static void test_shuffled(void **state)
{
    (void)state;
    static const char bytes[] = HEAD "[sweep batch]\nvalues=1:8:+1\n";
    /* As computed by an independent program from the stated rule, seed 7. */
    static const uint64_t wanted[] = {2, 5, 6, 3, 7, 1, 4, 8};
    struct study study;
    struct plan plan;
    make_study(bytes, &study);
    study.order = ORDER_SHUFFLED;
    struct text why = TEXT_INIT;
    assert_int_equal(plan_make(&study, 1, &plan, &why), 0);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(run_of(&plan, i).value, wanted[i]);
    plan_release(&plan);
    study.setting.seed = 8;
    assert_int_equal(plan_make(&study, 1, &plan, &why), 0);
    bool same = true;
    for (size_t i = 0; i < 8; i++)
        same = same && run_of(&plan, i).value == wanted[i];
    assert_false(same);
    plan_release(&plan);
    study_release(&study);
    text_release(&why);
}

/* The largest plan there may be, in a shuffled order too: every run once. */
static void test_a_million(void **state)
{
    (void)state;
    struct study study;
    struct plan plan;
    struct text why = TEXT_INIT;
    make_study(HEAD "[sweep batch]\nvalues=4,1\n", &study);
    study.trials = STUDY_RUNS_LIMIT / 2;
    assert_int_equal(plan_make(&study, 1, &plan, &why), 0);
    assert_int_equal(plan.count, STUDY_RUNS_LIMIT);
    assert_string_equal(run_of(&plan, 0).name, "r-batch-4-t1");
    assert_string_equal(run_of(&plan, STUDY_RUNS_LIMIT / 2).name, "r-batch-1-t1");
    assert_string_equal(run_of(&plan, STUDY_RUNS_LIMIT - 1).name, "r-batch-1-t500000");
    plan_release(&plan);
    study.order = ORDER_SHUFFLED;
    assert_int_equal(plan_make(&study, 1, &plan, &why), 0);
    bool *seen = xcalloc(plan.count, sizeof *seen);
    for (size_t i = 0; i < plan.count; i++) {
        const struct plan_run run = run_of(&plan, i);
        size_t listed = (run.value == 1 ? plan.count / 2 : 0) + run.trial - 1;
        assert_true(listed < plan.count && !seen[listed]);
        seen[listed] = true;
    }
    free(seen);
    plan_release(&plan);
    study_release(&study);
    text_release(&why);
}

/* The two ways to run a point when both are asked for; a probe of a boundary. */
static void test_both_and_probes(void **state)
{
    (void)state;
    struct study study;
    struct plan plan;
    struct plan_run probe;
    struct text why = TEXT_INIT;
    const struct study_boundary boundary = {.dimension = DIMENSION_batch, .from = 1, .to = 9};
    make_study(HEAD "[sweep batch]\nvalues=3\n", &study);
    study.phases = PHASES_BOTH;
    assert_int_equal(plan_make(&study, 1, &plan, &why), 0);
    assert_int_equal(plan.count, 2);
    assert_string_equal(run_of(&plan, 0).name, "r-batch-3-t1");
    assert_string_equal(run_of(&plan, 1).name, "r-batch-3-t1-whole");
    assert_int_equal(run_of(&plan, 1).phases, PHASES_WHOLE);
    plan_probe(&study, &boundary, 5, 2, PHASES_WHOLE, 0, &probe);
    assert_string_equal(probe.name, "r-boundary-batch-5-t2-whole");
    assert_int_equal(probe.point.value[DIMENSION_batch].value, 5);
    assert_int_equal(probe.point.value[DIMENSION_context].value, 128);
    assert_told(&study, &probe);
    plan_release(&plan);
    study.phases = PHASES_WHOLE;
    assert_int_equal(plan_make(&study, 1, &plan, &why), 0);
    assert_int_equal(plan.count, 1);
    assert_string_equal(run_of(&plan, 0).name, "r-batch-3-t1");
    plan_release(&plan);
    study.trials = STUDY_RUNS_LIMIT + 1;
    assert_int_equal(plan_make(&study, 1, &plan, &why), -1);
    assert_true(why.length > 0);
    study_release(&study);
    text_release(&why);
}

/* A run for each device, one after the other, under names of their own. */
static void test_alone(void **state)
{
    (void)state;
    static const char *const wanted[] = {"r-input-a-t1-d3-t1-d1", "r-input-a-t1-d3-t2-d1",
                                         "r-input-a-t1-d3-t1-d2", "r-input-a-t1-d3-t2-d2",
                                         "r-batch-3-t1-d1",       "r-batch-3-t2-d1",
                                         "r-batch-3-t1-d2",       "r-batch-3-t2-d2"};
    const struct study_boundary boundary = {.dimension = DIMENSION_batch, .from = 1, .to = 9};
    struct study study;
    struct plan plan;
    struct plan_run probe;
    struct text why = TEXT_INIT;
    make_study(HEAD "[input a-t1-d3]\n[sweep batch]\nvalues=3\n", &study);
    study.trials = 2;
    assert_int_equal(plan_make(&study, 2, &plan, &why), 0);
    assert_int_equal(plan.count, 4); /* together: however many devices there are */
    assert_int_equal(run_of(&plan, 0).place, 0);
    plan_release(&plan);
    study.placement = PLACEMENT_ALONE;
    assert_int_equal(plan_make(&study, 2, &plan, &why), 0);
    assert_int_equal(plan.count, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct plan_run run = run_of(&plan, i);
        assert_string_equal(run.name, wanted[i]);
        assert_int_equal(run.place, 1 + i / 2 % 2);
        assert_told(&study, &run);
    }
    plan_release(&plan);
    study.phases = PHASES_BOTH;
    plan_probe(&study, &boundary, 5, 2, PHASES_WHOLE, 12, &probe);
    assert_string_equal(probe.name, "r-boundary-batch-5-t2-d12-whole");
    assert_told(&study, &probe);
    study.trials = STUDY_RUNS_LIMIT / 4;
    assert_int_equal(plan_make(&study, 2, &plan, &why), -1);
    study_release(&study);
    text_release(&why);
}

static void assert_untold(const struct study *study, const struct row *good, enum column column,
                          const char *value)
{
    struct row row = ROW_INIT;
    struct plan_run run;
    row_copy(&row, good);
    assert_int_equal(row_parse_cell(&row, column, value, strlen(value)), 0);
    if (plan_run_told(study, &row, &run))
        fail_msg("%s = %s is %s", column_facts[column].name, value, run.name);
    row_release(&row);
}

static void test_rows_of_no_run(void **state)
{
    (void)state;
    struct study study;
    struct plan plan;
    struct plan_run run;
    struct row input = ROW_INIT, value = ROW_INIT, empty = ROW_INIT;
    make_plan(HEAD "[input a]\n[sweep batch]\nvalues=8\n", &study, &plan);
    run = run_of(&plan, 0);
    plan_describe_run(&run, &input);
    run = run_of(&plan, 1);
    plan_describe_run(&run, &value);
    assert_untold(&study, &input, COLUMN_role, "");
    assert_untold(&study, &input, COLUMN_role, "inputs");
    assert_untold(&study, &input, COLUMN_role, "sweep");
    assert_untold(&study, &input, COLUMN_input, "b");
    assert_untold(&study, &input, COLUMN_input, "");
    assert_untold(&study, &input, COLUMN_trial, "");
    assert_untold(&study, &value, COLUMN_dimension, "bath");
    assert_untold(&study, &value, COLUMN_dimension, "");
    assert_untold(&study, &value, COLUMN_value, "");
    assert_false(plan_run_told(&study, &empty, &run));
    row_release(&input);
    row_release(&value);
    plan_release(&plan);
    study_release(&study);
}

/* A name decides nothing: the place is where the name that the cells give ends. */
static void test_names_that_mislead(void **state)
{
    (void)state;
    static const char *const names[] = {
        "r-input-x-d7-t1",    "r-input-x-t1-d7-t2-d3", "r-input-x-t1-d7",  "r-batch-8-t1-d3",
        "r-input-x-t1-d7-t1", "r-input-x-t1-d7-t2-d",  "x-t2-d3",          "",
        "r-input-x-t1-d7-t2", "r-input-x-t1-d7-t2d3",  "r-input-x-t1-d07", "no run's name"};
    struct study study;
    struct plan plan;
    struct row row = ROW_INIT;
    make_plan(HEAD "[input x-t1-d7]\n[input x]\n", &study, &plan);
    struct plan_run run = run_of(&plan, 0);
    run.trial = 2;
    plan_describe_run(&run, &row);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct plan_run told;
        row_set_text(&row, COLUMN_run, names[i]);
        assert_int_equal(plan_place(&row), i == 1 ? 3 : 0);
        assert_true(plan_run_told(&study, &row, &told));
        assert_string_equal(told.input, "x-t1-d7");
        assert_int_equal(told.trial, 2);
    }
    row_release(&row);
    plan_release(&plan);
    study_release(&study);
}

/* --- description --- */

static void test_describe(void **state)
{
    (void)state;
    struct study study;
    struct plan plan;
    struct row row = ROW_INIT;
    make_plan(HEAD
              "[identity]\nmodel_revision = rev 1; b\n[sweep batch]\nvalues=4\n[input big]\n",
              &study, &plan);
    struct plan_run run = run_of(&plan, 0);
    plan_describe_study(&study, &row);
    plan_describe_run(&run, &row);
    assert_string_equal(row_text(&row, COLUMN_role), "input");
    assert_string_equal(row_text(&row, COLUMN_input), "big");
    assert_null(row_text(&row, COLUMN_dimension));
    assert_false(row_count(&row, COLUMN_value).known);
    row_release(&row);
    run = run_of(&plan, 1);
    plan_describe_study(&study, &row);
    plan_describe_run(&run, &row);
    static const struct {
        enum column column;
        const char *text;
    } texts[] = {{COLUMN_evidence, "computed"}, {COLUMN_study, "n"},
                 {COLUMN_role, "sweep"},        {COLUMN_dimension, "batch"},
                 {COLUMN_workload, "dense"},    {COLUMN_dtype, "float32"},
                 {COLUMN_allocator, "caching"}, {COLUMN_backend, "simulated"},
                 {COLUMN_phases, "split"},      {COLUMN_empty_cache, "never"},
                 {COLUMN_run, "r-batch-4-t1"},  {COLUMN_model_revision, "rev 1; b"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(row_text(&row, texts[i].column), texts[i].text);
    assert_string_equal(row_text(&row, COLUMN_study_hash), study.hash);
    assert_int_equal(number(&row, COLUMN_value), 4);
    assert_int_equal(number(&row, COLUMN_batch), 4);
    assert_int_equal(number(&row, COLUMN_context), 128);
    assert_int_equal(number(&row, COLUMN_trial), 1);
    assert_int_equal(number(&row, COLUMN_warmup), 1);
    assert_int_equal(number(&row, COLUMN_repeats), 2);
    assert_int_equal(number(&row, COLUMN_seed), 7);
    /* what the run does not decide, and what the workload does not have, stays empty */
    static const enum column empty[] = {
        COLUMN_rank,      COLUMN_phase,   COLUMN_status,   COLUMN_layers,
        COLUMN_images,    COLUMN_input,   COLUMN_order,    COLUMN_allocated_peak_bytes,
        COLUMN_input_set, COLUMN_options, COLUMN_kv_layout};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        assert_int_equal(row.cell[empty[i]].kind, CELL_EMPTY);
    row_release(&row);
    plan_release(&plan);
    study_release(&study);
}

/* What was set and has no column of its own is in options, and nothing else is. */
static void test_options(void **state)
{
    (void)state;
    struct study study;
    struct text text = TEXT_INIT;
    make_study(HEAD "[launch]\nsettle=5s\nallow_root=yes\n[sweep batch]\nvalues=1\n", &study);
    study_add_options(&study, &text);
    assert_string_equal(text_string(&text), "");
    study.setting.memory.device.overhead = 512;
    free(study.fault);
    study.fault = xstrdup("context:oom;\\");
    study_add_options(&study, &text);
    assert_string_equal(text_string(&text), "overhead=512;fault=context:oom\\;\\\\");
    study_release(&study);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listed),
        cmocka_unit_test(test_a_sweep_varies_one_thing),
        cmocka_unit_test(test_names_are_unique_and_fit),
        cmocka_unit_test(test_shuffled),
        cmocka_unit_test(test_a_million),
        cmocka_unit_test(test_both_and_probes),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_rows_of_no_run),
        cmocka_unit_test(test_names_that_mislead),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
