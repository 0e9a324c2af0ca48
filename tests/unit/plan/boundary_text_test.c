/* What a boundary search says of what it saw. */
#include "harness/plan/boundary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BOUNDARY(first, last, by, times)                                                       \
    (struct study_boundary)                                                                    \
    {                                                                                          \
        .from = first, .to = last, .step = by, .confirm = times                                \
    }

static void say(uint64_t from, uint64_t to, const char *history, const char *wanted)
{
    struct boundary_search search;
    struct text text = TEXT_INIT;
    boundary_open(&search, &BOUNDARY(from, to, 1, 2), reading_missing());
    while (*history) {
        char *end;
        uint64_t value = strtoull(history, &end, 10);
        boundary_feed(&search, value,
                      *end == '+'   ? BOUNDARY_FITS
                      : *end == '-' ? BOUNDARY_FAILS
                      : *end == '!' ? BOUNDARY_AGAIN
                                    : BOUNDARY_NOT_JUDGED,
                      true);
        history = end + 1 + strspn(end + 1, " ");
    }
    boundary_add_text(&search, &text);
    assert_string_equal(text_string(&text), wanted);
    boundary_close(&search);
    text_release(&text);
}

/* Case N9 and its kind: what was seen is what is said. */
static void test_said(void **state)
{
    (void)state;
    say(1, 64, "40+ 41- 41+ 42- 41-",
        "fits 40 (1 of 1 run), fails 42 (1 of 1), unstable at 41 (1 of 3 fitted); not "
        "finished");
    say(1, 64, "40+ 41- 41+ 42- 41- 40+ 42-",
        "fits 40 (2 of 2 runs), fails 42 (2 of 2), unstable at 41 (1 of 3 fitted)");
    say(1, 64, "40+ 41- 40+ 41-", "fits 40 (2 of 2 runs), fails 41 (2 of 2)");
    say(1, 64, "1- 1-", "nothing fits, fails 1 (2 of 2)");
    say(1, 64, "64+ 64+", "fits 64 (2 of 2 runs), the largest value asked for");
    say(1, 64, "", "no fit seen, no failure seen; not finished");
    say(1, 64, "40+ 40+ 41- 41- 50+",
        "fits 40 (2 of 2 runs), fails 41 (2 of 2), unstable at 50 (1 of 1 fitted)");
    say(1, 64, "40+ 99+ 41-", "fits 40 (1 of 1 run), fails 41 (1 of 1); not finished");
    say(1, 1, "1+ 1-", "no fit seen, no failure seen, unstable at 1 (1 of 2 fitted)");
    say(1, 64, "40+ 42? 42?",
        "fits 40 (1 of 1 run), no failure seen, not judged at 42 (2 runs); undecided");
    say(1, 64, "40+ 42! 42!",
        "fits 40 (1 of 1 run), no failure seen, not judged at 42 (2 runs); not finished");
    say(1, 64, "40+ 42? 42- 41? 42?",
        "fits 40 (1 of 1 run), fails 42 (1 of 1), not judged at 41 (1 run); not finished");
}

/* --- several devices, resuming --- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
