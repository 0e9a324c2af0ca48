#include "harness/base/clock.h"
#include "harness/observe/child_rows.h"
#include "harness/protocol/shard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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
    const struct observation what = {.about = &fixture.about,
                                     .record = &fixture.record,
                                     .ending = &ending,
                                     .verdict = &verdict,
                                     .wall_ns = reading_of(5)};
    struct row *rows;
    size_t count;
    observe(&what, &rows, &count);
    assert_int_equal(count, 3);
    assert_text(&rows[0], COLUMN_status, "ok");
    assert_text(&rows[0], COLUMN_error, "");
    assert_text(&rows[1], COLUMN_status, "crashed");
    assert_text(&rows[1], COLUMN_partial, "yes");
    assert_text(&rows[1], COLUMN_error, "signal 11 (SIGSEGV)");
    assert_text(&rows[2], COLUMN_phase, "run");
    assert_text(&rows[2], COLUMN_status, "crashed");
    assert_text(&rows[2], COLUMN_fits, "");
    assert_text(&rows[2], COLUMN_failed_phase, "warm_forward");
    assert_text(&rows[2], COLUMN_signal, "11");
    assert_text(&rows[2], COLUMN_exit_code, "");
    assert_text(&rows[2], COLUMN_wall_ns, "5");
    assert_text(&rows[2], COLUMN_refused_bytes, "4096");
    assert_text(&rows[2], COLUMN_allocated_peak_bytes, ""); /* pivots must not mix it */
    assert_text(&rows[2], COLUMN_repeat, "");
    for (size_t i = 0; i < count; i++) {
        assert_text(&rows[i], COLUMN_rank, "3");
        assert_text(&rows[i], COLUMN_framework, "test");
        assert_text(&rows[i], COLUMN_device_pci, "pci-00000000:3B:00.0");
        assert_text(&rows[i], COLUMN_device_capacity_bytes, "1000");
    }
    rows_release(rows, count);
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
    const struct observation what = {
        .about = &fixture.about, .record = &fixture.record, .verdict = &verdict};
    struct row *rows;
    size_t count;
    observe(&what, &rows, &count);
    assert_text(&rows[2], COLUMN_status, "oom");
    assert_text(&rows[2], COLUMN_failed_phase, "context");
    assert_text(&rows[2], COLUMN_refused_by, "device");
    assert_text(&rows[2], COLUMN_refused_bytes, "9");
    rows_release(rows, count);
    unmake(&fixture);
}

static void a_spill_is_no_fit(void **state)
{
    (void)state;
    struct fixture fixture;
    make(&fixture);
    struct verdict verdict = {.status = STATUS_ok};
    const struct observation what = {
        .about = &fixture.about, .record = &fixture.record, .verdict = &verdict};
    struct row *rows;
    size_t count;
    row_clear(&fixture.rows[1], COLUMN_partial);
    observe(&what, &rows, &count);
    assert_text(&rows[2], COLUMN_status, "ok");
    assert_text(&rows[2], COLUMN_fits, "yes");
    rows_release(rows, count);
    row_set_count(&fixture.rows[1], COLUMN_reserved_peak_bytes, 1001);
    observe(&what, &rows, &count);
    assert_text(&rows[2], COLUMN_status, "spilled");
    assert_text(&rows[2], COLUMN_fits, "");
    rows_release(rows, count);
    unmake(&fixture);
}

static void samples_belong_to_the_phase_of_their_moment(void **state)
{
    (void)state;
    struct fixture fixture;
    make(&fixture);
    struct sampler sampler = {.last_ns = 0};
    struct live_state page = {.phase = "context"};
    struct card_sample sample = {.used = reading_of(50), .free = reading_of(950)};
    sampler_take(&sampler, &sample, NULL, 1000); /* before the child said anything */
    sample.used = reading_of(10);
    sampler_take(&sampler, &sample, &page, 1100);
    strcpy(page.phase, "warm_forward");
    strcpy(page.pass, "warm");
    page.repeat = reading_of(2);
    sample = (struct card_sample){.used = reading_of(30), .own = reading_of(20)};
    sampler_take(&sampler, &sample, &page, 1500);
    sample.used = reading_of(20);
    sampler_take(&sampler, &sample, &page, 1600);
    struct verdict verdict = {.status = STATUS_timeout};
    const struct observation what = {.about = &fixture.about,
                                     .record = &fixture.record,
                                     .sampler = &sampler,
                                     .verdict = &verdict};
    struct row *rows;
    size_t count;
    observe(&what, &rows, &count);
    assert_text(&rows[0], COLUMN_device_sampled_peak_bytes, "10");
    assert_text(&rows[0], COLUMN_device_sample_count, "1");
    assert_text(&rows[0], COLUMN_device_sample_gap_ns, "100");
    assert_text(&rows[0], COLUMN_process_sampled_peak_bytes, "");
    assert_text(&rows[1], COLUMN_device_sampled_peak_bytes, "30");
    assert_text(&rows[1], COLUMN_device_sample_count, "2");
    assert_text(&rows[1], COLUMN_device_sample_gap_ns, "400");
    assert_text(&rows[1], COLUMN_process_sampled_peak_bytes, "20");
    assert_text(&rows[2], COLUMN_device_sampled_peak_bytes, "");
    rows_release(rows, count);
    sampler_release(&sampler);

    sampler = (struct sampler){.last_ns = 0}; /* nobody named a phase: the run has them */
    sampler_take(&sampler, &sample, NULL, 1000);
    observe(&what, &rows, &count);
    assert_text(&rows[0], COLUMN_device_sample_count, "");
    assert_text(&rows[2], COLUMN_device_sampled_peak_bytes, "20");
    assert_text(&rows[2], COLUMN_device_sample_count, "1");
    assert_text(&rows[2], COLUMN_device_sample_gap_ns, "");
    rows_release(rows, count);
    sampler_release(&sampler);
    unmake(&fixture);
}

/* Cut at every byte, a shard is either what it says or not complete. */
static void a_torn_shard_is_not_complete(void **state)
{
    (void)state;
    char folder[] = "/tmp/observe_test-XXXXXX";
    struct text why = TEXT_INIT;
    struct row rows[2] = {ROW_INIT, ROW_INIT}, about = ROW_INIT;
    assert_non_null(mkdtemp(folder));
    char *path = shard_path(folder, 7);
    row_set_count(&about, COLUMN_rank, 7);
    row_set_text(&rows[0], COLUMN_phase, "context");
    row_set_text(&rows[1], COLUMN_phase, "run");
    row_set_status(&rows[0], STATUS_ok);
    row_set_status(&rows[1], STATUS_ok);
    int fd = shard_create(path, &why);
    assert_true(fd >= 0);
    assert_int_equal(line_append(fd, "start", &about, &why), 0);
    assert_int_equal(line_append(fd, "begin", &about, &why), 0);
    assert_int_equal(shard_finish(fd, rows, 2, &why), 0);
    off_t whole = lseek(fd, 0, SEEK_END);
    struct shard shard;
    assert_int_equal(shard_read(path, &shard, &why), 0);
    assert_true(shard.started && shard.begun && shard.complete);
    assert_int_equal(shard.count, 2);
    assert_text(&shard.about, COLUMN_rank, "7");
    shard_release(&shard);
    for (off_t cut = whole - 1; cut >= 0; cut--) {
        assert_int_equal(truncate(path, cut), 0);
        assert_int_equal(shard_read(path, &shard, &why), 0);
        assert_false(shard.complete);
        assert_true(shard.count <= 2);
        shard_release(&shard);
    }
    close(fd);
    unlink(path);
    assert_int_equal(shard_read(path, &shard, &why), 0);
    assert_false(shard.started);
    shard_release(&shard);
    rmdir(folder);
    free(path);
    row_release(&about);
    row_release(&rows[0]);
    row_release(&rows[1]);
    text_release(&why);
}

/* Seconds for the rows of a child that told so many phases, the last of them a failure. */
static double seconds_for(size_t count)
{
    struct row *said = xcalloc(count, sizeof *said), *rows;
    size_t made;
    struct verdict verdict = {.status = STATUS_error};
    const struct phase_record record = {.hello = ROW_INIT, .rows = said, .count = count};
    const struct row about = ROW_INIT;
    const struct observation what = {.about = &about, .record = &record, .verdict = &verdict};
    for (size_t i = 0; i < count; i++) {
        row_set_text(&said[i], COLUMN_phase, "p");
        row_set_status(&said[i], i + 1 < count ? STATUS_ok : STATUS_error);
    }
    uint64_t began = clock_monotonic_ns();
    observe(&what, &rows, &made);
    double seconds = (double)(clock_monotonic_ns() - began) / 1e9;
    assert_int_equal(made, count + 1);
    assert_text(&rows[count], COLUMN_failed_phase, "p");
    rows_release(rows, made);
    rows_release(said, count);
    return seconds;
}

/* A flood of phases must not keep the rank from its shard: four times as many, not sixteen. */
static void a_flood_costs_its_length(void **state)
{
    (void)state;
    double few = seconds_for(5000), many = seconds_for(20000);
    printf("5,000 phases %.3f s, 20,000 %.3f s\n", few, many);
    assert_true(many < 10 * few + 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phase_that_was_cut_off),
        cmocka_unit_test(a_phase_before_the_last_may_be_the_cause),
        cmocka_unit_test(a_spill_is_no_fit),
        cmocka_unit_test(samples_belong_to_the_phase_of_their_moment),
        cmocka_unit_test(a_torn_shard_is_not_complete),
        cmocka_unit_test(a_flood_costs_its_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
