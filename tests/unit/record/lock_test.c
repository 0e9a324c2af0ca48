/* Whoever only looks takes nothing, not for a moment: a driver is never turned away by someone
 * who asks whether there is one. */
#include "tests/unit/record/results_bed.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <cmocka.h>

#define ONLOOKERS 3

static pid_t start_onlooker(const char *folder)
{
    pid_t onlooker = fork();
    assert_true(onlooker >= 0);
    if (onlooker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)results_in_use(folder);
    }
    return onlooker;
}

static void looking_takes_no_lock(void **state)
{
    (void)state;
    pid_t onlookers[ONLOOKERS];
    struct results results = create_well("looked-at");
    close_well(&results);
    for (int i = 0; i < ONLOOKERS; i++)
        onlookers[i] = start_onlooker("looked-at");
    size_t turned_away = 0;
    for (int i = 0; i < 1000; i++) {
        struct results_reopened reopened;
        struct text why = TEXT_INIT;
        if (results_reopen(&results, "looked-at", NULL, &reopened, &why) == RESULTS_OK) {
            results_reopened_release(&reopened);
            close_well(&results);
        } else {
            turned_away++;
        }
        text_release(&why);
    }
    for (int i = 0; i < ONLOOKERS; i++) {
        kill(onlookers[i], SIGKILL);
        waitpid(onlookers[i], NULL, 0);
    }
    assert_int_equal(turned_away, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looking_takes_no_lock),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
