/* The reference arithmetic, against slow sums in float64: it is what the GPU is compared to. */
#include "kernels/host/convert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Half the distance of two neighbours, relative: what one rounding may cost. */
static const double rounding[DTYPES] = {0x1p-24, 0x1p-11, 0x1p-8};

static struct array new_array(enum dtype dtype, uint64_t count)
{
    return (struct array){.address = (uint64_t)(uintptr_t)calloc(count, dtype_bytes(dtype)),
                          .dtype = dtype};
}

static void free_array(struct array array)
{
    free((void *)(uintptr_t)array.address);
}

static struct array normal(enum dtype dtype, uint32_t tensor, uint64_t rows, uint64_t features)
{
    struct array array = new_array(dtype, rows * features);
    struct fill fill = {.seed = 7,
                        .tensor = tensor,
                        .rows = rows,
                        .positions = 1,
                        .features = features,
                        .scale = 1};
    assert_int_equal(ops_host.fill_normal(NULL, array, &fill), OUTCOME_OK);
    return array;
}

static double at(struct array array, uint64_t index)
{
    float value;
    host_load(array, index, 1, &value);
    return (double)value;
}

static void check_product(enum dtype dtype, uint64_t rows, uint64_t in, uint64_t out,
                          bool biased)
{
    struct product product = {.x = normal(dtype, 1, rows, in),
                              .w = normal(dtype, 2, out, in),
                              .y = new_array(dtype, rows * out),
                              .rows = rows,
                              .in = in,
                              .out = out};
    struct array bias = normal(dtype, 3, 1, out);
    if (biased)
        product.bias = bias;
    assert_int_equal(ops_host.multiply(NULL, &product), OUTCOME_OK);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t o = 0; o < out; o++) {
            double sum = biased ? at(bias, o) : 0, size = fabs(sum);
            for (uint64_t i = 0; i < in; i++) {
                double term = at(product.x, r * in + i) * at(product.w, o * in + i);
                sum += term, size += fabs(term);
            }
            double allowed = size * 32 * 0x1p-24 + fabs(sum) * rounding[dtype];
            assert_true(fabs(at(product.y, r * out + o) - sum) <= allowed);
        }
    free_array(product.x), free_array(product.w), free_array(product.y), free_array(bias);
}

static void multiplies_odd_sizes(void **state)
{
    static const uint64_t sizes[] = {1, 3, 17, 129};
    (void)state;
    for (int dtype = 0; dtype < DTYPES; dtype++)
        for (size_t i = 0; i < 4; i++)
            for (size_t o = 0; o < 4; o++)
                check_product((enum dtype)dtype, sizes[(i + o) % 4], sizes[i], sizes[o],
                              (i + o) % 2);
}

static void multiplies_wide_and_long(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        check_product((enum dtype)dtype, 2, 1000, 37, true);
        check_product((enum dtype)dtype, 65, 257, 18, false); /* just over a tile */
    }
}

static void gelu_is_exact(void **state)
{
    enum { ROWS = 65, WIDE = 1000 };
    (void)state;
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        struct array x = normal((enum dtype)dtype, 1, ROWS, WIDE);
        struct array before = normal((enum dtype)dtype, 1, ROWS, WIDE);
        struct array bias = normal((enum dtype)dtype, 2, 1, WIDE);
        assert_int_equal(ops_host.bias_gelu(NULL, x, bias, ROWS, WIDE), OUTCOME_OK);
        for (uint64_t i = 0; i < ROWS * WIDE; i++) {
            double v = at(before, i) + at(bias, i % WIDE);
            double y = 0.5 * v * (1 + erf(v * sqrt(0.5)));
            assert_true(fabs(at(x, i) - y) <=
                        fabs(v) * 0x1p-21 + fabs(y) * rounding[dtype] + 0x1p-25);
        }
        free_array(x), free_array(before), free_array(bias);
    }
}

static void mean_square_is_in_float64(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        struct array x = normal((enum dtype)dtype, 1, 3, 1001);
        double sum = 0, mean;
        for (uint64_t i = 0; i < 3003; i++)
            sum += at(x, i) * at(x, i);
        assert_int_equal(ops_host.mean_square(NULL, x, 3003, &mean), OUTCOME_OK);
        assert_true(fabs(mean - sum / 3003) < 1e-13);
        free_array(x);
    }
}

/* Every value there and back, and every midpoint to the even neighbour. */
static void check_narrow(float (*widen)(uint16_t), uint16_t (*narrow)(float), uint32_t infinite)
{
    for (uint32_t i = 0; i < infinite; i++) {
        uint16_t low = (uint16_t)i, high = (uint16_t)(i + 1);
        double a = (double)widen(low), b = i + 1 == infinite ? 2 * a : (double)widen(high);
        if (i + 1 == infinite) /* the largest: the next one would be as far again */
            b = a + (a - (double)widen((uint16_t)(i - 1)));
        float middle = (float)((a + b) / 2);
        assert_int_equal(narrow(widen(low)), low);
        assert_int_equal(narrow(-widen(low)), low | 0x8000);
        assert_int_equal(narrow(middle), i % 2 ? high : low);
        assert_int_equal(narrow(nextafterf(middle, 0)), low);
        assert_int_equal(narrow(nextafterf(middle, INFINITY)), high);
    }
    assert_int_equal(narrow(INFINITY), infinite);
    assert_true(isinf(widen((uint16_t)infinite)));
    assert_true(isnan(widen(narrow(NAN))));
    assert_true(isnan(widen((uint16_t)(infinite + 1))));
}

static void narrow_types_round_to_even(void **state)
{
    (void)state;
    check_narrow(half_to_float, float_to_half, 0x7C00);
    check_narrow(brain_to_float, float_to_brain, 0x7F80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplies_odd_sizes),
        cmocka_unit_test(multiplies_wide_and_long),
        cmocka_unit_test(gelu_is_exact),
        cmocka_unit_test(mean_square_is_in_float64),
        cmocka_unit_test(narrow_types_round_to_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
