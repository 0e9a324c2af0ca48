#include "tests/unit/reports/report_bed.h"

/* The line of a run in the report's table: from its value to the end of the line. */
static char *line_of(const char *text, const char *value)
{
    char *start = xasprintf("\n %12s ", value);
    const char *found = strstr(text, start);
    free(start);
    assert_non_null(found);
    return xstrndup(found + 1, strcspn(found + 1, "\n"));
}

static void a_run_shows_its_largest_peak(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-1-t1", 1, 0, STATUS_ok);
    char *text = report(&outcome);
    assert_int_equal(outcome, 0);
    char *line = line_of(text, "1");
    assert_non_null(strstr(line, " yes "));
    assert_non_null(strstr(line, " 1001 "));
    assert_null(strstr(line, "2001")); /* the sum of the two phases */
    assert_non_null(strstr(text, "85.52 GB = 79.65 GiB"));
    free(line);
    free(text);
}

static void what_was_not_measured_is_a_dash_and_a_zero_stays(void **state)
{
    int outcome;
    (void)state;
    struct made made = {.backend = "cuda",
                        .run = "r-batch-2-t1",
                        .value = 2,
                        .phase = "cold_forward",
                        .status = STATUS_ok,
                        .used = reading_of(0)};
    add(&made);
    char *text = report(&outcome);
    assert_int_equal(outcome, 0);
    char *line = line_of(text, "2");
    size_t dashes = 0, zeros = 0;
    for (const char *at = line; (at = strstr(at, "—")) != NULL; at += strlen("—"))
        dashes++;
    for (const char *at = line; (at = strstr(at, " 0")) != NULL; at++)
        zeros++;
    /* fits, status, failed phase, allocated, reserved, predicted, the latter in GiB too; rank 0
     * and device used 0, 0.00 */
    assert_int_equal(dashes, 9);
    assert_int_equal(zeros, 3);
    free(line);
    free(text);
}

/* Exact bytes, and behind each of them GiB. */
static void a_line_has_both_units(void **state)
{
    int outcome;
    (void)state;
    struct made made = {.backend = "cuda",
                        .run = "r-batch-1482-t1",
                        .value = 1482,
                        .phase = "cold_forward",
                        .status = STATUS_oom,
                        .partial = true,
                        .allocated = reading_of(124621201408),
                        .reserved = reading_of(79456894976),
                        .predicted = reading_of(124621201408),
                        .used = reading_of(657260544)};
    add(&made);
    made = (struct made){"cuda", made.run, 1482, .phase = "run", .status = STATUS_oom};
    add(&made);
    char *text = report(&outcome);
    char *line = line_of(text, "1482");
    assert_string_equal(
        line, "         1482     1    0 no   oom           warm_forward    >=124621201408 "
              ">=116.06   >=79456894976  >=74.00  >=124621201408 >=116.06       657260544     "
              "0.61");
    free(line);
    assert_non_null(strstr(text, " allocated peak      GiB   reserved peak      GiB "
                                 "predicted alloc      GiB     device used      GiB\n"));
    free(text);
}

static void an_unfinished_peak_is_a_lower_bound(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-4-t1", 4, 0, STATUS_oom);
    char *text = report(&outcome);
    char *line = line_of(text, "4");
    assert_non_null(strstr(line, ">=4001"));
    assert_non_null(strstr(line, " no "));
    assert_non_null(strstr(line, " warm_forward "));
    free(line);
    free(text);
}

static void computed_and_observed_stand_apart(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-1-t1", 1, 0, STATUS_ok);
    add_run("simulated", "r-batch-1-t1", 1, 0, STATUS_ok);
    add_run("host", "r-batch-1-t1", 1, 0, STATUS_ok);
    char *text = report(&outcome);
    size_t tables = 0;
    for (const char *at = text; (at = strstr(at, "largest value")) != NULL; at++)
        tables++;
    assert_int_equal(tables, 3);
    assert_non_null(strstr(text, "\nobserved: study s"));
    assert_non_null(strstr(text, "\ncomputed (nothing here was read from a device): study s"));
    free(text);
}

/* A value fits when every run and rank of it did; one that was not judged settles nothing. */
static void limits_need_every_rank(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_ok);
    add_run("cuda", "r-batch-2-t1", 2, 1, STATUS_ok);
    add_run("cuda", "r-batch-4-t1", 4, 0, STATUS_ok);
    add_run("cuda", "r-batch-4-t1", 4, 1, STATUS_crashed);
    add_run("cuda", "r-batch-8-t1", 8, 0, STATUS_ok);
    add_run("cuda", "r-batch-8-t1", 8, 1, STATUS_oom);
    char *text = report(&outcome);
    assert_non_null(
        strstr(text, "largest value that fits in every run: 2; smallest that does not: 8"));
    free(text);
}

static void a_value_with_both_outcomes_is_unstable(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_ok);
    add_run("cuda", "r-batch-4-t1", 4, 0, STATUS_ok);
    add_run("cuda", "r-batch-4-t2", 4, 0, STATUS_oom);
    add_run("cuda", "r-batch-8-t1", 8, 0, STATUS_oom);
    char *text = report(&outcome);
    has(text, "every run: 2; smallest that does not: 8; "
              "unstable, some of its runs fit and some do not: 4\n");
    assert_null(strstr(text, "rank 0:"));
    free(text);
}

static void unlike_ranks_have_limits_of_their_own(void **state)
{
    int outcome;
    (void)state;
    for (uint64_t value = 2; value <= 4; value += 2)
        for (uint64_t rank = 0; rank < 2; rank++)
            add_run("cuda", value == 2 ? "r-batch-2-t1" : "r-batch-4-t1", value, rank,
                    value == 4 && rank == 1 ? STATUS_oom : STATUS_ok);
    char *text = report(&outcome);
    has(text, " largest value that fits in every run: 2; smallest that does not: 4\n");
    has(text, "rank 0: largest value that fits in every run: 4; smallest that");
    has(text, "rank 1: largest value that fits in every run: 2; smallest that does not: 4\n");
    free(text);
}

static void split_and_whole_are_told_apart(void **state)
{
    int outcome;
    (void)state;
    add_as("cuda", "r-batch-2-t1", 2, 0, STATUS_ok, "split");
    char *text = report(&outcome);
    assert_null(strstr(text, " phases "));
    free(text);
    add_as("cuda", "r-batch-2-t1-whole", 2, 0, STATUS_oom, "whole");
    text = report(&outcome);
    has(text, " rank phases fits ");
    has(text, "    0 split  yes ");
    has(text, "    0 whole  no ");
    assert_null(strstr(text, "unstable"));
    has(text, "rank 0, whole: largest value that fits in every run: —; smallest that");
    free(text);
}

/* Whether something else was run in between or not, and whatever the first attempt said. */
static void a_run_made_again_counts_once(void **state)
{
    int outcome;
    (void)state;
    for (uint64_t rank = 0; rank < 2; rank++)
        add_run("cuda", "r-batch-4-t1", 4, rank, STATUS_oom);
    for (uint64_t rank = 0; rank < 2; rank++)
        add_run("cuda", "r-batch-4-t1", 4, rank, STATUS_crashed);
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_ok);
    for (uint64_t rank = 0; rank < 2; rank++)
        add_run("cuda", "r-batch-4-t1", 4, rank, STATUS_ok);
    char *text = report(&outcome);
    has(text, "3 of 3 runs fitted (a run counts once for each of its ranks); 4 "
              "earlier ones were made again");
    has(text, "every run: 4; smallest that does not: —\n");
    assert_null(strstr(text, "crashed"));
    assert_null(strstr(text, " oom "));
    char *line = line_of(text, "4");
    assert_null(strstr(line, ">=")); /* nothing of the first attempts is left in it */
    free(line);
    free(text);
}

static void a_predicted_misfit_is_a_lower_bound(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_ok);
    add_run("cuda", "r-batch-4-t1", 4, 0, STATUS_oom);
    char *text = report(&outcome);
    char *line = line_of(text, "4");
    has(line, ">=4000 ");
    free(line);
    line = line_of(text, "2");
    assert_null(strstr(line, ">="));
    free(line);
    free(text);
}

static void nothing_that_fits_is_unknown_not_zero(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_crashed);
    char *text = report(&outcome);
    assert_non_null(
        strstr(text, "largest value that fits in every run: —; smallest that does not: —"));
    free(text);
}

static void a_dense_report_says_once_what_it_does_not_prove(void **state)
{
    static const char caution[] = "proves nothing about a language model";
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_ok);
    add_run("host", "r-batch-2-t1", 2, 0, STATUS_ok);
    char *text = report(&outcome), *said = strstr(text, caution);
    assert_non_null(strstr(text, "on cuda"));
    assert_non_null(strstr(text, "on host"));
    assert_non_null(said);
    assert_null(strstr(said + 1, caution));
    free(text);
}

static void a_torn_table_is_reported_as_far_as_it_goes(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_ok);
    text_add(&table, "\"observed\",\"s\",\"sw");
    char *text = report(&outcome);
    assert_int_equal(outcome, 0);
    assert_non_null(strstr(text, "not whole"));
    free(line_of(text, "2"));
    free(text);
}

static void a_foreign_table_is_refused(void **state)
{
    int outcome;
    (void)state;
    static const char *const foreign[] = {"a,b,c\n1,2,3\n", "no table at all", ""};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        text_setf(&table, "%s", foreign[i]);
        char *text = report(&outcome);
        assert_int_equal(outcome, -1);
        assert_string_equal(text, "");
        free(text);
    }
}

static void a_table_without_rows_says_so(void **state)
{
    int outcome;
    (void)state;
    char *text = report(&outcome);
    assert_int_equal(outcome, 0);
    assert_non_null(strstr(text, ": 0 rows\n"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_shows_its_largest_peak, begin, end),
        cmocka_unit_test_setup_teardown(a_line_has_both_units, begin, end),
        cmocka_unit_test_setup_teardown(what_was_not_measured_is_a_dash_and_a_zero_stays, begin,
                                        end),
        cmocka_unit_test_setup_teardown(an_unfinished_peak_is_a_lower_bound, begin, end),
        cmocka_unit_test_setup_teardown(computed_and_observed_stand_apart, begin, end),
        cmocka_unit_test_setup_teardown(limits_need_every_rank, begin, end),
        cmocka_unit_test_setup_teardown(nothing_that_fits_is_unknown_not_zero, begin, end),
        cmocka_unit_test_setup_teardown(a_dense_report_says_once_what_it_does_not_prove, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_torn_table_is_reported_as_far_as_it_goes, begin, end),
        cmocka_unit_test_setup_teardown(a_foreign_table_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_table_without_rows_says_so, begin, end),
        cmocka_unit_test_setup_teardown(a_value_with_both_outcomes_is_unstable, begin, end),
        cmocka_unit_test_setup_teardown(unlike_ranks_have_limits_of_their_own, begin, end),
        cmocka_unit_test_setup_teardown(split_and_whole_are_told_apart, begin, end),
        cmocka_unit_test_setup_teardown(a_run_made_again_counts_once, begin, end),
        cmocka_unit_test_setup_teardown(a_predicted_misfit_is_a_lower_bound, begin, end),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
