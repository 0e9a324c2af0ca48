#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/model/estimate.h"

static uint64_t weights(uint64_t parameters, uint64_t bits)
{
    struct text why = TEXT_INIT;
    uint64_t bytes = 0;
    assert_int_equal(estimate_weights(parameters, bits, &bytes, &why), 0);
    assert_int_equal(why.length, 0);
    text_release(&why);
    return bytes;
}

static void weights_are_exact(void **state)
{
    (void)state;
    assert_true(weights(7000000000, 16) == 14000000000);
    assert_true(weights(8030261248, 4) == 4015130624);
    assert_true(weights(1, 1) == 1);
    assert_true(weights(3, 4) == 2);
    assert_true(weights(9, 7) == 8);   /* 63 bits */
    assert_true(weights(15, 7) == 14); /* 105 bits: 13 bytes and one bit */
    assert_true(weights(0, 16) == 0);
}

/* parameters x bits passes 64 bits before the bytes do. */
static void weights_pass_through_large_products(void **state)
{
    (void)state;
    assert_true(weights(UINT64_MAX, 8) == UINT64_MAX);
    assert_true(weights(UINT64_C(1) << 62, 16) == UINT64_C(1) << 63);
}

static void kept(uint64_t context, uint64_t window, bool paged, uint64_t tokens)
{
    const struct estimate_cache cache = {.layers = 3,
                                         .kv_heads = 2,
                                         .head_dim = 5,
                                         .context = context,
                                         .window = window,
                                         .paged = paged,
                                         .sequences = 7,
                                         .bits = 16};
    struct text why = TEXT_INIT;
    uint64_t bytes = 0, count = 0;
    assert_int_equal(estimate_kept(&cache, &count, &why), 0);
    assert_true(count == tokens);
    assert_int_equal(estimate_cache(&cache, &bytes, &why), 0);
    assert_true(bytes == 2 * 3 * 2 * 5 * 7 * 2 * tokens);
    text_release(&why);
}

static void layouts_and_windows_decide_what_is_kept(void **state)
{
    (void)state;
    kept(100, 0, false, 100);
    kept(100, 0, true, 112);
    kept(96, 0, true, 96);
    kept(100, 17, false, 17);
    kept(100, 17, true, 32);
    kept(100, 100, false, 100);
    kept(100, 101, false, 100);
    const struct estimate_cache endless = {.context = UINT64_MAX, .paged = true};
    struct text why = TEXT_INIT;
    uint64_t tokens = 17;
    assert_int_equal(estimate_kept(&endless, &tokens, &why), -1);
    assert_true(tokens == 17 && why.length > 0);
    text_release(&why);
}

static void overflow_is_an_error_and_leaves_the_result(void **state)
{
    struct text why = TEXT_INIT;
    uint64_t bytes = 17;
    (void)state;
    assert_int_equal(estimate_weights(UINT64_MAX, 9, &bytes, &why), -1);
    assert_true(bytes == 17);
    assert_true(why.length > 0);
    const struct estimate_cache endless = {.layers = UINT64_C(1) << 40,
                                           .kv_heads = UINT64_C(1) << 20,
                                           .head_dim = 8,
                                           .context = 1,
                                           .sequences = 1,
                                           .bits = 16};
    text_clear(&why);
    assert_int_equal(estimate_cache(&endless, &bytes, &why), -1);
    assert_true(bytes == 17);
    assert_true(why.length > 0);
    text_release(&why);
}

static uint64_t cache(uint64_t kv_heads, uint64_t context, uint64_t sequences, uint64_t bits)
{
    const struct estimate_cache cache = {.layers = 32,
                                         .kv_heads = kv_heads,
                                         .head_dim = 128,
                                         .context = context,
                                         .sequences = sequences,
                                         .bits = bits};
    struct text why = TEXT_INIT;
    uint64_t bytes = 0;
    assert_int_equal(estimate_cache(&cache, &bytes, &why), 0);
    text_release(&why);
    return bytes;
}

static void a_cache_is_counted_by_key_value_heads(void **state)
{
    (void)state;
    assert_true(cache(8, 8192, 1, 16) == 1073741824);
    assert_true(cache(8, 8192, 4, 16) == UINT64_C(4) << 30);
    assert_true(cache(32, 8192, 1, 16) == UINT64_C(4) << 30);
    assert_true(cache(8, 8192, 1, 8) == 536870912);
    assert_true(cache(8, 1, 1, 16) == 131072); /* per token */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_and_windows_decide_what_is_kept),
        cmocka_unit_test(weights_are_exact),
        cmocka_unit_test(weights_pass_through_large_products),
        cmocka_unit_test(overflow_is_an_error_and_leaves_the_result),
        cmocka_unit_test(a_cache_is_counted_by_key_value_heads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
