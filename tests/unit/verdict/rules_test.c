/* The table of rules and what follows from a status. What whole ends make of them stands in
 * tests/golden/verdict_*.txt; here is what no end shows. */
#include "harness/verdict/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ONLY(name) (UINT64_C(1) << RULE_##name)
#define ALL (~UINT64_C(0) >> (64 - RULES))

static void assert_decides(uint64_t holding, int before, enum status after, uint64_t decided)
{
    int status = before;
    assert_true(rules_apply(holding, &status) == decided);
    assert_string_equal(status_facts[status].name, status_facts[after].name);
}

static void nothing_holds(void **state)
{
    (void)state;
    int status = UNDECIDED;
    assert_true(rules_apply(0, &status) == 0);
    assert_int_equal(status, UNDECIDED);
    assert_int_equal(rules_first(0), RULES);
    for (int before = 0; before < STATUSES; before++)
        assert_decides(0, before, (enum status)before, 0);
}

/* Up to any other exit a rule decides where nothing is decided, and nowhere else. */
static void the_first_cause_stays(void **state)
{
    (void)state;
    for (int rule = 0; rule <= RULE_ended_badly; rule++) {
        int first = UNDECIDED, among = UNDECIDED;
        uint64_t one = UINT64_C(1) << rule, later = ALL & ~(one - 1);
        assert_true(rules_apply(one, &first) == one);
        for (int before = 0; before < STATUSES; before++)
            assert_decides(one, before, (enum status)before, 0);
        later &= (ONLY(ended_badly) << 1) - 1; /* not those that override */
        assert_true(rules_apply(later, &among) == one);
        assert_int_equal(among, first);
        assert_int_equal(rules_first(later), rule);
    }
}

/* What is overridden: by name, nothing else, and never what is undecided. */
static void assert_over(enum rule rule, enum status gives, const char *over)
{
    uint64_t one = UINT64_C(1) << rule;
    int undecided = UNDECIDED;
    assert_true(rules_apply(one, &undecided) == 0);
    assert_int_equal(undecided, UNDECIDED);
    for (int before = 0; before < STATUSES; before++) {
        char *name = xasprintf(" %s ", status_facts[before].name);
        bool may = strstr(over, name) != NULL;
        assert_decides(one, before, may ? gives : (enum status)before, may ? one : 0);
        free(name);
    }
}

static void what_is_overridden(void **state)
{
    (void)state;
    assert_over(
        RULE_card_lost, STATUS_device_lost,
        " oom oom_suspected host_oom error crashed timeout stopped adapted spilled dirty "
        "device_lost launch_failed interrupted skipped not_reached ");
    assert_over(RULE_neighbour, STATUS_dirty, " oom ");
    assert_over(RULE_peer_failed, STATUS_stopped, " stopped error crashed ");
    assert_over(RULE_spilled, STATUS_spilled, " ok ");
    assert_over(RULE_out_of_order, STATUS_error, " ok ");
    assert_over(RULE_not_reached, STATUS_error, " ok ");
    assert_over(RULE_processed_otherwise, STATUS_adapted, " ok ");
    assert_over(RULE_set_otherwise, STATUS_adapted, " ok ");
    assert_over(RULE_files_changed, STATUS_error,
                " ok oom oom_suspected host_oom error crashed timeout stopped adapted spilled "
                "skipped not_reached ");
    assert_int_equal(RULE_files_changed + 1, RULES); /* all that override are above */
    assert_int_equal(RULE_card_lost, RULE_ended_badly + 1);
}

/* Several at once: down the table, each over what those above it made. */
static void one_after_the_other(void **state)
{
    (void)state;
    assert_decides(ONLY(neighbour) | ONLY(peer_failed), STATUS_oom, STATUS_dirty,
                   ONLY(neighbour));
    assert_decides(ONLY(ended_badly) | ONLY(card_lost) | ONLY(neighbour) | ONLY(peer_failed),
                   UNDECIDED, STATUS_device_lost, ONLY(ended_badly) | ONLY(card_lost));
    assert_decides(ONLY(ended_badly) | ONLY(neighbour) | ONLY(peer_failed), UNDECIDED,
                   STATUS_stopped, ONLY(ended_badly) | ONLY(peer_failed));
    assert_decides(ONLY(spilled) | ONLY(not_reached) | ONLY(set_otherwise), STATUS_ok,
                   STATUS_spilled, ONLY(spilled));
    assert_decides(ONLY(not_reached) | ONLY(processed_otherwise) | ONLY(files_changed),
                   STATUS_ok, STATUS_error, ONLY(not_reached) | ONLY(files_changed));
    assert_decides(ONLY(out_of_order) | ONLY(not_reached), STATUS_ok, STATUS_error,
                   ONLY(out_of_order));
}

/* --- what follows from a status --- */

static void only_ok_fits_and_only_oom_does_not(void **state)
{
    (void)state;
    for (int i = 0; i < STATUSES; i++)
        assert_int_equal(status_facts[i].judged, i == STATUS_ok    ? FITS_YES
                                                 : i == STATUS_oom ? FITS_NO
                                                                   : FITS_NOT_JUDGED);
}

/* A run of which a rank failed must not be told by one that did not. */
static void every_failure_is_graver(void **state)
{
    (void)state;
    for (int i = 0; i < STATUSES; i++) {
        enum gravity wanted = i == STATUS_ok                               ? GRAVITY_NONE
                              : i == STATUS_stopped                        ? GRAVITY_OF_ANOTHER
                              : i == STATUS_adapted || i == STATUS_spilled ? GRAVITY_DOUBT
                                                                           : GRAVITY_FAILED;
        assert_int_equal(status_facts[i].gravity, wanted);
    }
    assert_true(GRAVITY_NONE < GRAVITY_OF_ANOTHER && GRAVITY_OF_ANOTHER < GRAVITY_DOUBT &&
                GRAVITY_DOUBT < GRAVITY_FAILED);
}

static void what_is_made_again(void **state)
{
    (void)state;
    int again = 1 << STATUS_dirty | 1 << STATUS_device_lost | 1 << STATUS_launch_failed |
                1 << STATUS_interrupted;
    assert_int_equal(RUNS_MADE_AGAIN, again);
    for (int i = 0; i < STATUSES; i++)
        assert_int_equal(status_facts[i].again == AGAIN, again >> i & 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_holds),
        cmocka_unit_test(the_first_cause_stays),
        cmocka_unit_test(what_is_overridden),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(only_ok_fits_and_only_oom_does_not),
        cmocka_unit_test(every_failure_is_graver),
        cmocka_unit_test(what_is_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
