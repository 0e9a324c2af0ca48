#include "harness/base/reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* A missing number may hold anything: nobody looks at it. */
static const struct reading missing = {.value = 7}, other = {.value = 9};

static void same(void **state)
{
    (void)state;
    assert_true(reading_same(reading_of(7), reading_of(7)));
    assert_false(reading_same(reading_of(7), reading_of(9)));
    assert_false(reading_same(reading_of(7), missing));
    assert_false(reading_same(missing, reading_of(7)));
    assert_true(reading_same(missing, other));
}

static void near(void **state)
{
    (void)state;
    assert_true(reading_near(reading_of(7), reading_of(9), 2));
    assert_true(reading_near(reading_of(9), reading_of(7), 2));
    assert_false(reading_near(reading_of(7), reading_of(9), 1));
    assert_true(reading_near(missing, reading_of(UINT64_MAX), 0));
    assert_true(reading_near(reading_of(UINT64_MAX), other, 0));
}

static void extremes(void **state)
{
    (void)state;
    assert_true(reading_same(reading_max(reading_of(7), reading_of(9)), reading_of(9)));
    assert_true(reading_same(reading_min(reading_of(7), reading_of(9)), reading_of(7)));
    assert_true(reading_same(reading_max(missing, reading_of(3)), reading_of(3)));
    assert_true(reading_same(reading_min(reading_of(3), other), reading_of(3)));
    assert_false(reading_max(missing, other).known);
    assert_false(reading_min(missing, other).known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same), cmocka_unit_test(near),
                                       cmocka_unit_test(extremes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
