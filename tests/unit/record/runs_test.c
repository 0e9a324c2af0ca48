#include "harness/record/runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void run_sets_hold_many(void **state)
{
    (void)state;
    struct run_set set = RUN_SET_INIT;
    char name[32];
    assert_null(run_set_find(&set, "r-1"));
    assert_int_equal(set.last_order, 0);
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "r-%u", i);
        run_set_put(&set, name, i + 1, 1);
        assert_int_equal(set.count, i + 1);
    }
    run_set_put(&set, "r-7", 99999, 2);
    assert_int_equal(set.count, 20000);
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "r-%u", i);
        const struct run_record *run = run_set_find(&set, name);
        assert_non_null(run);
        assert_string_equal(run_set_name(&set, (size_t)(run - set.runs)), name);
        assert_string_equal(run_set_name(&set, i), name);
        assert_int_equal(run->statuses, i == 7 ? 2 : 1);
    }
    assert_null(run_set_find(&set, "r-20000"));
    assert_int_equal(set.last_order, 99999);
    run_set_release(&set);
}

/* One rank that did not fit is enough for a run that did not. */
static void a_run_counts_once(void **state)
{
    (void)state;
    for (int a = 0; a < STATUSES; a++)
        for (int b = 0; b < STATUSES; b++) {
            enum run_count wanted = a != b                ? COUNTS_AS_FAILED
                                    : a == STATUS_ok      ? COUNTS_AS_FITTED
                                    : a == STATUS_skipped ? COUNTS_AS_SKIPPED
                                                          : COUNTS_AS_FAILED;
            assert_int_equal(run_counts_as(1u << a | 1u << b), wanted);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_sets_hold_many),
        cmocka_unit_test(a_run_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
