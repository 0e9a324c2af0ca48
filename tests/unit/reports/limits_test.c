/* What the runs of one sweep or boundary say together, and what a study adds to it. */
#include "tests/unit/reports/report_bed.h"

static void has_not(const char *text, const char *unwanted)
{
    if (strstr(text, unwanted) != NULL)
        fail_msg("\"%s\" is in: %s", unwanted, text);
}

/* A search of each device alone asks for values of its own: no limit holds over both. */
static void values_of_one_device_have_no_limit_over_all(void **state)
{
    int outcome;
    (void)state;
    add_run("simulated", "r-batch-2-t1-d1", 2, 0, STATUS_ok);
    add_run("simulated", "r-batch-3-t1-d1", 3, 0, STATUS_oom);
    add_run("simulated", "r-batch-8-t1-d2", 8, 0, STATUS_ok);
    add_run("simulated", "r-batch-9-t1-d2", 9, 0, STATUS_oom);
    char *text = report(&outcome);
    has_not(text, "\n largest value");
    has(text, "\n  d1: largest value that fits in every run: 2; smallest that does not: 3\n");
    has(text, "\n  d2: largest value that fits in every run: 8; smallest that does not: 9\n");
    free(text);
}

/* Also where one value alone was not run on all, and whichever outcome it had. */
static void one_value_of_one_device_is_enough(void **state)
{
    int outcome;
    (void)state;
    for (uint64_t value = 2; value <= 4; value += 2) {
        add_run("simulated", value == 2 ? "r-batch-2-t1-d1" : "r-batch-4-t1-d1", value, 0,
                STATUS_ok);
        add_run("simulated", value == 2 ? "r-batch-2-t1-d2" : "r-batch-4-t1-d2", value, 0,
                STATUS_ok);
    }
    char *text = report(&outcome);
    has(text, "\n largest value that fits in every run: 4; smallest that does not: —\n");
    has_not(text, "\n  d1");
    free(text);
    add_run("simulated", "r-batch-8-t1-d2", 8, 0, STATUS_ok);
    text = report(&outcome);
    has_not(text, "\n largest value");
    has(text, "\n  d1: largest value that fits in every run: 4; smallest that does not: —\n");
    has(text, "\n  d2: largest value that fits in every run: 8; smallest that does not: —\n");
    free(text);
}

static void of_one_device_the_limit_is_named_after_it(void **state)
{
    int outcome;
    (void)state;
    add_run("simulated", "r-batch-2-t1-d2", 2, 0, STATUS_ok);
    char *text = report(&outcome);
    has_not(text, "\n largest value");
    has(text, "\n  d2: largest value that fits in every run: 2; smallest that does not: —\n");
    free(text);
}

/* The split run of 4 is there, its whole one is not. */
static void a_kind_of_run_that_is_missing_counts_too(void **state)
{
    int outcome;
    (void)state;
    add_as("cuda", "r-batch-2-t1", 2, 0, STATUS_ok, "split");
    add_as("cuda", "r-batch-2-t1-whole", 2, 0, STATUS_ok, "whole");
    add_as("cuda", "r-batch-4-t1", 4, 0, STATUS_ok, "split");
    char *text = report(&outcome);
    has_not(text, "\n largest value");
    has(text, "\n  rank 0, split: largest value that fits in every run: 4; smallest");
    has(text, "\n  rank 0, whole: largest value that fits in every run: 2; smallest");
    free(text);
}

/* Together a value fits where all ranks of its runs did. */
static void together_all_ranks_must_fit(void **state)
{
    static const enum status of_rank[][2] = {
        {STATUS_ok, STATUS_ok}, {STATUS_oom, STATUS_ok}, {STATUS_oom, STATUS_oom}};
    static const char *const runs[] = {"r-batch-1-t1", "r-batch-2-t1", "r-batch-3-t1"};
    int outcome;
    (void)state;
    for (size_t i = 0; i < 3; i++)
        for (uint64_t rank = 0; rank < 2; rank++)
            add_run("simulated", runs[i], i + 1, rank, of_rank[i][rank]);
    char *text = report(&outcome);
    has(text, "\n largest value that fits in every run: 1; smallest that does not: 2\n");
    has(text, "\n  rank 0: largest value that fits in every run: 1; smallest that does not: 2");
    has(text, "\n  rank 1: largest value that fits in every run: 2; smallest that does not: 3");
    free(text);
}

static void a_fit_above_a_failure_is_said(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_oom);
    add_run("cuda", "r-batch-4-t1", 4, 0, STATUS_ok);
    char *text = report(&outcome);
    has(text, "every run: 4; smallest that does not: 2; "
              "unstable, a value fits above one that does not\n");
    free(text);
}

/* Runs of batch are left, of its boundary and of context none. */
static void limits_of_what_is_unfinished_are_so_far(void **state)
{
    uint32_t unfinished[ROLE_INPUT + 1] = {[ROLE_SWEEP] = 1u << DIMENSION_batch};
    const struct report_study told = {"2 of 13 runs made, 11 left", unfinished};
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_ok);
    study = &told;
    char *text = report(&outcome);
    has(text, "rows.csv: 3 rows; 2 of 13 runs made, 11 left\n");
    has(text, "\n so far, runs are left: largest value that fits in every run: 2; smallest");
    free(text);
    unfinished[ROLE_SWEEP] = 1u << DIMENSION_context;
    unfinished[ROLE_BOUNDARY] = 1u << DIMENSION_batch;
    text = report(&outcome);
    has_not(text, "so far");
    free(text);
}

/* Lines " device …" of a report. */
static size_t devices_in(const char *text)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, "\n device ")) != NULL; at++)
        count++;
    return count;
}

/* Skipped, or ended before the device was named: the study's figure is not another device. */
static void a_device_that_was_not_reached_is_no_other(void **state)
{
    int outcome;
    (void)state;
    for (uint64_t rank = 0; rank < 2; rank++) {
        capacity = rank == 0 ? 1073741824 : 4294967296;
        add_run("simulated", "r-batch-2-t1", 2, rank, STATUS_timeout);
    }
    char *text = report(&outcome);
    assert_int_equal(devices_in(text), 2);
    has(text, "\n device —: 4294967296 bytes");
    free(text);
    for (uint64_t rank = 0; rank < 2; rank++) {
        capacity = rank == 0 ? 1073741824 : 4294967296;
        device = rank == 0 ? "small" : NULL;
        add_run("simulated", "r-batch-4-t1", 4, rank, STATUS_ok);
    }
    text = report(&outcome);
    assert_int_equal(devices_in(text), 2);
    has(text, "\n device small: 1073741824 bytes");
    has(text, "\n device —: 4294967296 bytes"); /* of rank 1 nothing else is known */
    free(text);
    device = "large";
    add_run("simulated", "r-batch-8-t1", 8, 1, STATUS_ok);
    text = report(&outcome);
    assert_int_equal(devices_in(text), 2);
    has(text, "\n device large: 4294967296 bytes");
    free(text);
}

static void skipped_runs_were_not_made(void **state)
{
    int outcome;
    (void)state;
    add_run("simulated", "r-batch-2-t1", 2, 0, STATUS_ok);
    add_run("simulated", "r-batch-4-t1", 4, 0, STATUS_skipped);
    char *text = report(&outcome);
    has(text, "\n1 of 1 run fitted; 1 skipped\n");
    free(text);
}

static void one_is_not_several(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_oom);
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_ok);
    const struct made made = {"cuda", "r-batch-4-t1", 4, .phase = "inputs"};
    add(&made);
    char *text = report(&outcome);
    has(text, "; 1 has no closing row; 1 earlier one was made again and left out\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_of_one_device_have_no_limit_over_all, begin,
                                        end),
        cmocka_unit_test_setup_teardown(one_value_of_one_device_is_enough, begin, end),
        cmocka_unit_test_setup_teardown(of_one_device_the_limit_is_named_after_it, begin, end),
        cmocka_unit_test_setup_teardown(a_kind_of_run_that_is_missing_counts_too, begin, end),
        cmocka_unit_test_setup_teardown(together_all_ranks_must_fit, begin, end),
        cmocka_unit_test_setup_teardown(a_fit_above_a_failure_is_said, begin, end),
        cmocka_unit_test_setup_teardown(limits_of_what_is_unfinished_are_so_far, begin, end),
        cmocka_unit_test_setup_teardown(a_device_that_was_not_reached_is_no_other, begin, end),
        cmocka_unit_test_setup_teardown(skipped_runs_were_not_made, begin, end),
        cmocka_unit_test_setup_teardown(one_is_not_several, begin, end),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
