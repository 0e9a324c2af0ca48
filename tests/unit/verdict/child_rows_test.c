#include "harness/verdict/child_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static void assert_text(const struct row *row, enum column column, const char *wanted)
{
    struct text out = TEXT_INIT;
    row_format_cell(row, column, &out);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
}

/* Two phases: one whole, one cut off. */
struct fixture {
    struct row rows[2];
    struct row about;
    struct phase_record record;
};

static void make(struct fixture *fixture)
{
    *fixture = (struct fixture){.about = ROW_INIT};
    row_set_text(&fixture->rows[0], COLUMN_phase, "context");
    row_set_status(&fixture->rows[0], STATUS_ok);
    row_set_count(&fixture->rows[0], COLUMN_device_capacity_bytes, 1000);
    row_set_text(&fixture->rows[1], COLUMN_phase, "warm_forward");
    row_set_text(&fixture->rows[1], COLUMN_pass, "warm");
    row_set_count(&fixture->rows[1], COLUMN_repeat, 2);
    row_set_text(&fixture->rows[1], COLUMN_partial, "yes");
    row_set_count(&fixture->rows[1], COLUMN_allocated_peak_bytes, 77);
    row_set_count(&fixture->rows[1], COLUMN_refused_bytes, 4096);
    row_set_count(&fixture->about, COLUMN_rank, 3);
    row_set_text(&fixture->about, COLUMN_device_pci, "pci-00000000:3B:00.0");
    row_set_text(&fixture->record.hello, COLUMN_framework, "test");
    row_set_text(&fixture->record.hello, COLUMN_device_pci, "00000000:3B:00.0");
    fixture->record.rows = fixture->rows;
    fixture->record.count = 2;
    fixture->record.said_hello = true;
}

static void unmake(struct fixture *fixture)
{
    row_release(&fixture->rows[0]);
    row_release(&fixture->rows[1]);
    row_release(&fixture->about);
    row_release(&fixture->record.hello);
}

static void a_phase_that_was_cut_off(void **state)
{
    (void)state;
    struct fixture fixture;
    make(&fixture);
    struct verdict verdict = {.status = STATUS_crashed};
    const struct ending ending = {.reaped = true, .wait_status = 11};
    text_add(&verdict.error, "signal 11 (SIGSEGV)");
    const struct child_facts facts = {.about = &fixture.about,
                                      .record = &fixture.record,
                                      .ending = &ending,
                                      .wall_ns = reading_of(5)};
    struct child_rows made;
    child_rows_of(&facts, &verdict, &made);
    assert_int_equal(made.count, 3);
    assert_text(&made.rows[0], COLUMN_status, "ok");
    assert_text(&made.rows[0], COLUMN_error, "");
    assert_text(&made.rows[1], COLUMN_status, "crashed");
    assert_text(&made.rows[1], COLUMN_partial, "yes");
    assert_text(&made.rows[1], COLUMN_error, "signal 11 (SIGSEGV)");
    assert_text(&made.rows[2], COLUMN_phase, "run");
    assert_text(&made.rows[2], COLUMN_status, "crashed");
    assert_text(&made.rows[2], COLUMN_fits, "");
    assert_text(&made.rows[2], COLUMN_failed_phase, "warm_forward");
    assert_text(&made.rows[2], COLUMN_signal, "11");
    assert_text(&made.rows[2], COLUMN_exit_code, "");
    assert_text(&made.rows[2], COLUMN_wall_ns, "5");
    assert_text(&made.rows[2], COLUMN_refused_bytes, "4096");
    assert_text(&made.rows[2], COLUMN_allocated_peak_bytes, ""); /* pivots must not mix it */
    assert_text(&made.rows[2], COLUMN_repeat, "");
    for (size_t i = 0; i < made.count; i++) {
        assert_text(&made.rows[i], COLUMN_rank, "3");
        assert_text(&made.rows[i], COLUMN_framework, "test");
        assert_text(&made.rows[i], COLUMN_device_pci, "pci-00000000:3B:00.0");
        assert_text(&made.rows[i], COLUMN_device_capacity_bytes, "1000");
    }
    child_rows_release(&made);
    text_release(&verdict.error);
    unmake(&fixture);
}

static void a_phase_before_the_last_may_be_the_cause(void **state)
{
    (void)state;
    struct fixture fixture;
    make(&fixture);
    row_set_status(&fixture.rows[0], STATUS_oom);
    row_set_text(&fixture.rows[0], COLUMN_refused_by, "device");
    row_set_count(&fixture.rows[0], COLUMN_refused_bytes, 9);
    struct verdict verdict = {.status = STATUS_oom};
    const struct child_facts facts = {.about = &fixture.about, .record = &fixture.record};
    struct child_rows made;
    child_rows_of(&facts, &verdict, &made);
    assert_text(&made.rows[2], COLUMN_status, "oom");
    assert_text(&made.rows[2], COLUMN_failed_phase, "context");
    assert_text(&made.rows[2], COLUMN_refused_by, "device");
    assert_text(&made.rows[2], COLUMN_refused_bytes, "9");
    child_rows_release(&made);
    unmake(&fixture);
}

static void a_spill_is_no_fit(void **state)
{
    (void)state;
    struct fixture fixture;
    make(&fixture);
    struct verdict verdict = {.status = STATUS_ok};
    const struct child_facts facts = {.about = &fixture.about, .record = &fixture.record};
    struct child_rows made;
    row_clear(&fixture.rows[1], COLUMN_partial);
    child_rows_of(&facts, &verdict, &made);
    assert_text(&made.rows[2], COLUMN_status, "ok");
    assert_text(&made.rows[2], COLUMN_fits, "yes");
    child_rows_release(&made);
    row_set_count(&fixture.rows[1], COLUMN_reserved_peak_bytes, 1001);
    child_rows_of(&facts, &verdict, &made);
    assert_text(&made.rows[2], COLUMN_status, "spilled");
    assert_text(&made.rows[2], COLUMN_fits, "");
    child_rows_release(&made);
    unmake(&fixture);
}

/* Processor time for the rows of a child that told so many phases, the last a failure. */
static double seconds_for(size_t count)
{
    struct row *said = xcalloc(count, sizeof *said);
    const struct verdict verdict = {.status = STATUS_error};
    const struct phase_record record = {.hello = ROW_INIT, .rows = said, .count = count};
    const struct row about = ROW_INIT;
    const struct child_facts facts = {.about = &about, .record = &record};
    struct child_rows made;
    for (size_t i = 0; i < count; i++) {
        row_set_text(&said[i], COLUMN_phase, "p");
        row_set_status(&said[i], i + 1 < count ? STATUS_ok : STATUS_error);
    }
    clock_t began = clock();
    child_rows_of(&facts, &verdict, &made);
    double seconds = (double)(clock() - began) / CLOCKS_PER_SEC;
    assert_int_equal(made.count, count + 1);
    assert_text(&made.rows[count], COLUMN_failed_phase, "p");
    child_rows_release(&made);
    for (size_t i = 0; i < count; i++)
        row_release(&said[i]);
    free(said);
    return seconds;
}

/* A flood of phases must not keep the rank from its shard: four times as many, not sixteen. */
static void a_flood_costs_its_length(void **state)
{
    (void)state;
    double few = seconds_for(5000), many = seconds_for(20000);
    printf("5,000 phases %.3f s of processor time, 20,000 %.3f s\n", few, many);
    assert_true(many < 10 * few + 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phase_that_was_cut_off),
        cmocka_unit_test(a_phase_before_the_last_may_be_the_cause),
        cmocka_unit_test(a_spill_is_no_fit),
        cmocka_unit_test(a_flood_costs_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
