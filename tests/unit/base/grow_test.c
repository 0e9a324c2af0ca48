#include "harness/base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* Every element has its place (the sanitizer watches it) and keeps what is in it. */
static void keeps_what_is_there(void **state)
{
    (void)state;
    struct {
        uint64_t *values;
        size_t count;
    } list = {NULL, 0};
    for (uint64_t i = 0; i < 1000; i++)
        *GROW(list.values, list.count) = i;
    assert_int_equal(list.count, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(list.values[i], i);
    free(list.values);
}

/* It is an expression: the branches belong to the statement that one would think. */
static void is_one_statement(void **state)
{
    (void)state;
    int *odd = NULL, *even = NULL;
    size_t odds = 0, evens = 0;
    for (int i = 0; i < 20; i++)
        if (i % 2)
            *GROW(odd, odds) = i;
        else
            *GROW(even, evens) = i;
    assert_int_equal(odds, 10);
    assert_int_equal(evens, 10);
    assert_int_equal(odd[9], 19);
    assert_int_equal(even[9], 18);
    free(odd);
    free(even);
}

/* At any count it may be cut to any other, then grown beyond where it was. */
static void may_lose_elements(void **state)
{
    (void)state;
    for (size_t most = 1; most < 70; most++)
        for (size_t left = 0; left < most; left++) {
            size_t *values = NULL, count = 0;
            while (count < most)
                *GROW(values, count) = most;
            count = left;
            for (size_t i = left; i < 2 * most; i++)
                *GROW(values, count) = i;
            assert_int_equal(count, 2 * most);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(values[i], i < left ? most : i);
            free(values);
        }
}

static void too_many_end_the_process(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        free(xgrow(NULL, (size_t)1 << 62, 8));
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_what_is_there), cmocka_unit_test(is_one_statement),
        cmocka_unit_test(may_lose_elements), cmocka_unit_test(too_many_end_the_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
