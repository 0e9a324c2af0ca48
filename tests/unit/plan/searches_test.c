/* The searches of a study, fed with rows: what is said of them does not depend on guesses, nor
 * on whether the rows were just made or are read back. */
#include "harness/plan/searches.h"
#include "tests/unit/plan/plan_bed.h"

#include <stdlib.h>
#include <string.h>

#define RANKS 3
#define MOST_RUNS 600

/* --- a world of cards --- */

struct world {
    uint64_t random;
    uint64_t truth[RANKS], shaking; /* the largest that fits, give or take */
    unsigned odd_of_16;             /* runs that end in other ways */
    bool changes;                   /* now and then a card is another */
    uint64_t capacity[RANKS];
};
struct made_run {
    struct row closing[RANKS];
    size_t count;
};
struct history {
    struct made_run runs[MOST_RUNS];
    size_t count;
    struct run_set done;
};

static uint64_t chance(struct world *world, uint64_t sides)
{
    world->random =
        world->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (world->random >> 33) % sides;
}

static enum status end_of(struct world *world, uint64_t value, uint64_t rank)
{
    static const enum status odd[] = {STATUS_error, STATUS_timeout, STATUS_launch_failed,
                                      STATUS_dirty};
    uint64_t edge = world->truth[rank] + chance(world, world->shaking + 1);
    if (chance(world, 16) < world->odd_of_16)
        return odd[chance(world, 4)];
    return value <= edge ? STATUS_ok : STATUS_oom;
}

static void make_run(struct world *world, const struct study *study, uint64_t ranks,
                     const struct plan_run *run, struct history *history)
{
    assert_true(history->count < MOST_RUNS);
    struct made_run *made = &history->runs[history->count++];
    uint32_t statuses = 0;
    *made = (struct made_run){.count = run->place > 0 ? 1 : ranks};
    for (size_t i = 0; i < made->count; i++) {
        struct row *row = &made->closing[i];
        uint64_t device = run->place > 0 ? run->place - 1 : i;
        enum status status = end_of(world, run->value, device);
        if (world->changes && chance(world, 80) == 0)
            world->capacity[device]++;
        plan_describe_study(study, row);
        plan_describe_run(run, row);
        row_set_text(row, COLUMN_phase, "run");
        row_set_count(row, COLUMN_rank, i);
        row_set_status(row, status);
        row_set_text(row, COLUMN_refused_by, status == STATUS_oom ? "device" : NULL);
        if (status != STATUS_launch_failed)
            row_set_count(row, COLUMN_device_capacity_bytes, world->capacity[device]);
        statuses |= 1u << status;
    }
    run_set_put(&history->done, run->name, history->count, statuses);
}

static void forget(struct history *history)
{
    for (size_t i = 0; i < history->count; i++)
        for (size_t rank = 0; rank < history->runs[i].count; rank++)
            row_release(&history->runs[i].closing[rank]);
    run_set_release(&history->done);
    history->count = 0;
}

static void feed(struct probes *probes, const struct history *history, size_t from)
{
    struct text said = TEXT_INIT;
    for (size_t i = from; i < history->count; i++)
        probes_feed(probes, history->runs[i].closing, history->runs[i].count, &said);
    text_release(&said);
}

/* --- the same, whoever asks --- */

static void same_words(const struct probes *a, const struct probes *b, uint64_t seed)
{
    struct text x = TEXT_INIT, y = TEXT_INIT;
    probes_add_text(a, &x);
    probes_add_text(b, &y);
    if (strcmp(text_string(&x), text_string(&y)) != 0)
        fail_msg("seed %llu: \"%s\" and \"%s\"", (unsigned long long)seed, text_string(&x),
                 text_string(&y));
    text_release(&x);
    text_release(&y);
}

/* As `status` does: everything is read back, without guesses. */
static bool read_back(const struct study *study, uint64_t ranks, const struct history *history,
                      const struct probes *made, uint64_t seed)
{
    struct probes read;
    struct plan_run run;
    probes_open(&read, study, ranks, NULL);
    feed(&read, history, 0);
    probes_resume(&read);
    same_words(made, &read, seed);
    bool left = probes_next(&read, &history->done, &run);
    assert_true(left == (probes_left(&read) > 0));
    probes_close(&read);
    return left;
}

/* Each run that decides counts against the bound of one search. */
static void counted_once(const struct probes *made, const struct history *history)
{
    uint64_t spent = 0, runs = 0;
    for (size_t i = 0; i < made->study->boundary_count * made->ranks; i++)
        spent += made->searches[i].spent;
    for (size_t i = 0; i < history->count; i++)
        runs += made->study->phases != PHASES_BOTH ||
                strcmp(row_text(&history->runs[i].closing[0], COLUMN_phases), "whole") == 0;
    assert_int_equal(spent, runs);
}

/* One driver, from the rows that are there to its end or to an interruption. */
static void drive(const struct study *study, uint64_t ranks, struct world *world,
                  struct history *history, uint64_t seed)
{
    struct reading guesses[2 * RANKS];
    struct probes made, blind;
    struct plan_run run, other;
    uint64_t most = 0, runs = 0, stop = chance(world, 3) == 0 ? chance(world, 12) : MOST_RUNS;
    for (size_t i = 0; i < 2 * RANKS; i++)
        guesses[i] =
            chance(world, 4) == 0 ? reading_missing() : reading_of(1 + chance(world, 300));
    probes_open(&made, study, ranks, guesses);
    probes_open(&blind, study, ranks, NULL);
    for (size_t i = 0; i < study->boundary_count * ranks; i++)
        most += made.searches[i].most;
    feed(&made, history, 0);
    feed(&blind, history, 0);
    probes_resume(&made);
    probes_resume(&blind);
    while (probes_next(&made, &history->done, &run) && runs < stop) {
        assert_true(probes_next(&blind, &history->done, &other));
        assert_true(read_back(study, ranks, history, &made, seed));
        make_run(world, study, ranks, &run, history);
        runs++;
        feed(&made, history, history->count - 1);
        feed(&blind, history, history->count - 1);
        same_words(&made, &blind, seed);
        assert_int_equal(probes_left(&made), probes_left(&blind));
    }
    assert_true(probes_next(&made, &history->done, &run) ==
                probes_next(&blind, &history->done, &other));
    read_back(study, ranks, history, &made, seed);
    if (!world->changes)
        assert_true(runs <= most * (study->phases == PHASES_BOTH ? 2 : 1));
    if (!world->changes && world->odd_of_16 == 0)
        counted_once(&made, history);
    probes_close(&made);
    probes_close(&blind);
}

static void words_need_no_guess(void **state)
{
    (void)state;
    static const char *const ways[] = {"", "phases = both\n", "[launch]\nplacement = alone\n"};
    static struct history history;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        struct study study;
        struct world world = {.random = seed,
                              .shaking = seed % 5,
                              .odd_of_16 = seed % 4,
                              .changes = seed % 7 == 0};
        uint64_t ranks = 1 + seed % RANKS;
        struct text text = TEXT_INIT;
        text_addf(&text,
                  "[study]\nname=n\nquestion=q\nworkload=dense\n%s[device]\n"
                  "backend=simulated\ncapacity=80GiB\n[boundary batch]\nto = %d\n"
                  "confirm = %d\n%s",
                  ways[seed % 3], seed % 2 ? 16 : 250, 1 + (int)(seed % 3),
                  seed % 5 == 0 ? "[boundary context]\nto = 100\nstep = 3\n" : "");
        make_study(text_string(&text), &study);
        text_release(&text);
        for (size_t rank = 0; rank < RANKS; rank++)
            world.truth[rank] = chance(&world, 260);
        history = (struct history){.done = RUN_SET_INIT};
        for (int driver = 0; driver < 3; driver++)
            drive(&study, ranks, &world, &history, seed);
        forget(&history);
        study_release(&study);
    }
}

/* A noisy search that comes to its bound has come to it for whoever reads its rows. */
static void a_bound_that_is_reached_stays_so(void **state)
{
    (void)state;
    struct study study;
    struct history *history = xcalloc(1, sizeof *history);
    struct reading guess = reading_of(200);
    struct world world = {.random = 9, .truth = {90}, .shaking = 60};
    size_t spent = 0;
    make_study("[study]\nname=n\nquestion=q\nworkload=dense\n[device]\nbackend=simulated\n"
               "capacity=80GiB\n[boundary batch]\nto = 250\nconfirm = 3\n",
               &study);
    for (int round = 0; round < 60; round++) {
        struct probes made;
        struct plan_run run;
        struct text said = TEXT_INIT;
        probes_open(&made, &study, 1, &guess);
        while (probes_next(&made, &history->done, &run)) {
            make_run(&world, &study, 1, &run, history);
            feed(&made, history, history->count - 1);
        }
        probes_add_text(&made, &said);
        spent += strstr(text_string(&said), "the bound on runs") != NULL;
        assert_false(read_back(&study, 1, history, &made, 0));
        text_release(&said);
        probes_close(&made);
        forget(history);
        history->done = (struct run_set)RUN_SET_INIT;
    }
    assert_true(spent > 3);
    study_release(&study);
    free(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_need_no_guess),
        cmocka_unit_test(a_bound_that_is_reached_stays_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
