/* Generated values: the generator's published vectors, the normal distribution, and the promise
 * that a smaller tensor is a slice of a larger one. */
#include "kernels/random.h"
#include "kernels/host/convert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

static void gives_the_published_words(void **state)
{
    /* Random123, kat_vectors, philox4x32 with 10 rounds */
    static const struct {
        uint64_t key;
        uint32_t counter[4], word[4];
    } known[] = {
        {0, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX,
         {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t word[4];
        random_words(known[i].key, known[i].counter, word);
        assert_memory_equal(word, known[i].word, sizeof word);
    }
}

/* Newton's correction of x in float64 against the exact distribution tells its error. */
static void is_the_normal_quantile(void **state)
{
    (void)state;
    double worst = 0;
    for (uint64_t word = 0; word < UINT64_C(1) << 32; word += 4099 * 256) {
        double u = ((double)(word >> 8) + 0.5) / 0x1p24;
        double x = (double)random_normal((uint32_t)word);
        double lower = 0.5 * erfc(-x / sqrt(2.0)), upper = 0.5 * erfc(x / sqrt(2.0));
        double off = x < 0 ? lower - u : (1 - u) - upper;
        double error = fabs(off * sqrt(2 * 3.14159265358979) * exp(x * x / 2));
        if (error > worst)
            worst = error;
    }
    assert_true(worst < 2e-6);
}

static void reaches_both_ends_and_is_odd(void **state)
{
    (void)state;
    assert_true(fabs((double)random_normal(0) + 5.41998) < 1e-4);
    for (uint32_t n = 0; n < 1u << 23; n += 977)
        assert_true(random_normal(n << 8) == -random_normal(~(n << 8)));
}

static float *make(struct fill fill, enum dtype dtype)
{
    size_t count = fill.rows * fill.positions * fill.features;
    void *made = malloc(count * dtype_bytes(dtype));
    float *values = malloc(count * sizeof *values);
    struct array array = {.address = (uint64_t)(uintptr_t)made, .dtype = dtype};
    assert_int_equal(ops_host.fill_normal(NULL, array, &fill), OUTCOME_OK);
    host_load(array, 0, count, values);
    free(made);
    return values;
}

static void small_is_a_slice_of_large(void **state)
{
    (void)state;
    struct fill large = {.seed = 7,
                         .tensor = 1,
                         .sequence = 3,
                         .rows = 5,
                         .positions = 9,
                         .features = 34,
                         .scale = 1};
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        float *all = make(large, (enum dtype)dtype);
        for (uint64_t features = 1; features <= 34; features += 11) {
            struct fill small = large;
            small.rows = 2, small.positions = 4, small.features = features;
            float *part = make(small, (enum dtype)dtype);
            for (uint64_t r = 0; r < 2; r++)
                for (uint64_t p = 0; p < 4; p++)
                    assert_memory_equal(part + (r * 4 + p) * features, all + (r * 9 + p) * 34,
                                        features * sizeof *part);
            free(part);
        }
        free(all);
    }
}

/* Changing any one coordinate of the key changes the values. */
static void depends_on_each_coordinate(void **state)
{
    (void)state;
    struct fill base = {.seed = 7,
                        .tensor = 1,
                        .sequence = 3,
                        .rows = 1,
                        .positions = 1,
                        .features = 8,
                        .scale = 1};
    struct fill other[4] = {base, base, base, base};
    other[0].seed = 8, other[1].seed = 7 + (UINT64_C(1) << 32);
    other[2].tensor = 2, other[3].sequence = 4;
    float *x = make(base, DTYPE_float32);
    for (int i = 0; i < 4; i++) {
        float *y = make(other[i], DTYPE_float32);
        for (int j = 0; j < 8; j++)
            assert_true(x[j] != y[j]);
        free(y);
    }
    for (int j = 1; j < 8; j++)
        assert_true(x[0] != x[j]);
    free(x);
}

static void has_mean_deviation_and_tails(void **state)
{
    (void)state;
    struct fill fill = {
        .seed = 1, .tensor = 2, .rows = 100, .positions = 10, .features = 1000, .scale = 0.5f};
    float *x = make(fill, DTYPE_float32);
    double sum = 0, square = 0, fourth = 0;
    for (int i = 0; i < 1000000; i++) {
        double v = (double)x[i];
        sum += v, square += v * v, fourth += v * v * v * v;
    }
    assert_true(fabs(sum / 1e6) < 0.002);
    assert_true(fabs(square / 1e6 - 0.25) < 0.002);
    assert_true(fabs(fourth / square / square * 1e6 - 3) < 0.05);
    free(x);
}

/* The same bytes with every compiler and on every machine; the GPU's test compares to these. */
static void is_the_same_everywhere(void **state)
{
    static const uint64_t known[DTYPES] = {UINT64_C(0xf55711dbbae2c00f),
                                           UINT64_C(0xb906727b1402e555),
                                           UINT64_C(0x5499782d15b37857)};
    (void)state;
    struct fill fill = {.seed = 7,
                        .tensor = 1,
                        .sequence = 2,
                        .rows = 3,
                        .positions = 17,
                        .features = 129,
                        .scale = 0.02f};
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        unsigned char bytes[3 * 17 * 129 * 4];
        size_t length = 3 * 17 * 129 * dtype_bytes((enum dtype)dtype);
        struct array array = {.address = (uint64_t)(uintptr_t)bytes,
                              .dtype = (enum dtype)dtype};
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        assert_int_equal(ops_host.fill_normal(NULL, array, &fill), OUTCOME_OK);
        for (size_t i = 0; i < length; i++)
            hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
        assert_true(hash == known[dtype]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_the_published_words),
        cmocka_unit_test(is_the_normal_quantile),
        cmocka_unit_test(reaches_both_ends_and_is_odd),
        cmocka_unit_test(small_is_a_slice_of_large),
        cmocka_unit_test(depends_on_each_coordinate),
        cmocka_unit_test(has_mean_deviation_and_tails),
        cmocka_unit_test(is_the_same_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
