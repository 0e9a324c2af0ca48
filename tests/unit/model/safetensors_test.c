/* Weight files: headers of every size, offsets and shapes that lie, indexes that disagree. */
#include "harness/model/safetensors.h"
#include "harness/base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/highwater-safetensors-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    struct text why = TEXT_INIT;
    int result = folder_remove(folder, &why);
    (void)state;
    text_release(&why);
    return result;
}

static const char *in_folder(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_bytes(const char *name, const void *bytes, size_t length)
{
    struct text why = TEXT_INIT;
    assert_int_equal(file_replace(in_folder(name), bytes, length, &why), 0);
    text_release(&why);
}

/* A file whose stated length is that of the header, with `data` zeros behind it. */
static void write_header(const char *name, const char *header, size_t length, size_t data)
{
    char *bytes = xcalloc(1, 8 + length + data);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(length >> 8 * i & 255);
    memcpy(bytes + 8, header, length);
    write_bytes(name, bytes, 8 + length + data);
    free(bytes);
}

static void refuses_file(const char *name, const char *reason)
{
    struct safetensors set;
    struct text why = TEXT_INIT;
    assert_int_equal(safetensors_open_file(in_folder(name), &set, &why), -1);
    if (!strstr(text_string(&why), reason))
        print_error("'%s' lacks '%s'\n", text_string(&why), reason);
    assert_non_null(strstr(text_string(&why), reason));
    assert_non_null(strstr(text_string(&why), name));
    text_release(&why);
}

static void refuses(const char *header, size_t data, const char *reason)
{
    write_header("bad.safetensors", header, strlen(header), data);
    refuses_file("bad.safetensors", reason);
}

static struct safetensors opened(const char *name)
{
    struct safetensors set = {0};
    struct text why = TEXT_INIT;
    int result = safetensors_open_file(in_folder(name), &set, &why);
    if (result != 0)
        print_error("%s\n", text_string(&why));
    assert_int_equal(result, 0);
    text_release(&why);
    return set;
}

/* --- the header ----------------------------------------------------------------------- */

static void lengths_are_compared_with_the_file(void **state)
{
    (void)state;
    write_bytes("bad", "\377\377\377\377\377\377\377\177", 8);
    refuses_file("bad", "claims 9223372036854775807 bytes, after its length the file has 0");
    write_bytes("bad", "\11\0\0\0\0\0\0\0{}      ", 16);
    refuses_file("bad", "claims 9 bytes, after its length the file has 8");
    write_bytes("bad", "\0\0\0\0\0\0\0\0", 8);
    refuses_file("bad", "does not begin with '{'");
    write_bytes("bad", "\2\0\0\0\0\0\0\0{}", 10);
    refuses_file("bad", "no weights found");
    write_bytes("bad", "\1\0\0\0", 4);
    refuses_file("bad", "too few");
    write_bytes("bad", "", 0);
    refuses_file("bad", "too few");
    refuses("{\"__metadata__\": {\"format\": \"pt\"}}", 0, "no weights found");
    refuses("{\"a\": ", 0, "header:");
    refuses("[]", 0, "does not begin");
    refuses(" {}", 0, "does not begin");
}

/* A sparse file makes the claim true: the limit refuses it before anything is allocated. */
static void a_huge_header_is_refused(void **state)
{
    (void)state;
    write_bytes("huge", "\1\341\365\5\0\0\0\0{", 9); /* 100,000,001 */
    assert_int_equal(truncate(in_folder("huge"), 200000000), 0);
    refuses_file("huge", "100000001 bytes are above the limit of 100000000");
}

static void headers_of_every_size_read_the_same(void **state)
{
    static const size_t sizes[] = {63, 64, 4088, 4096, 65528, 65536, 99994, 100000};
    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *header = xmalloc(sizes[i]);
        static const char start[] =
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
        memset(header, ' ', sizes[i]);
        assert_true(strlen(start) <= sizes[i]);
        memcpy(header, start, strlen(start));
        write_header("padded", header, sizes[i], 8);
        struct safetensors set = opened("padded");
        assert_int_equal(set.tensor_count, 1);
        assert_int_equal(set.tensors[0].offset, 8 + sizes[i]);
        assert_int_equal(set.bytes, 8);
        safetensors_release(&set);
        free(header);
    }
}

/* --- tensors that lie ----------------------------------------------------------------- */

#define ENTRY(dtype, shape, offsets)                                                           \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static void lies_are_named(void **state)
{
    (void)state;
    refuses("{\"t.w\":" ENTRY("F32", "[2,3]", "[0,20]") "}", 20,
            "tensor 't.w': shape [2, 3] of F32 is 24 bytes, its offsets hold 20");
    refuses("{\"t.w\":" ENTRY("F32", "[1]", "[8,4]") "}", 8,
            "'t.w': its offsets run backwards");
    refuses("{\"a\":" ENTRY("F32", "[2]", "[0,8]") ",\"b\":" ENTRY("F32", "[2]", "[4,12]") "}",
            12, "'b': overlaps");
    refuses("{\"a\":" ENTRY("F32", "[2]", "[0,8]") ",\"b\":" ENTRY("F32", "[2]", "[0,8]") "}",
            8, "overlaps");
    refuses("{\"a\":" ENTRY("F32", "[2]", "[0,8]") ",\"b\":" ENTRY("F32", "[1]", "[12,16]") "}",
            16, "'b': a gap lies before");
    refuses("{\"a\":" ENTRY("F32", "[1]", "[4,8]") "}", 8, "'a': a gap lies before");
    refuses("{\"a\":" ENTRY("F32", "[2]", "[0,8]") "}", 9, "1 bytes after the last tensor");
    refuses("{\"a\":" ENTRY("F32", "[2]", "[0,8]") "}", 7,
            "'a': truncated: it ends at byte 8 of the data, the file has 7");
    refuses("{\"a\":" ENTRY("F32", "[4294967296,4294967296,2]", "[0,8]") "}", 8,
            "'a': its shape overflows");
    refuses("{\"a\":" ENTRY("F64", "[2305843009213693952]", "[0,0]") "}", 0,
            "'a': its size overflows");
    refuses("{\"a\":" ENTRY("F4", "[2]", "[0,1]") "}", 1, "'a': unknown dtype 'F4'");
    refuses("{\"a\":" ENTRY("F32", "[-1]", "[0,4]") "}", 4, "'a': a dimension is not a count");
    refuses("{\"a\":" ENTRY("F32", "[1.5]", "[0,4]") "}", 4, "'a': a dimension is not a count");
    refuses("{\"a\":" ENTRY("F32", "[1]", "[0,4,8]") "}", 4, "'a': no data_offsets of two");
    refuses("{\"a\":" ENTRY("F32", "[1]", "[0,-4]") "}", 4, "'a': no data_offsets of two");
    refuses("{\"a\":" ENTRY("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") "}", 4, "more than 8");
    refuses("{\"a\":7}", 0, "'a': its entry is not an object");
    refuses("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "'a': no dtype");
    refuses("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "'a': no shape");
    refuses("{\"a\":" ENTRY("F32", "[1]", "[0,4]") ",\"a\":" ENTRY("F32", "[1]", "[4,8]") "}",
            8, "header:"); /* the same name twice */
    refuses("{\"a\\u0000b\":" ENTRY("F32", "[1]", "[0,4]") "}", 4, "header:");
}

static void a_long_name_is_cut_in_messages(void **state)
{
    size_t length = 1 << 20;
    char *header = xmalloc(length + 128);
    struct safetensors set;
    struct text why = TEXT_INIT;
    (void)state;
    memset(header, 'n', length + 2);
    memcpy(header, "{\"", 2);
    strcpy(header + 2 + length, "\":" ENTRY("F4", "[1]", "[0,4]") "}");
    write_header("long", header, strlen(header), 4);
    assert_int_equal(safetensors_open_file(in_folder("long"), &set, &why), -1);
    assert_true(why.length < 500);
    text_release(&why);
    free(header);
}

static void scalars_and_nothing_are_legal(void **state)
{
    static const char header[] = "{\"none\":" ENTRY(
        "F32", "[0,4294967296,4294967296]",
        "[4,4]") ","
                 "\"scalar\":" ENTRY("F32", "[]", "[0,4]") ",\"last\":" ENTRY("BF16", "[3]",
                                                                              "[4,10]") "}";
    (void)state;
    write_header("odd", header, strlen(header), 10);
    struct safetensors set = opened("odd");
    const struct safetensors_tensor *none = safetensors_find(&set, "none");
    const struct safetensors_tensor *scalar = safetensors_find(&set, "scalar");
    assert_int_equal(set.bytes, 10);
    assert_int_equal(none->elements, 0);
    assert_int_equal(none->bytes, 0);
    assert_int_equal(scalar->elements, 1);
    assert_int_equal(scalar->rank, 0);
    assert_null(safetensors_find(&set, "absent"));
    safetensors_release(&set);
}

/* --- numbers -------------------------------------------------------------------------- */

static void numbers_are_read_by_range(void **state)
{
    static const char header[] = "{\"h\":" ENTRY("F16", "[6]", "[0,12]") ",\"b\":" ENTRY(
        "BF16", "[2]", "[12,16]") ",\"i\":" ENTRY("I32", "[1]", "[16,20]") "}";
    static const uint16_t data[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x83ff,
                                    0x7c00, 0x3f80, 0xc049, 7,      0};
    static const float halves[] = {1, -2, 0x1p-24f, 65504, -0x1.ff8p-15f, INFINITY};
    char file[8 + sizeof(header) - 1 + sizeof(data)] = {(char)(sizeof(header) - 1)};
    struct text why = TEXT_INIT;
    float out[6] = {0};
    (void)state;
    memcpy(file + 8, header, sizeof(header) - 1);
    memcpy(file + 8 + sizeof(header) - 1, data, sizeof(data));
    write_bytes("numbers", file, sizeof(file));
    struct safetensors set = opened("numbers");
    const struct safetensors_tensor *h = safetensors_find(&set, "h");
    const struct safetensors_tensor *b = safetensors_find(&set, "b");
    assert_int_equal(safetensors_read_float(&set, h, 0, 6, out, &why), 0);
    assert_memory_equal(out, halves, sizeof(halves));
    assert_int_equal(safetensors_read_float(&set, h, 3, 2, out, &why), 0);
    assert_true(out[0] == 65504 && out[1] == -0x1.ff8p-15f);
    assert_int_equal(safetensors_read_float(&set, b, 1, 1, out, &why), 0);
    assert_true(out[0] == -3.140625f);
    uint16_t raw[2];
    assert_int_equal(safetensors_read(&set, b, 0, 2, raw, &why), 0);
    assert_true(raw[0] == 0x3f80 && raw[1] == 0xc049);
    assert_int_equal(safetensors_read(&set, b, 1, 2, raw, &why), -1);
    assert_int_equal(safetensors_read(&set, b, UINT64_MAX, 2, raw, &why), -1);
    text_clear(&why);
    const struct safetensors_tensor *i = safetensors_find(&set, "i");
    assert_int_equal(safetensors_read_float(&set, i, 0, 1, out, &why), -1);
    assert_non_null(strstr(text_string(&why), "dtype I32 cannot be computed with"));
    assert_int_equal(truncate(in_folder("numbers"), (off_t)sizeof(file) - 6), 0);
    text_clear(&why);
    assert_int_equal(safetensors_read(&set, b, 0, 2, raw, &why), -1);
    assert_non_null(strstr(text_string(&why), "became shorter"));
    text_release(&why);
    safetensors_release(&set);
}

/* --- shards --------------------------------------------------------------------------- */

static void write_shard(const char *name, const char *tensor, const char *another)
{
    char header[512];
    int length = snprintf(
        header, sizeof(header),
        "{\"%s\":" ENTRY("F32", "[2]", "[0,8]") ",\"%s\":" ENTRY("F32", "[1]", "[8,12]") "}",
        tensor, another);
    write_header(name, header, (size_t)length, 12);
}

static void write_index(const char *map, uint64_t total)
{
    struct text text = TEXT_INIT;
    text_addf(&text, "{\"metadata\":{\"total_size\":%" PRIu64 "},\"weight_map\":{%s}}", total,
              map);
    write_bytes("model.safetensors.index.json", text.data, text.length);
    text_release(&text);
}

/* Opens the folder; its issues must hold each text. */
static void has_issues(bool complete, const char *const *texts)
{
    struct safetensors set;
    struct text why = TEXT_INIT;
    int result = safetensors_open_folder(folder, &set, &why);
    if (result != 0)
        print_error("%s\n", text_string(&why));
    assert_int_equal(result, 0);
    assert_int_equal(set.complete, complete);
    assert_int_equal(set.issues.length == 0, texts[0] == NULL);
    for (; *texts; texts++) {
        if (!strstr(text_string(&set.issues), *texts))
            print_error("'%s' lacks '%s'\n", text_string(&set.issues), *texts);
        assert_non_null(strstr(text_string(&set.issues), *texts));
    }
    safetensors_release(&set);
    text_release(&why);
}
#define HAS_ISSUES(complete, ...) has_issues(complete, (const char *const[]){__VA_ARGS__, NULL})

#define TWO "\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\",\"d\":\"s2\""
static void shards_are_read_once(void **state)
{
    (void)state;
    write_shard("s1", "a", "b");
    write_shard("s2", "c", "d");
    write_shard("model.safetensors", "a", "stray"); /* beside an index: not read */
    write_index(TWO, 24);
    HAS_ISSUES(true, "model.safetensors lies beside the index and is not read");
    struct safetensors set;
    struct text why = TEXT_INIT;
    assert_int_equal(safetensors_open_folder(folder, &set, &why), 0);
    assert_int_equal(set.bytes, 24);
    assert_int_equal(set.tensor_count, 4);
    assert_int_equal(set.file_count, 2);
    safetensors_release(&set);
    text_release(&why);
    assert_int_equal(unlink(in_folder("model.safetensors")), 0);
    HAS_ISSUES(true, NULL);
}

static void disagreements_are_all_listed(void **state)
{
    (void)state;
    write_index(TWO, 27);
    HAS_ISSUES(true, "model.safetensors.index.json: its total_size is 27 bytes, the shards "
                     "hold 24");
    static const char wordy[] =
        "{\"metadata\":{\"total_size\":\"24\"},\"weight_map\":{" TWO "}}";
    write_bytes("model.safetensors.index.json", wordy, sizeof(wordy) - 1);
    HAS_ISSUES(true, "its total_size is not a count, the shards hold 24");
    write_index("\"a\":\"s1\",\"b\":\"s1\",\"c\":\"s2\"", 24);
    HAS_ISSUES(true, "tensor 'd' is not in the index but in");
    write_index(TWO ",\"e\":\"s2\",\"f\":\"s1\"", 24);
    HAS_ISSUES(false, "tensor 'e' is indexed but not in 's2'",
               "tensor 'f' is indexed but not in 's1'");
    write_index(TWO ",\"x\":\"s3\"", 24);
    HAS_ISSUES(false, "shard 's3' is missing", "tensor 'x' is missing with shard 's3'");
    write_index("\"a\":\"s2\",\"b\":\"s1\",\"c\":\"s2\",\"d\":\"s2\"", 24);
    HAS_ISSUES(false, "tensor 'a' lies in another shard than 's2'");
    write_shard("s2", "c", "a");
    write_index(TWO, 24);
    HAS_ISSUES(false, "tensor 'a' lies again in", "tensor 'd' is indexed but not in 's2'",
               "the shards hold 20");
}

static void refuses_folder(const char *reason)
{
    struct safetensors set;
    struct text why = TEXT_INIT;
    assert_int_equal(safetensors_open_folder(folder, &set, &why), -1);
    if (!strstr(text_string(&why), reason))
        print_error("'%s' lacks '%s'\n", text_string(&why), reason);
    assert_non_null(strstr(text_string(&why), reason));
    text_release(&why);
}

static void paths_stay_in_the_folder(void **state)
{
    static const char *const leaving[] = {"../other/x", "/etc/passwd", "a/../../x", "..", ""};
    (void)state;
    for (size_t i = 0; i < sizeof(leaving) / sizeof(leaving[0]); i++) {
        char map[64];
        snprintf(map, sizeof(map), "\"a\":\"%s\"", leaving[i]);
        write_index(map, 8);
        refuses_folder("its shard lies outside the folder");
    }
    write_index("\"a\":7", 8);
    refuses_folder("names no shard");
    write_bytes("model.safetensors.index.json", "{\"weight_map\":[]}", 17);
    refuses_folder("no weight_map");
    write_bytes("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"s1\",", 25);
    refuses_folder("model.safetensors.index.json:");
    assert_int_equal(unlink(in_folder("model.safetensors.index.json")), 0);
    refuses_folder("neither model.safetensors nor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_compared_with_the_file),
        cmocka_unit_test(a_huge_header_is_refused),
        cmocka_unit_test(headers_of_every_size_read_the_same),
        cmocka_unit_test(lies_are_named),
        cmocka_unit_test(a_long_name_is_cut_in_messages),
        cmocka_unit_test(scalars_and_nothing_are_legal),
        cmocka_unit_test(numbers_are_read_by_range),
        cmocka_unit_test(shards_are_read_once),
        cmocka_unit_test(disagreements_are_all_listed),
        cmocka_unit_test(paths_stay_in_the_folder),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
