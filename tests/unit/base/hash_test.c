#include "harness/base/file.h"
#include "harness/base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* Test vectors of the authors: draft-eastlake-fnv, "FNV-1a". */
static void published(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        uint32_t narrow;
        uint64_t wide;
    } known[] = {{"", 0x811c9dc5, UINT64_C(0xcbf29ce484222325)},
                 {"a", 0xe40c292c, UINT64_C(0xaf63dc4c8601ec8c)},
                 {"foobar", 0xbf9cf968, UINT64_C(0x85944171f73967e8)}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i].bytes);
        assert_true(hash_add(HASH_START, known[i].bytes, length) == known[i].wide);
        assert_true(hash32_add(HASH32_START, known[i].bytes, length) == known[i].narrow);
    }
}

static void in_pieces(void **state)
{
    (void)state;
    assert_true(hash_add(hash_add(HASH_START, "foo", 3), "bar", 3) ==
                hash_add(HASH_START, "foobar", 6));
    assert_true(hash32_add(hash32_add(HASH32_START, "foo", 3), "bar", 3) ==
                hash32_add(HASH32_START, "foobar", 6));
    assert_true(hash_add(HASH_START, NULL, 0) == HASH_START);
}

static void of_a_file(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    uint64_t hash = hash_add(HASH_START, "foo", 3);
    unlink("hash_test.bytes");
    assert_int_equal(file_create("hash_test.bytes", "bar", 3, &why), 0);
    assert_int_equal(file_hash("hash_test.bytes", &hash, &why), 0);
    assert_true(hash == hash_add(HASH_START, "foobar", 6));
    unlink("hash_test.bytes");
    assert_int_equal(file_hash("hash_test.bytes", &hash, &why), -1);
    assert_string_equal(text_string(&why),
                        "cannot open hash_test.bytes: No such file or directory");
    assert_true(hash == hash_add(HASH_START, "foobar", 6));
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published), cmocka_unit_test(in_pieces),
                                       cmocka_unit_test(of_a_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
