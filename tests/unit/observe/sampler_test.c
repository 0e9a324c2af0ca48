#include "harness/observe/sampler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void assert_text(const struct row *row, enum column column, const char *wanted)
{
    struct text out = TEXT_INIT;
    row_format_cell(row, column, &out);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
}

/* Two phases and the closing row. */
static void name(struct row rows[3])
{
    row_set_text(&rows[0], COLUMN_phase, "context");
    row_set_text(&rows[1], COLUMN_phase, "warm_forward");
    row_set_text(&rows[1], COLUMN_pass, "warm");
    row_set_count(&rows[1], COLUMN_repeat, 2);
    row_set_text(&rows[2], COLUMN_phase, "run");
}

static void samples_belong_to_the_phase_of_their_moment(void **state)
{
    (void)state;
    struct row rows[3] = {ROW_INIT, ROW_INIT, ROW_INIT};
    name(rows);
    struct sampler sampler = {.last_ns = 0};
    struct live_state page = {.phase = "context"};
    struct card_sample sample = {.used = reading_of(50)};
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
    sampler_to_rows(&sampler, rows, 3);
    assert_text(&rows[0], COLUMN_device_sampled_peak_bytes, "10");
    assert_text(&rows[0], COLUMN_device_sample_count, "1");
    assert_text(&rows[0], COLUMN_device_sample_gap_ns, "100");
    assert_text(&rows[0], COLUMN_process_sampled_peak_bytes, "");
    assert_text(&rows[1], COLUMN_device_sampled_peak_bytes, "30");
    assert_text(&rows[1], COLUMN_device_sample_count, "2");
    assert_text(&rows[1], COLUMN_device_sample_gap_ns, "400");
    assert_text(&rows[1], COLUMN_process_sampled_peak_bytes, "20");
    assert_text(&rows[2], COLUMN_device_sampled_peak_bytes, "");
    sampler_release(&sampler);

    for (size_t i = 0; i < 3; i++)
        row_release(&rows[i]);
    name(rows);
    sampler = (struct sampler){.last_ns = 0}; /* nobody named a phase: the run has them */
    sampler_take(&sampler, &sample, NULL, 1000);
    sampler_to_rows(&sampler, rows, 3);
    assert_text(&rows[0], COLUMN_device_sample_count, "");
    assert_text(&rows[2], COLUMN_device_sampled_peak_bytes, "20");
    assert_text(&rows[2], COLUMN_device_sample_count, "1");
    assert_text(&rows[2], COLUMN_device_sample_gap_ns, "");
    for (size_t i = 0; i < 3; i++)
        row_release(&rows[i]);
    sampler_release(&sampler);
}

/* What others hold may come and go between two looks; a look that cannot tell says nothing. */
static void the_most_and_the_least_of_others(void **state)
{
    (void)state;
    static const struct reading others[] = {
        {3, true}, {0, false}, {1, true}, {33, true}, {3, true}};
    struct sampler sampler = {.last_ns = 0};
    assert_false(sampler.others_most.known);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        sampler_take(&sampler, &(struct card_sample){.others = others[i]}, NULL, i + 1);
    assert_true(sampler.others_least.known && sampler.others_least.value == 1);
    assert_true(sampler.others_most.known && sampler.others_most.value == 33);
    sampler_release(&sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_belong_to_the_phase_of_their_moment),
        cmocka_unit_test(the_most_and_the_least_of_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
