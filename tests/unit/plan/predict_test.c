/* What each run is predicted to need. */
#include "harness/study/interpret.h"
#include "tests/unit/plan/plan_bed.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Under a sanitizer every so many points will do. */
#if defined __SANITIZE_ADDRESS__
#define SLOWER 20
#elif defined __has_feature
#if __has_feature(address_sanitizer)
#define SLOWER 20
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif
/* --- prediction --- */

static void predict(const struct study *study, struct reading capacity, uint64_t overhead,
                    struct prediction *prediction)
{
    struct text why = TEXT_INIT;
    const struct seat room = {.capacity = capacity, .overhead = overhead};
    if (plan_predict(study, &study->setting.point, study->phases, &room, prediction, &why) != 0)
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

static const struct row *find_row(const struct prediction *prediction, const char *phase,
                                  uint64_t repeat)
{
    for (size_t i = 0; i < prediction->count; i++) {
        const struct row *row = &prediction->rows[i];
        struct reading at = row_count(row, COLUMN_repeat);
        if (strcmp(row_text(row, COLUMN_phase), phase) == 0 &&
            (repeat == 0 ? !at.known : at.known && at.value == repeat))
            return row;
    }
    fail_msg("no row of phase %s", phase);
    return NULL;
}

/* The bytes of dense are known from its definition: parameters, input, hidden, output. */
static void test_prediction_is_the_arithmetic(void **state)
{
    (void)state;
    struct study study;
    struct prediction prediction;
    make_study(HEAD "[sweep batch]\nvalues=1\n", &study);
    predict(&study, study_capacity(&study, 0), 0, &prediction);
    assert_true(prediction.fits);
    assert_int_equal(prediction.count, 8);
    assert_int_equal(prediction.failed_phase.length, 0);
    /* width 64: 4*64*64 floats twice, 256 and 64 biases; all multiples of 512 bytes but one */
    uint64_t weights = 2 * 4 * 64 * 64 * 4 + 256 * 4 + 512;
    uint64_t x = 2 * 128 * 64 * 4, hidden = 4 * x, y = x, workspace = 33554432;
    const struct row *load = find_row(&prediction, "model_load", 0);
    assert_int_equal(number(load, COLUMN_end_weights_bytes), weights);
    const struct row *cold = find_row(&prediction, "cold_forward", 0);
    assert_int_equal(number(cold, COLUMN_allocated_peak_bytes),
                     workspace + weights + x + hidden + y);
    assert_int_equal(number(cold, COLUMN_peak_activations_bytes), hidden + y);
    const struct row *warm = find_row(&prediction, "warm_forward", 2);
    assert_string_equal(row_text(warm, COLUMN_pass), "warm");
    assert_int_equal(number(warm, COLUMN_allocated_peak_bytes),
                     workspace + weights + x + hidden + y);
    for (size_t i = 0; i < prediction.count; i++)
        assert_int_equal(row_status(&prediction.rows[i]), STATUS_ok);
    prediction_release(&prediction);
    study_release(&study);
}

static const enum column all_counters[] = {
    COLUMN_allocated_start_bytes, COLUMN_allocated_peak_bytes, COLUMN_allocated_end_bytes,
    COLUMN_reserved_start_bytes,  COLUMN_reserved_peak_bytes,  COLUMN_reserved_end_bytes,
    COLUMN_requested_peak_bytes,  COLUMN_peak_weights_bytes,   COLUMN_end_weights_bytes,
    COLUMN_device_used_end_bytes, COLUMN_duration_ns,          COLUMN_refused_bytes};

/* At every capacity: phases before the failure as with room, the failing one with what was
 * refused, the later ones there and empty. */
static void predict_at_every_capacity(const char *allocator)
{
    struct study study;
    struct prediction roomy, tight;
    make_study(HEAD "[sweep batch]\nvalues=1\n", &study);
    study.setting.memory.allocator = allocator;
    predict(&study, reading_missing(), 0, &roomy);
    size_t failures = 0;
    bool fitted = false;
    for (uint64_t mib = 1; mib <= 64; mib++) {
        predict(&study, reading_of(mib << 20), 0, &tight);
        assert_int_equal(tight.count, roomy.count);
        assert_true(!fitted || tight.fits); /* more room never fits less here */
        fitted = tight.fits;
        bool failed = false;
        for (size_t i = 0; i < tight.count; i++) {
            const struct row *row = &tight.rows[i];
            assert_string_equal(row_text(row, COLUMN_phase),
                                row_text(&roomy.rows[i], COLUMN_phase));
            if (failed) {
                assert_int_equal(row_status(row), STATUS_not_reached);
                for (size_t k = 0; k < sizeof all_counters / sizeof *all_counters; k++)
                    assert_false(row_count(row, all_counters[k]).known);
            } else if (row_status(row) == STATUS_oom) {
                failed = true;
                failures++;
                assert_string_equal(text_string(&tight.failed_phase),
                                    row_text(row, COLUMN_phase));
                assert_true(number(row, COLUMN_refused_bytes) > 0);
            } else {
                assert_int_equal(row_status(row), STATUS_ok);
                assert_int_equal(number(row, COLUMN_allocated_peak_bytes),
                                 number(&roomy.rows[i], COLUMN_allocated_peak_bytes));
            }
        }
        assert_true(failed == !tight.fits);
        prediction_release(&tight);
    }
    assert_true(roomy.fits && fitted && failures > 10);
    prediction_release(&roomy);
    study_release(&study);
}

static void test_prediction_at_every_capacity(void **state)
{
    (void)state;
    predict_at_every_capacity("caching");
    predict_at_every_capacity("expandable");
    predict_at_every_capacity("async");
    predict_at_every_capacity("direct");
}

static void test_overhead_takes_room(void **state)
{
    (void)state;
    struct study study;
    struct prediction prediction;
    make_study(HEAD "[sweep batch]\nvalues=1\n", &study);
    predict(&study, reading_of(UINT64_C(1) << 30), 0, &prediction);
    assert_true(prediction.fits);
    prediction_release(&prediction);
    predict(&study, reading_of(UINT64_C(1) << 30), (UINT64_C(1) << 30) - (16 << 20),
            &prediction);
    assert_false(prediction.fits);
    prediction_release(&prediction);
    predict(&study, reading_of(UINT64_C(1) << 30), UINT64_C(2) << 30, &prediction);
    assert_false(prediction.fits);
    assert_int_equal(prediction.count, 8);
    assert_string_equal(text_string(&prediction.failed_phase), "context");
    prediction_release(&prediction);
    study_release(&study);
}

/* Of an endless device nothing is said about the device. */
static void test_no_capacity(void **state)
{
    (void)state;
    struct study study;
    struct prediction prediction;
    make_study(HEAD "[sweep batch]\nvalues=1\n", &study);
    study.setting.point.value[DIMENSION_width].value = 1u << 20;
    predict(&study, reading_missing(), 0, &prediction);
    assert_true(prediction.fits);
    for (size_t i = 0; i < prediction.count; i++) {
        assert_false(row_count(&prediction.rows[i], COLUMN_device_capacity_bytes).known);
        assert_false(row_count(&prediction.rows[i], COLUMN_device_used_end_bytes).known);
    }
    prediction_release(&prediction);
    study_release(&study);
}

/* A million requests against a small device end at the first that does not fit. */
static void test_huge_points_end(void **state)
{
    (void)state;
    struct study study;
    struct prediction prediction;
    make_study(HEAD "[sweep batch]\nvalues=1\n", &study);
    study.setting.point.value[DIMENSION_sequences].value = 1000000;
    predict(&study, reading_of(UINT64_C(1) << 30), 0, &prediction);
    assert_false(prediction.fits);
    assert_string_equal(text_string(&prediction.failed_phase), "inputs");
    assert_int_equal(prediction.count, 8);
    prediction_release(&prediction);
    study_release(&study);
}

static void test_ten_thousand_points(void **state)
{
    (void)state;
    struct study study;
    struct plan plan;
    clock_t start = clock();
    const struct seat room = {.capacity = reading_of(UINT64_C(80) << 30)};
    make_plan("[study]\nname=n\nquestion=q\nworkload=dense\n[device]\nbackend=simulated\n"
              "capacity=80GiB\n[sweep batch]\nvalues=1:5000:+1\n[sweep context]\n"
              "values=1:5000:+1\n",
              &study, &plan);
    assert_int_equal(plan.count, 10000);
    size_t fitted = 0;
    for (size_t i = 0; i < plan.count; i += SLOWER) {
        struct prediction prediction;
        struct text why = TEXT_INIT;
        const struct plan_run run = run_of(&plan, i);
        assert_int_equal(
            plan_predict(&study, &run.point, PHASES_SPLIT, &room, &prediction, &why), 0);
        fitted += prediction.fits;
        prediction_release(&prediction);
        text_release(&why);
    }
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("%zu points planned and predicted in %.2f s of one core, %zu fit\n",
                  plan.count / SLOWER, seconds, fitted);
    assert_true(fitted > 5000 / SLOWER && fitted < 10000 / SLOWER);
    assert_true(seconds < 2.0);
    plan_release(&plan);
    study_release(&study);
}

/* The guess is what looking at every value finds. */
static void test_guess_of_a_boundary(void **state)
{
    (void)state;
    struct study study;
    struct text why = TEXT_INIT;
    make_study(HEAD "[sweep batch]\nvalues=1\n", &study);
    for (uint64_t mib = 33; mib < 70; mib += 3) {
        const struct study_boundary boundary = {
            .dimension = DIMENSION_batch, .from = 3, .to = 300, .step = 7};
        const struct seat room = {.capacity = reading_of(mib << 20)}, endless = {0};
        struct reading guess = reading_missing();
        uint64_t largest = 3;
        for (uint64_t value = 3; value <= 300; value += 7) {
            struct prediction prediction;
            struct point point = study.setting.point;
            point.value[DIMENSION_batch] = reading_of(value);
            assert_int_equal(
                plan_predict(&study, &point, PHASES_SPLIT, &room, &prediction, &why), 0);
            largest = prediction.fits ? value : largest;
            prediction_release(&prediction);
        }
        assert_int_equal(plan_guess_boundary(&study, &boundary, &room, &guess, &why), 0);
        assert_int_equal(guess.value, largest);
        assert_int_equal(plan_guess_boundary(&study, &boundary, &endless, &guess, &why), 0);
        assert_false(guess.known);
    }
    study_release(&study);
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prediction_is_the_arithmetic),
        cmocka_unit_test(test_prediction_at_every_capacity),
        cmocka_unit_test(test_overhead_takes_room),
        cmocka_unit_test(test_no_capacity),
        cmocka_unit_test(test_huge_points_end),
        cmocka_unit_test(test_ten_thousand_points),
        cmocka_unit_test(test_guess_of_a_boundary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
