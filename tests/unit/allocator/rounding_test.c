/* Rounding of requests: the vectors of the specification, lists, refusals. */
#include "harness/allocator/rounding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

static uint64_t rounded(const char *divisions, uint64_t bytes)
{
    struct rounding rounding;
    struct text why = TEXT_INIT;
    if (rounding_parse(divisions, &rounding, &why))
        fail_msg("%s: %s", divisions, text_string(&why));
    text_release(&why);
    return rounding_apply(&rounding, bytes);
}

static void rounding_vectors(void **state)
{
    (void)state;
    assert_int_equal(rounded(NULL, 1200), 1536);
    assert_int_equal(rounded("4", 1200), 1536);
    assert_int_equal(rounded("4", 2049), 2560);
    assert_int_equal(rounded("4", 5000), 5120);
    assert_int_equal(rounded("2", 3000000), 3145728);
    assert_int_equal(rounded("4", 3000000), 3145728);
    assert_int_equal(rounded("8", 3000000), 3145728);
    assert_int_equal(rounded("1", 3000000), 3000320);
    assert_int_equal(rounded("8", 700000), 720896);
    assert_int_equal(rounded("8", 1050000), 1179648);
    assert_int_equal(rounded("8", 4194305), 4718592);
    assert_int_equal(rounded("4", 4194304), 4194304);
    assert_int_equal(rounded("9223372036854775808", 3000000), 3000320);
}

/* The first key fills below, later ones set one entry, ">" everything above the last. */
static void rounding_lists(void **state)
{
    (void)state;
    const char *list = "[64:8, 256:4,1024:2,>:1]";
    assert_int_equal(rounded(list, 5 * MIB + 1), 5 * MIB + MIB / 2);
    assert_int_equal(rounded(list, 65 * MIB), 72 * MIB);
    assert_int_equal(rounded(list, 129 * MIB + 1), 129 * MIB + 512);
    assert_int_equal(rounded(list, 257 * MIB), 320 * MIB);
    assert_int_equal(rounded(list, 1025 * MIB), 1536 * MIB);
    assert_int_equal(rounded(list, 2049 * MIB), 2049 * MIB);
    assert_int_equal(rounded("[1:2,>:4]", 40000 * MIB), 40960 * MIB);
    assert_int_equal(rounded("[65536:2]", 40000 * MIB), 49152 * MIB);
}

static void rounding_refusals(void **state)
{
    (void)state;
    static const char *const bad[] = {"3",       "-1",       "[",        "[]",        "[64:8",
                                      "[64]",    "[:8]",     "[64:3]",   "[63:8]",    "[>:4]",
                                      "[64:8,]", "[64:8,,]", "[64:8]x",  "[64:>]",    "x",
                                      "[64::8]", "[0:8]",    "[64:8:4]", "[64:8,>:]", " 4"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rounding rounding = {{77}};
        struct text why = TEXT_INIT;
        if (rounding_parse(bad[i], &rounding, &why) != -1)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_true(why.length > 0);
        assert_int_equal(rounding.divisions[0], 77);
        text_release(&why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_vectors),
        cmocka_unit_test(rounding_lists),
        cmocka_unit_test(rounding_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
