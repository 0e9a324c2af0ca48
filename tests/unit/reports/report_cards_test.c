/* Cards that change between two runs, in the report of a table. */
#include "tests/unit/reports/report_bed.h"

/* What fitted on one card says nothing of another: no table and no limit holds both. */
static void a_changed_card_has_tables_of_its_own(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1", 2, 0, STATUS_ok);
    add_run("cuda", "r-batch-4-t1", 4, 0, STATUS_oom);
    capacity = 171041619968;
    ecc = "off";
    add_run("cuda", "r-batch-4-t2", 4, 0, STATUS_ok);
    add_run("cuda", "r-batch-8-t1", 8, 0, STATUS_oom);
    ecc = "on";
    add_run("cuda", "r-batch-2-t2", 2, 0, STATUS_oom);
    char *text = report(&outcome);
    has(text, "change 1, seen in r-batch-4-t2, behind r-batch-4-t1: rank 0: "
              "device_capacity_bytes 85520809984 is now 171041619968\n");
    has(text, "change 2, seen in r-batch-2-t2, behind r-batch-8-t1: rank 0: "
              "ecc off is now on\n");
    const char *before = strstr(text, "on cuda, cards before any change\n");
    const char *after = strstr(text, "on cuda, cards after change 1\n");
    const char *last = strstr(text, "on cuda, cards after change 2\n");
    assert_true(before && after && last && before < after && after < last);
    char *first = xstrndup(before, (size_t)(after - before));
    char *second = xstrndup(after, (size_t)(last - after));
    has(first, "every run: 2; smallest that does not: 4\n");
    has(second, "every run: 4; smallest that does not: 8\n");
    has(last, "every run: —; smallest that does not: 2\n");
    assert_null(strstr(text, "unstable"));
    assert_null(strstr(first, "171041619968"));
    assert_null(strstr(second, "85520809984"));
    free(first);
    free(second);
    free(text);
}

/* The cards of a run change together: whose card is the same has no limit over both. */
static void one_changed_card_changes_the_run(void **state)
{
    int outcome;
    (void)state;
    for (uint64_t value = 2; value <= 4; value += 2)
        for (uint64_t rank = 0; rank < 2; rank++) {
            capacity = value == 4 && rank == 1 ? 171041619968 : 85520809984;
            add_run("cuda", value == 2 ? "r-batch-2-t1" : "r-batch-4-t1", value, rank,
                    STATUS_ok);
        }
    char *text = report(&outcome);
    has(text, "change 1, seen in r-batch-4-t1, behind r-batch-2-t1: rank 1: device_cap");
    has(text, "every run: 2; smallest that does not: —\n");
    has(text, "every run: 4; smallest that does not: —\n");
    const char *after = strstr(text, "cards after change 1\n");
    assert_non_null(after);
    size_t lines = 0;
    for (const char *at = after; (at = strstr(at, "\n            4 ")) != NULL; at++)
        lines++;
    assert_int_equal(lines, 2);
    assert_null(strstr(after, "\n            2 "));
    free(text);
}

/* Alone each device is a set of its own, and an attempt on another card is not made again. */
static void alone_each_device_changes_for_itself(void **state)
{
    int outcome;
    (void)state;
    add_run("cuda", "r-batch-2-t1-d1", 2, 0, STATUS_ok);
    capacity = 26843545600;
    add_run("cuda", "r-batch-2-t1-d2", 2, 0, STATUS_oom);
    capacity = 171041619968;
    add_run("cuda", "r-batch-4-t1-d1", 4, 0, STATUS_oom);
    capacity = 26843545600;
    add_run("cuda", "r-batch-4-t1-d2", 4, 0, STATUS_oom);
    add_run("cuda", "r-batch-4-t1-d1", 4, 0, STATUS_ok);
    char *text = report(&outcome);
    has(text, "change 1, seen in r-batch-4-t1-d1, behind r-batch-2-t1-d1: d1: device_cap");
    has(text, "change 2, seen in r-batch-4-t1-d1, behind r-batch-4-t1-d1: d1: device_cap");
    assert_null(strstr(text, "d2: device_capacity"));
    has(text, "2 of 5 runs fitted\n");
    has(text, "d2: largest value that fits in every run: —; smallest that does not: 2\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_changed_card_has_tables_of_its_own, begin, end),
        cmocka_unit_test_setup_teardown(one_changed_card_changes_the_run, begin, end),
        cmocka_unit_test_setup_teardown(alone_each_device_changes_for_itself, begin, end),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
