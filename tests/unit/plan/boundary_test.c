/* The boundary search against every small world, against noise, and against worlds that never
 * answer. */
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

/* floor(2 log2 n) by search, not by the formula under test */
static uint64_t twice_log2(uint64_t n)
{
    uint64_t k = 0;
    while (((unsigned __int128)1 << (k + 1)) <= (unsigned __int128)n * n)
        k++;
    return k;
}

static uint64_t run_all(struct boundary_search *search,
                        enum boundary_outcome (*world)(void *user, uint64_t value), void *user)
{
    uint64_t value, trial, runs = 0;
    while (boundary_next(search, &value, &trial)) {
        assert_true(value >= search->boundary.from && value <= search->boundary.to);
        assert_int_equal((value - search->boundary.from) % search->boundary.step, 0);
        boundary_feed(search, value, world(user, value), true);
        runs++;
        assert_true(runs <= search->most);
    }
    assert_int_equal(runs, search->spent);
    return runs;
}

static enum boundary_outcome quiet(void *user, uint64_t value)
{
    return value <= *(uint64_t *)user ? BOUNDARY_FITS : BOUNDARY_FAILS;
}

static void check_quiet(const struct boundary_search *search, uint64_t truth)
{
    const struct study_boundary *asked = &search->boundary;
    uint64_t last = asked->from + (search->count - 1) * asked->step;
    struct boundary_answer answer;
    boundary_answer(search, &answer);
    assert_int_equal(answer.end, BOUNDARY_CONFIRMED);
    assert_true(answer.none == (truth < asked->from));
    assert_true(answer.all == (truth >= last));
    assert_true(answer.fits.known == !answer.none);
    assert_true(answer.fails.known == !answer.all);
    if (answer.fits.known) {
        assert_true(answer.fits.value <= truth);
        assert_true(answer.fits.value + asked->step > truth || answer.fits.value == last);
        assert_true(answer.fits_runs >= asked->confirm);
    }
    if (answer.fails.known) {
        assert_true(answer.fails.value > truth);
        assert_true(answer.fails_runs >= asked->confirm);
        if (answer.fits.known)
            assert_int_equal(answer.fails.value, answer.fits.value + asked->step);
    }
}

/* Every range up to 40 values, every truth, every guess, every confirm. */
static void test_every_small_world(void **state)
{
    (void)state;
    for (uint64_t n = 1; n <= 40; n++)
        for (uint64_t truth = 0; truth <= n; truth++)
            for (uint64_t guess = 0; guess <= n; guess++) /* 0: no prediction */
                for (uint64_t confirm = 1; confirm <= 3; confirm++) {
                    struct boundary_search search;
                    boundary_open(&search, &BOUNDARY(1, n, 1, confirm),
                                  guess ? reading_of(guess) : reading_missing());
                    uint64_t runs = run_all(&search, quiet, &truth);
                    check_quiet(&search, truth);
                    assert_true(runs <= twice_log2(n) + 2 * confirm);
                    bool right = guess == truth || (guess == 1 && truth == 0);
                    if (guess && right)
                        assert_true(runs <= 2 + 2 * confirm);
                    boundary_close(&search);
                }
}

static void test_steps_and_offsets(void **state)
{
    (void)state;
    for (uint64_t step = 1; step <= 7; step++)
        for (uint64_t truth = 0; truth <= 120; truth++)
            for (uint64_t guess = 0; guess <= 130; guess += 13) {
                struct boundary_search search;
                boundary_open(&search, &BOUNDARY(16, 100, step, 2), reading_of(guess));
                run_all(&search, quiet, &truth);
                check_quiet(&search, truth);
                boundary_close(&search);
            }
}

static void test_huge_ranges(void **state)
{
    (void)state;
    const uint64_t trillion = UINT64_C(1000000000000);
    for (uint64_t truth = 0; truth < trillion; truth = truth * 7 + 3)
        for (uint64_t guess = 1; guess < trillion; guess = guess * 11 + 5) {
            struct boundary_search search;
            boundary_open(&search, &BOUNDARY(1, trillion, 1, 2), reading_of(guess));
            uint64_t runs = run_all(&search, quiet, &truth);
            check_quiet(&search, truth);
            assert_true(runs <= 79 + 4);
            boundary_close(&search);
        }
}

/* A guess that is nearly right costs little: that is what galloping is for. */
static void test_near_guesses_are_cheap(void **state)
{
    (void)state;
    uint64_t truth = 500000;
    for (uint64_t off = 0; off <= 8; off++) {
        struct boundary_search search;
        boundary_open(&search, &BOUNDARY(1, 1000000, 1, 2), reading_of(truth - off));
        assert_true(run_all(&search, quiet, &truth) <=
                    4 + 2 * (off ? twice_log2(off) / 2 + 2 : 0));
        boundary_close(&search);
        boundary_open(&search, &BOUNDARY(1, 1000000, 1, 2), reading_of(truth + off));
        assert_true(run_all(&search, quiet, &truth) <=
                    4 + 2 * (off ? twice_log2(off) / 2 + 2 : 0));
        boundary_close(&search);
    }
}

/* --- noise --- */

struct noisy {
    uint64_t low, high; /* up to low it fits, from high it fails, between by chance */
    uint64_t random;
    unsigned not_judged_of_8;
};

static uint64_t chance(struct noisy *noisy)
{
    noisy->random =
        noisy->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return noisy->random >> 33;
}

static enum boundary_outcome shaking(void *user, uint64_t value)
{
    struct noisy *noisy = user;
    if (chance(noisy) % 8 < noisy->not_judged_of_8)
        return BOUNDARY_NOT_JUDGED;
    if (value <= noisy->low)
        return BOUNDARY_FITS;
    if (value >= noisy->high)
        return BOUNDARY_FAILS;
    return chance(noisy) % 2 ? BOUNDARY_FITS : BOUNDARY_FAILS;
}

static bool is_unstable(const struct boundary_search *search,
                        const struct boundary_answer *answer, uint64_t value)
{
    for (size_t i = 0; i < search->seen_count; i++)
        if (search->seen[i].value == value)
            return boundary_is_unstable(answer, &search->seen[i]);
    return false;
}

/* Whatever happens: bounded, no value reported that was not run or that did both, and what is
 * called confirmed was seen `confirm` times. */
static void check_honest(const struct boundary_search *search)
{
    struct boundary_answer answer;
    boundary_answer(search, &answer);
    assert_true(answer.end != BOUNDARY_RUNNING);
    for (size_t i = 0; i < search->seen_count; i++) {
        const struct boundary_seen *seen = &search->seen[i];
        if (answer.fits.known && seen->value == answer.fits.value)
            assert_true(seen->fits == answer.fits_runs && seen->fails == 0 && seen->fits > 0);
        if (answer.fails.known && seen->value == answer.fails.value)
            assert_true(seen->fails == answer.fails_runs && seen->fits == 0 && seen->fails > 0);
    }
    if (answer.fits.known && answer.fails.known)
        assert_true(answer.fits.value < answer.fails.value);
    if (answer.end == BOUNDARY_CONFIRMED) {
        assert_true(answer.fits.known ? answer.fits_runs >= search->boundary.confirm : true);
        assert_true(answer.fails.known ? answer.fails_runs >= search->boundary.confirm : true);
        if (answer.fits.known && answer.fails.known &&
            answer.fails.value - answer.fits.value > 1) {
            assert_true(is_unstable(search, &answer, answer.fits.value + 1));
            assert_true(is_unstable(search, &answer, answer.fails.value - 1));
        }
    }
}

static void test_shaking_ground(void **state)
{
    (void)state;
    size_t confirmed = 0, unstable = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct noisy noisy = {.low = 20 + seed % 50, .random = seed};
        noisy.high = noisy.low + 1 + seed % 5;
        noisy.not_judged_of_8 = seed % 3 == 0 ? 1 : 0;
        struct boundary_search search;
        struct boundary_answer answer;
        boundary_open(&search, &BOUNDARY(1, 128, 1, 1 + seed % 3), reading_of(1 + seed % 128));
        run_all(&search, shaking, &noisy);
        check_honest(&search);
        boundary_answer(&search, &answer);
        confirmed += answer.end == BOUNDARY_CONFIRMED;
        for (size_t i = 0; i < search.seen_count; i++)
            unstable += boundary_is_unstable(&answer, &search.seen[i]);
        /* what surely fits or surely fails is never called the other */
        if (answer.fits.known)
            assert_true(answer.fits.value < noisy.high);
        if (answer.fails.known)
            assert_true(answer.fails.value > noisy.low);
        boundary_close(&search);
    }
    assert_true(confirmed > 2500);
    assert_true(unstable > 500);
}

static enum boundary_outcome never(void *user, uint64_t value)
{
    (void)user;
    (void)value;
    return BOUNDARY_NOT_JUDGED;
}

static void test_nothing_judged(void **state)
{
    (void)state;
    struct boundary_search search;
    struct boundary_answer answer;
    struct text text = TEXT_INIT;
    boundary_open(&search, &BOUNDARY(1, 4096, 1, 2), reading_of(1000));
    assert_int_equal(run_all(&search, never, NULL), 2);
    boundary_answer(&search, &answer);
    assert_int_equal(answer.end, BOUNDARY_UNDECIDED);
    assert_false(answer.fits.known || answer.fails.known || answer.none || answer.all);
    boundary_add_text(&search, &text);
    assert_string_equal(text_string(&text), "no fit seen, no failure seen, not judged at 1000 "
                                            "(2 runs); undecided");
    boundary_close(&search);
    text_release(&text);
}

static enum boundary_outcome only_small_judged(void *user, uint64_t value)
{
    (void)user;
    return value > 64 ? BOUNDARY_NOT_JUDGED : BOUNDARY_FITS;
}

/* A timeout above some value is no failure: the boundary is not where judging ends. */
static void test_not_judged_is_no_failure(void **state)
{
    (void)state;
    struct boundary_search search;
    struct boundary_answer answer;
    boundary_open(&search, &BOUNDARY(1, 4096, 1, 2), reading_of(16));
    run_all(&search, only_small_judged, NULL);
    boundary_answer(&search, &answer);
    assert_int_equal(answer.end, BOUNDARY_UNDECIDED);
    assert_false(answer.fails.known);
    assert_true(answer.fits.known && answer.fits.value <= 64);
    boundary_close(&search);
}

/* One run that was not judged is made again and does no harm. */
static void test_one_not_judged(void **state)
{
    (void)state;
    uint64_t truth = 40, value, trial;
    struct boundary_search search;
    boundary_open(&search, &BOUNDARY(1, 64, 1, 2), reading_of(40));
    assert_true(boundary_next(&search, &value, &trial));
    assert_int_equal(value, 40);
    assert_int_equal(trial, 1);
    boundary_feed(&search, 40, BOUNDARY_NOT_JUDGED, true);
    assert_true(boundary_next(&search, &value, &trial));
    assert_int_equal(value, 40);
    assert_int_equal(trial, 2);
    while (boundary_next(&search, &value, &trial))
        boundary_feed(&search, value, quiet(&truth, value), true);
    check_quiet(&search, truth);
    boundary_close(&search);
}

/* Runs that are made again end the search of this driver; whoever resumes it has its whole
 * bound, however often that was so. */
static void test_made_again(void **state)
{
    (void)state;
    uint64_t truth = 5, value, trial;
    struct boundary_search search;
    struct boundary_answer answer;
    boundary_open(&search, &BOUNDARY(1, 8, 1, 2), reading_of(5));
    for (int driver = 0; driver < 20; driver++) {
        for (int try = 0; try < 2; try++) {
            assert_true(boundary_next(&search, &value, &trial));
            boundary_feed(&search, value, BOUNDARY_AGAIN, true);
        }
        assert_false(boundary_next(&search, &value, &trial));
        boundary_answer(&search, &answer);
        assert_int_equal(answer.end, BOUNDARY_RUNNING);
        boundary_resume(&search);
    }
    run_all(&search, quiet, &truth);
    check_quiet(&search, truth);
    boundary_close(&search);
}

/* Unlike cards in one run: each search is fed every run, each comes to its own answer, and the
 * runs are no more than the bounds of all together. */
static void test_unlike_cards(void **state)
{
    (void)state;
    uint64_t truths[2] = {37, 90}, value, trial, runs = 0;
    struct boundary_search searches[2];
    for (size_t i = 0; i < 2; i++)
        boundary_open(&searches[i], &BOUNDARY(1, 128, 1, 2), reading_of(truths[i] + i));
    for (size_t i = 0; i < 2;) {
        if (!boundary_next(&searches[i], &value, &trial)) {
            i++;
            continue;
        }
        bool counted = false;
        for (size_t k = 0; k < 2; k++)
            counted |= boundary_feed(&searches[k], value, quiet(&truths[k], value), !counted);
        assert_true(counted);
        runs++;
    }
    for (size_t i = 0; i < 2; i++) {
        check_quiet(&searches[i], truths[i]);
        assert_true(searches[i].spent <= searches[i].most);
        boundary_close(&searches[i]);
    }
    assert_true(runs <= 4 + 4 + 2);
}

/* Stopped after any run and fed again, the search goes on as if nothing had happened. */
static void test_resumed_anywhere(void **state)
{
    (void)state;
    for (uint64_t stop = 0; stop < 24; stop++) {
        struct noisy noisy = {.low = 40, .high = 44, .random = 5};
        struct boundary_search whole, again;
        uint64_t values[64], count = 0, value, trial, other, other_trial;
        enum boundary_outcome outcomes[64];
        boundary_open(&whole, &BOUNDARY(1, 4096, 1, 3), reading_of(300));
        while (boundary_next(&whole, &value, &trial)) {
            values[count] = value;
            outcomes[count] = shaking(&noisy, value);
            boundary_feed(&whole, value, outcomes[count++], true);
        }
        boundary_open(&again, &BOUNDARY(1, 4096, 1, 3), reading_of(300));
        for (uint64_t i = 0; i < count; i++) {
            if (i < stop) {
                boundary_feed(&again, values[i], outcomes[i], true);
                continue;
            }
            assert_true(boundary_next(&again, &other, &other_trial));
            assert_int_equal(other, values[i]);
            boundary_feed(&again, other, outcomes[i], true);
        }
        assert_false(boundary_next(&again, &other, &other_trial));
        assert_int_equal(whole.spent, again.spent);
        boundary_close(&whole);
        boundary_close(&again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_world),
        cmocka_unit_test(test_steps_and_offsets),
        cmocka_unit_test(test_huge_ranges),
        cmocka_unit_test(test_near_guesses_are_cheap),
        cmocka_unit_test(test_shaking_ground),
        cmocka_unit_test(test_nothing_judged),
        cmocka_unit_test(test_not_judged_is_no_failure),
        cmocka_unit_test(test_one_not_judged),
        cmocka_unit_test(test_made_again),
        cmocka_unit_test(test_unlike_cards),
        cmocka_unit_test(test_resumed_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
