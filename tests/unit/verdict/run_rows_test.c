/* Rows of runs made of plain data, no file and no launch: what the driver's rules decide, and
 * which rank speaks for the run. */
#include "harness/verdict/run_rows.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define PHASES 2
static const char *const phase_names[PHASES] = {"context", "libraries"};
static const struct launch_end well = {.started = true};

/* What one rank said, beside a plan of two phases. */
struct bed {
    struct row said[PHASES + 1], planned[PHASES], decided;
    struct shard shard;
    struct phase_record left;
    struct prediction plan;
    struct plan_run run;
    struct seat seat;
    struct rank_facts facts;
};

static void open_bed(struct bed *bed, uint64_t rank, enum status status)
{
    *bed = (struct bed){.shard = {.complete = true, .begun = true, .count = PHASES + 1},
                        .plan = {.count = PHASES, .fits = true},
                        .run = {.role = ROLE_INPUT, .dimension = -1, .input = "i", .trial = 1}};
    for (size_t i = 0; i < PHASES; i++) {
        row_set_text(&bed->planned[i], COLUMN_phase, phase_names[i]);
        row_set_text(&bed->said[i], COLUMN_phase, phase_names[i]);
        row_set_status(&bed->said[i], STATUS_ok);
    }
    row_set_text(&bed->said[PHASES], COLUMN_phase, "run");
    row_set_status(&bed->said[PHASES], status);
    row_set_count(&bed->decided, COLUMN_rank, rank);
    row_set_count(&bed->decided, COLUMN_seed, 7);
    bed->shard.rows = bed->said;
    bed->plan.rows = bed->planned;
    bed->facts = (struct rank_facts){.rank = rank,
                                     .seat = &bed->seat,
                                     .shard = &bed->shard,
                                     .left = &bed->left,
                                     .unread = "",
                                     .end = &well,
                                     .launcher_words = "",
                                     .run = &bed->run,
                                     .decided = &bed->decided,
                                     .plan = &bed->plan,
                                     .unpredicted = "no plan"};
}

static void close_bed(struct bed *bed)
{
    for (size_t i = 0; i < PHASES; i++)
        row_release(&bed->planned[i]);
    for (size_t i = 0; i <= PHASES; i++)
        row_release(&bed->said[i]);
    row_release(&bed->decided);
}

static void assert_closing(const struct row *closing, enum status status, const char *fits,
                           const char *error, const char *warning)
{
    const enum column columns[] = {COLUMN_status, COLUMN_fits, COLUMN_error, COLUMN_warning};
    const char *const wanted[] = {status_facts[status].name, fits, error, warning};
    assert_true(row_is_closing(closing));
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(row_text(closing, columns[i]) ? row_text(closing, columns[i]) : "",
                            wanted[i]);
}

/* The one rank of a bed, and its closing row. */
static void assert_rank(struct bed *bed, enum status status, const char *fits,
                        const char *error, const char *warning)
{
    struct run_rows rows = {.rows = NULL};
    rank_rows_add(&bed->facts, &rows);
    run_rows_judge(&rows, bed->facts.end);
    assert_closing(&rows.rows[rows.count - 1], status, fits, error, warning);
    assert_int_equal(rows.worst, rows.count - 1);
    assert_int_equal(rows.ok, status == STATUS_ok);
    run_rows_release(&rows);
    close_bed(bed);
}

static void a_good_end(void **state)
{
    (void)state;
    struct bed bed;
    open_bed(&bed, 0, STATUS_ok);
    assert_rank(&bed, STATUS_ok, "yes", "", "");
    open_bed(&bed, 0, STATUS_ok);
    bed.facts.plan = NULL; /* a file changed: what was seen is kept */
    assert_rank(&bed, STATUS_ok, "yes", "", "no plan");
    open_bed(&bed, 0, STATUS_oom);
    row_set_text(&bed.said[PHASES], COLUMN_fits, "yes"); /* follows from the status alone */
    assert_rank(&bed, STATUS_oom, "no", "", "");
}

static void an_end_that_is_not_as_planned(void **state)
{
    (void)state;
    const char *order = "phase context is not of the plan, or not in its order";
    const char *missing = "ended well, but phase libraries was not reached";
    for (int oom = 0; oom < 2; oom++) { /* what failed already stays as it is */
        enum status status = oom ? STATUS_oom : STATUS_ok;
        enum status error = oom ? STATUS_oom : STATUS_error;
        const char *fits = oom ? "no" : "";
        struct bed bed;
        open_bed(&bed, 0, status);
        row_set_text(&bed.said[0], COLUMN_phase, "libraries");
        row_set_text(&bed.said[1], COLUMN_phase, "context");
        assert_rank(&bed, error, fits, oom ? "" : order, "");
        open_bed(&bed, 0, status); /* the second phase was never begun */
        row_copy(&bed.said[1], &bed.said[2]);
        bed.shard.count = PHASES;
        assert_rank(&bed, error, fits, oom ? "" : missing, "");
        open_bed(&bed, 0, status);
        row_set_text(&bed.said[0], COLUMN_phase, "unheard_of");
        assert_rank(&bed, error, fits,
                    oom ? "" : "phase unheard_of is not of the plan, or not in its order", "");
    }
}

static void an_end_that_was_not_asked_for(void **state)
{
    (void)state;
    struct bed bed;
    open_bed(&bed, 0, STATUS_ok);
    row_set_count(&bed.said[1], COLUMN_batch, 8);
    row_set_count(&bed.said[1], COLUMN_processed_batch, 4);
    bed.run.point.value[DIMENSION_batch] = reading_of(8);
    assert_rank(&bed, STATUS_adapted, "", "", "batch asked 8, processed 4");
    open_bed(&bed, 0, STATUS_ok);
    row_set_count(&bed.said[1], COLUMN_seed, 8);
    assert_rank(&bed, STATUS_adapted, "", "", "seed is 8, should be 7");
    open_bed(&bed, 0, STATUS_crashed);
    row_set_count(&bed.said[1], COLUMN_seed, 8); /* told, but no cause */
    assert_rank(&bed, STATUS_crashed, "", "", "seed is 8, should be 7");
}

static void a_rank_without_a_whole_shard(void **state)
{
    (void)state;
    const struct launch_end failed = {.started = true, .status = 3 << 8};
    const struct launch_end late = {.started = true, .late = true, .status = SIGTERM};
    const struct launch_end never = {.started = false};
    struct bed bed;
    open_bed(&bed, 0, STATUS_ok);
    bed.shard = (struct shard){.begun = true};
    bed.facts.unread = "cannot be read";
    assert_rank(&bed, STATUS_crashed, "", "rank lost", "cannot be read");
    open_bed(&bed, 0, STATUS_ok);
    bed.shard = (struct shard){.started = true};
    bed.facts.end = &failed;
    bed.facts.launcher_words = "some words";
    assert_rank(&bed, STATUS_launch_failed, "",
                "launcher status 3, rank started but did not reach the start: some words", "");
    open_bed(&bed, 0, STATUS_ok);
    bed.shard = (struct shard){.started = false};
    bed.facts.end = &late;
    assert_rank(&bed, STATUS_launch_failed, "", "the ranks did not meet in time", "");
    open_bed(&bed, 0, STATUS_ok);
    bed.shard = (struct shard){.started = false};
    bed.facts.end = &never;
    bed.facts.launcher_words = "no mpirun";
    assert_rank(&bed, STATUS_launch_failed, "", "no mpirun", "");
    open_bed(&bed, 0, STATUS_ok);
    bed.shard = (struct shard){.begun = true}; /* of an earlier launch: it was skipped now */
    bed.facts.skipped = "smaller ones ran out";
    assert_rank(&bed, STATUS_skipped, "", "smaller ones ran out", "");
}

/* --- several ranks --- */

static void make_run(const enum status *status, size_t ranks, const struct launch_end *end,
                     struct run_rows *rows)
{
    *rows = (struct run_rows){.rows = NULL};
    for (size_t rank = 0; rank < ranks; rank++) {
        struct bed bed;
        open_bed(&bed, rank, status[rank]);
        rank_rows_add(&bed.facts, rows);
        close_bed(&bed);
    }
    run_rows_judge(rows, end);
}

/* Whatever stands beside a rank that failed, the run is told by one that failed. */
static void the_gravest_rank_speaks(void **state)
{
    (void)state;
    for (int a = 0; a < STATUSES; a++)
        for (int b = 0; b < STATUSES; b++) {
            const enum status status[] = {(enum status)a, (enum status)b};
            const enum gravity first = status_facts[a].gravity,
                               second = status_facts[b].gravity;
            struct run_rows rows;
            make_run(status, 2, &well, &rows);
            bool of_second = second > first;
            assert_int_equal(row_count(&rows.rows[rows.worst], COLUMN_rank).value, of_second);
            assert_int_equal(row_status(&rows.rows[rows.worst]), of_second ? b : a);
            assert_true(row_is_closing(&rows.rows[rows.worst]));
            assert_int_equal(rows.ok, a == STATUS_ok && b == STATUS_ok);
            assert_int_equal(rows.device_lost,
                             a == STATUS_device_lost || b == STATUS_device_lost);
            run_rows_release(&rows);
        }
}

static void a_launcher_that_failed(void **state)
{
    (void)state;
    const struct launch_end end = {.started = true, .status = SIGKILL, .left_over = 1};
    const enum status status[] = {STATUS_ok, STATUS_stopped, STATUS_launch_failed};
    const char *words = "launcher ended by signal 9, 1 process left behind, ended by us";
    struct run_rows rows;
    make_run(status, 3, &end, &rows);
    assert_closing(&rows.rows[PHASES], STATUS_ok, "yes", "", words);
    assert_closing(&rows.rows[2 * PHASES + 1], STATUS_stopped, "",
                   "ended by us: launcher ended by signal 9", words);
    assert_closing(&rows.rows[3 * PHASES + 2], STATUS_launch_failed, "", "", "");
    run_rows_release(&rows);
}

/* One that was ended with a lost rank is told which. */
static void the_lost_are_named(void **state)
{
    (void)state;
    struct run_rows rows = {.rows = NULL};
    struct bed stopped, lost;
    open_bed(&stopped, 0, STATUS_stopped);
    open_bed(&lost, 1, STATUS_ok);
    lost.shard = (struct shard){.begun = true};
    rank_rows_add(&stopped.facts, &rows);
    rank_rows_add(&lost.facts, &rows);
    run_rows_judge(&rows, &well);
    assert_closing(&rows.rows[PHASES], STATUS_stopped, "",
                   "ended by us: rank 1 was lost; launcher status 0", "");
    assert_int_equal(rows.worst, rows.count - 1);
    run_rows_release(&rows);
    close_bed(&stopped);
    close_bed(&lost);
}

static void files_that_changed(void **state)
{
    (void)state;
    const enum status status[] = {STATUS_ok, STATUS_dirty};
    struct run_rows rows;
    make_run(status, 2, &well, &rows);
    assert_string_equal(row_text(&rows.rows[PHASES], COLUMN_predicted_fits), "yes");
    run_rows_disown(&rows, "a file changed");
    assert_closing(&rows.rows[PHASES], STATUS_error, "", "a file changed", "");
    assert_closing(&rows.rows[2 * PHASES + 1], STATUS_dirty, "", "a file changed", "");
    assert_null(row_text(&rows.rows[PHASES], COLUMN_predicted_fits));
    assert_false(rows.ok);
    run_rows_release(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_end),
        cmocka_unit_test(an_end_that_is_not_as_planned),
        cmocka_unit_test(an_end_that_was_not_asked_for),
        cmocka_unit_test(a_rank_without_a_whole_shard),
        cmocka_unit_test(the_gravest_rank_speaks),
        cmocka_unit_test(a_launcher_that_failed),
        cmocka_unit_test(the_lost_are_named),
        cmocka_unit_test(files_that_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
