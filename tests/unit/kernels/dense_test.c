/* dense on the devices of every machine: phases, counters, results. */
#include "kernels/host/convert.h"
#include "tests/unit/recorder.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Sanitized and unoptimised builds are slower. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_PLAIN_BUILD 0
#endif
#endif
#if !defined(IS_PLAIN_BUILD) && (defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__))
#define IS_PLAIN_BUILD 0
#endif
#ifndef IS_PLAIN_BUILD
#define IS_PLAIN_BUILD 1
#endif
#define WORKSPACE ((uint64_t)33554432)

static void has_its_phases_in_order(void **state)
{
    static const char *const phases[] = {"context",      "libraries",    "model_load",
                                         "inputs",       "cold_forward", "warmup",
                                         "warm_forward", "warm_forward"};
    static const char *const passes[] = {NULL, NULL, NULL, NULL, "first", NULL, "warm", "warm"};
    struct setting setting = setting_of(2, 3, 5, 2);
    struct recorder recorder;
    (void)state;
    assert_int_equal(run(&setting, "host", &recorder), STATUS_ok);
    assert_int_equal(recorder.hellos, 1);
    assert_int_equal(recorder.count, 8);
    assert_int_equal(recorder.begins, 8);
    for (size_t i = 0; i < 8; i++) {
        const struct row *row = &recorder.rows[i];
        bool forward = strstr(phases[i], "forward") != NULL;
        assert_string_equal(row_text(row, COLUMN_phase), phases[i]);
        assert_int_equal(row_status(row), STATUS_ok);
        assert_int_equal(row_count(row, COLUMN_repeat).known, i >= 6);
        assert_int_equal(row_count(row, COLUMN_tokens).known, forward || i == 5);
        assert_int_equal(row->cell[COLUMN_result_value].kind == CELL_REAL, forward);
        assert_true(count_of(row, COLUMN_duration_ns) > 0);
        assert_int_equal(row_count(row, COLUMN_processed_batch).known, i >= 3);
        const char *pass = row_text(row, COLUMN_pass);
        assert_true(pass == passes[i] || (pass && passes[i] && !strcmp(pass, passes[i])));
    }
    assert_int_equal(count_of(&recorder.rows[7], COLUMN_repeat), 2);
    assert_int_equal(count_of(&recorder.rows[7], COLUMN_tokens), 2 * 3 * 2);
    assert_int_equal(count_of(&recorder.rows[7], COLUMN_processed_batch), 2);
    assert_int_equal(count_of(&recorder.rows[7], COLUMN_processed_context), 3);
    forget(&recorder);
}

static void says_who_it_is(void **state)
{
    struct setting setting = setting_of(1, 1, 4, 1);
    struct recorder recorder;
    (void)state;
    assert_int_equal(run(&setting, "host", &recorder), STATUS_ok);
    assert_string_equal(row_text(&recorder.hello, COLUMN_evidence), "computed");
    assert_string_equal(row_text(&recorder.hello, COLUMN_framework), "highwater");
    assert_string_equal(row_text(&recorder.hello, COLUMN_compute_backend), "reference");
    assert_string_equal(row_text(&recorder.hello, COLUMN_counter_source), "highwater.caching");
    assert_string_equal(row_text(&recorder.hello, COLUMN_reserved_peak_is), "exact");
    assert_int_equal(count_of(&recorder.hello, COLUMN_device_capacity_bytes),
                     (uint64_t)64 << 30);
    forget(&recorder);
    assert_int_equal(run(&setting, "simulated", &recorder), STATUS_ok);
    assert_string_equal(row_text(&recorder.hello, COLUMN_evidence), "computed");
    assert_null(row_text(&recorder.hello, COLUMN_compute_backend));
    assert_null(row_text(&recorder.hello, COLUMN_device_uuid));
    for (size_t i = 0; i < recorder.count; i++) {
        assert_false(row_count(&recorder.rows[i], COLUMN_device_used_end_bytes).known);
        assert_false(row_count(&recorder.rows[i], COLUMN_duration_ns).known);
        assert_int_equal(recorder.rows[i].cell[COLUMN_result_value].kind, CELL_EMPTY);
    }
    forget(&recorder);
}

/* Weights, all inputs, one hidden activation and one output; written out by hand. */
static void needs_what_arithmetic_says(void **state)
{
    const uint64_t batch = 8, context = 4096, width = 4096, sequences = 3;
    (void)state;
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        uint64_t size = dtype_bytes((enum dtype)dtype), row = batch * context * size;
        uint64_t weights = 8 * width * width * size + 5 * width * size;
        struct setting setting = setting_of(batch, context, width, sequences);
        struct recorder recorder;
        setting.dtype = dtype;
        assert_int_equal(run(&setting, "simulated", &recorder), STATUS_ok);
        const struct row *warm = &recorder.rows[recorder.count - 1];
        assert_int_equal(count_of(warm, COLUMN_peak_weights_bytes), weights);
        assert_int_equal(count_of(warm, COLUMN_peak_inputs_bytes), sequences * row * width);
        assert_int_equal(count_of(warm, COLUMN_peak_activations_bytes), 5 * row * width);
        assert_int_equal(count_of(warm, COLUMN_peak_workspace_bytes), WORKSPACE);
        assert_int_equal(count_of(warm, COLUMN_allocated_peak_bytes),
                         weights + (sequences + 5) * row * width + WORKSPACE);
        assert_int_equal(count_of(warm, COLUMN_allocated_start_bytes),
                         weights + sequences * row * width + WORKSPACE);
        assert_int_equal(count_of(warm, COLUMN_allocated_end_bytes),
                         weights + (sequences + 1) * row * width + WORKSPACE);
        forget(&recorder);
    }
}

/* The goal of the main issue: PyTorch needs 5.94 GB here. */
static void keeps_its_peak_below_the_goal(void **state)
{
    struct setting setting = setting_of(8, 4096, 4096, 1);
    struct recorder recorder;
    (void)state;
    assert_int_equal(run(&setting, "simulated", &recorder), STATUS_ok);
    assert_true(count_of(&recorder.rows[7], COLUMN_allocated_peak_bytes) <= 4300000000);
    forget(&recorder);
}

static void simulated_counts_as_host_does(void **state)
{
    static const uint64_t points[][4] = {{1, 1, 1, 1}, {2, 7, 65, 3}, {3, 128, 96, 2}};
    const char *const allocators[] = {"caching", "direct"};
    (void)state;
    for (size_t i = 0; i < 6 * DTYPES; i++) {
        const uint64_t *p = points[i % 3];
        struct setting setting = setting_of(p[0], p[1], p[2], p[3]);
        struct recorder simulated, host;
        setting.dtype = (int)(i / 6);
        setting.memory.allocator = allocators[i / 3 % 2];
        assert_int_equal(run(&setting, "simulated", &simulated), STATUS_ok);
        assert_int_equal(run(&setting, "host", &host), STATUS_ok);
        assert_int_equal(simulated.count, host.count);
        for (size_t r = 0; r < host.count; r++)
            for (int column = COLUMN_allocated_start_bytes;
                 column <= COLUMN_requested_peak_bytes; column++) {
                struct reading a = row_count(&simulated.rows[r], (enum column)column);
                struct reading b = row_count(&host.rows[r], (enum column)column);
                assert_int_equal(a.known, b.known);
                assert_true(!a.known || a.value == b.value);
            }
        forget(&simulated);
        forget(&host);
    }
}

/* --- the result, worked out again from the formula --------------------------------------- */

static double *values(uint32_t tensor, uint64_t sequence, uint64_t rows, uint64_t positions,
                      uint64_t features, float scale)
{
    uint64_t count = rows * positions * features;
    float *made = malloc(count * sizeof *made);
    double *wide = malloc(count * sizeof *wide);
    struct fill fill = {.seed = 7,
                        .tensor = tensor,
                        .sequence = sequence,
                        .rows = rows,
                        .positions = positions,
                        .features = features,
                        .scale = scale};
    struct array array = {.address = (uint64_t)(uintptr_t)made};
    assert_int_equal(ops_host.fill_normal(NULL, array, &fill), OUTCOME_OK);
    for (uint64_t i = 0; i < count; i++)
        wide[i] = (double)made[i];
    free(made);
    return wide;
}

static double expected(uint64_t batch, uint64_t context, uint64_t width, uint64_t sequence)
{
    uint64_t hidden = 4 * width, rows = batch * context;
    double *x = values(1, sequence, batch, context, width, 1.0f);
    double *w1 = values(2, 0, hidden, 1, width, 0.02f), *b1 = values(3, 0, 1, 1, hidden, 0.02f);
    double *w2 = values(4, 0, width, 1, hidden, 0.02f), *b2 = values(5, 0, 1, 1, width, 0.02f);
    double *h = malloc(hidden * sizeof *h), sum = 0;
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t o = 0; o < hidden; o++) {
            double v = b1[o];
            for (uint64_t i = 0; i < width; i++)
                v += x[r * width + i] * w1[o * width + i];
            h[o] = 0.5 * v * (1 + erf(v * sqrt(0.5)));
        }
        for (uint64_t o = 0; o < width; o++) {
            double v = b2[o];
            for (uint64_t i = 0; i < hidden; i++)
                v += h[i] * w2[o * hidden + i];
            sum += v * v;
        }
    }
    free(x), free(w1), free(b1), free(w2), free(b2), free(h);
    return sum / (double)(rows * width);
}

static void computes_what_it_says(void **state)
{
    static const double allowed[DTYPES] = {1e-5, 5e-3, 3e-2};
    double right = expected(2, 3, 17, 1); /* the last of the two inputs */
    (void)state;
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        struct setting setting = setting_of(2, 3, 17, 2);
        struct recorder recorder;
        setting.dtype = dtype;
        assert_int_equal(run(&setting, "host", &recorder), STATUS_ok);
        for (size_t i = 0; i < recorder.count; i++) {
            const struct row *row = &recorder.rows[i];
            if (row->cell[COLUMN_result_value].kind != CELL_REAL)
                continue;
            assert_string_equal(row_text(row, COLUMN_result_name), "mean_square");
            double got = row->cell[COLUMN_result_value].real;
            assert_true(fabs(got - right) <= allowed[dtype] * right);
        }
        forget(&recorder);
    }
}

static void ignore(void *user, const char *verb, const struct row *row)
{
    (void)user, (void)verb, (void)row;
}

static uint64_t processor_ns(void)
{
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* A plan of 10,000 points must take seconds of processor time. */
static void is_planned_in_no_time(void **state)
{
    struct setting setting = setting_of(8, 4096, 4096, 1);
    struct phase_listener listener = {.line = ignore};
    uint64_t best = UINT64_MAX;
    (void)state;
    setting.warmup = 3, setting.repeats = 5;
    for (int i = 0; i < 200; i++) {
        uint64_t start = processor_ns();
        enum status status = session_run(&setting, backend_find("simulated"), NULL, &listener);
        uint64_t took = processor_ns() - start;
        assert_int_equal(status, STATUS_ok);
        best = took < best ? took : best;
    }
    print_message("one plan of dense: %lu ns\n", (unsigned long)best);
    assert_true(best < (IS_PLAIN_BUILD ? 100000 : 10000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_its_phases_in_order),
        cmocka_unit_test(says_who_it_is),
        cmocka_unit_test(needs_what_arithmetic_says),
        cmocka_unit_test(keeps_its_peak_below_the_goal),
        cmocka_unit_test(simulated_counts_as_host_does),
        cmocka_unit_test(computes_what_it_says),
        cmocka_unit_test(is_planned_in_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
