#include "harness/base/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static struct json *parse(const char *string)
{
    struct json *value;
    struct text why = TEXT_INIT;
    if (json_parse(string, strlen(string), &value, &why) != 0)
        fail_msg("%s: %s", string, text_string(&why));
    text_release(&why);
    return value;
}

/* As escapes that read back as they were; what can be seen stays. */
static void writes_nothing_hidden(void **state)
{
    (void)state;
    static const char given[] = "\x1b[2J\x7f\xc2\x9b\u202eü\u200d\ufeff\U000e0041\U0001f600";
    struct json *array = json_make_array();
    struct text out = TEXT_INIT;
    json_append_text(array, given);
    json_append_count(array, UINT64_MAX);
    json_append_text(array, "\u2066");
    json_write(array, &out);
    assert_string_equal(text_string(&out),
                        "[\n  \"\\u001B[2J\\u007f\\u009b\\u202eü\u200d\\ufeff"
                        "\\udb40\\udc41\U0001f600\",\n  18446744073709551615,\n"
                        "  \"\\u2066\"\n]\n");
    json_release(array);
    array = parse("[\"\\u001B[2J\\u007f\\u009b\\u202eü\u200d\\ufeff\\udb40\\udc41"
                  "\U0001f600\"]");
    assert_string_equal(json_text(json_at(array, 0)), given);
    json_release(array);
    text_release(&out);
}

static void writes(void **state)
{
    (void)state;
    struct json *object = json_make_object(), *array = json_make_array();
    json_set_count(object, "zero", 0);
    json_set_count(object, "large", 9007199254740993ull);
    json_set_count(object, "signed", INT64_MAX);
    json_set_count(object, "largest", UINT64_MAX);
    json_set_reading(object, "known", reading_of(14000000000));
    json_set_reading(object, "largest reading", reading_of(1ull << 63));
    json_set_reading(object, "missing", reading_missing());
    json_set_real(object, "real", 0.1);
    json_set_real(object, "nan", NAN);
    json_set_real(object, "inf", INFINITY);
    json_set_flag(object, "yes", true);
    json_set_flag(object, "no", false);
    json_set_text(object, "text", "a \"b\"\n\x02 日本");
    json_set_text(object, "null", NULL);
    json_set_text(object, "invalid", "a\xff");
    json_set_text(object, "mark",
                  "\x01"
                  "7");
    json_append(array, json_make_object());
    json_append_text(array, "a\xff\"");
    json_append_text(array, NULL);
    json_append_count(array, UINT64_MAX);
    json_append_count(array, 90);
    json_set(object, "array", array);
    struct text out = TEXT_INIT;
    json_write(object, &out);
    assert_string_equal(text_string(&out), "{\n"
                                           "  \"zero\": 0,\n"
                                           "  \"large\": 9007199254740993,\n"
                                           "  \"signed\": 9223372036854775807,\n"
                                           "  \"largest\": 18446744073709551615,\n"
                                           "  \"known\": 14000000000,\n"
                                           "  \"largest reading\": 9223372036854775808,\n"
                                           "  \"missing\": null,\n"
                                           "  \"real\": 0.10000000000000001,\n"
                                           "  \"nan\": null,\n"
                                           "  \"inf\": null,\n"
                                           "  \"yes\": true,\n"
                                           "  \"no\": false,\n"
                                           "  \"text\": \"a \\\"b\\\"\\n\\u0002 日本\",\n"
                                           "  \"null\": null,\n"
                                           "  \"invalid\": \"a\\\\xff\",\n"
                                           "  \"mark\": \"\\\\x017\",\n"
                                           "  \"array\": [\n"
                                           "    {},\n"
                                           "    \"a\\\\xff\\\"\",\n"
                                           "    null,\n"
                                           "    18446744073709551615,\n"
                                           "    90\n"
                                           "  ]\n"
                                           "}\n");
    text_release(&out);
    json_release(object);
}

static void reads(void **state)
{
    (void)state;
    struct json *document = parse("{\"b\": [1, 2.5, 32.0, \"7\", true, null, -1, {}],"
                                  " \"a\": 9223372036854775807}");
    const struct json *array = json_get(document, "b");
    uint64_t count = 42;
    double real = 42;
    bool flag = false;
    assert_true(json_is_object(document) && json_is_array(array));
    assert_int_equal(json_length(array), 8);
    assert_int_equal(json_length(document), 2);
    assert_int_equal(json_count(json_at(array, 0), &count), 0);
    assert_true(count == 1);
    assert_int_equal(json_count(json_at(array, 2), &count), 0);
    assert_true(count == 32);
    assert_int_equal(json_count(json_get(document, "a"), &count), 0);
    assert_true(count == INT64_MAX);
    for (size_t i = 0; i < 8; i++)
        if (i != 0 && i != 2)
            assert_int_equal(json_count(json_at(array, i), &count), -1);
    assert_true(count == INT64_MAX);
    assert_int_equal(json_number(json_at(array, 1), &real), 0);
    assert_true(real == 2.5);
    assert_int_equal(json_number(json_at(array, 6), &real), 0);
    assert_true(real == -1);
    assert_int_equal(json_number(json_at(array, 3), &real), -1);
    assert_int_equal(json_flag(json_at(array, 4), &flag), 0);
    assert_true(flag);
    assert_int_equal(json_flag(json_at(array, 0), &flag), -1);
    assert_string_equal(json_text(json_at(array, 3)), "7");
    assert_null(json_text(json_at(array, 0)));
    assert_true(json_is_null(json_at(array, 5)));
    assert_null(json_get(document, "c"));
    assert_null(json_at(array, 8));
    /* nothing asked of nothing is nothing */
    assert_null(json_get(NULL, "x"));
    assert_int_equal(json_length(NULL), 0);
    assert_int_equal(json_count(NULL, &count), -1);
    assert_int_equal(json_number(NULL, &real), -1);
    assert_int_equal(json_flag(NULL, &flag), -1);
    assert_null(json_text(NULL));
    assert_false(json_is_null(NULL));
    json_release(document);
}

static void walks_in_document_order(void **state)
{
    (void)state;
    struct json *document = parse("{\"z\": 1, \"a\": 2, \"m\": 3}");
    struct text seen = TEXT_INIT;
    const char *key = NULL;
    const struct json *value;
    while (json_next(document, &key, &value)) {
        uint64_t count = 0;
        assert_int_equal(json_count(value, &count), 0);
        text_addf(&seen, "%s%llu", key, (unsigned long long)count);
    }
    assert_string_equal(text_string(&seen), "z1a2m3");
    text_release(&seen);
    json_release(document);
    document = parse("[]");
    key = NULL;
    assert_false(json_next(document, &key, &value));
    json_release(document);
}

static void refuses(void **state)
{
    (void)state;
    static const struct {
        const char *document, *place;
    } bad[] = {
        {"", "line 1"},
        {"{\"a\": 1,}", "line 1, column"},
        {"{\n\"a\": 1\n\"b\"", "line 3"},
        {"{\"a\": 1, \"a\": 2}", "line 1"},
        {"{\"a\": 18446744073709551616}", "line 1"},
        {"{\"a\": \"\xff\"}", "line 1"},
        {"{\"a\": NaN}", "line 1"},
        {"{} {}", "line 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct json *value = NULL;
        struct text why = TEXT_INIT;
        if (json_parse(bad[i].document, strlen(bad[i].document), &value, &why) != -1)
            fail_msg("%s was taken", bad[i].document);
        assert_null(value);
        if (strstr(text_string(&why), bad[i].place) == NULL)
            fail_msg("no place in: %s", text_string(&why));
        text_release(&why);
    }
    char deep[10000];
    memset(deep, '[', sizeof deep);
    struct json *value;
    struct text why = TEXT_INIT;
    assert_int_equal(json_parse(deep, sizeof deep, &value, &why), -1);
    text_release(&why);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static const double reals[] = {0.1, 1e300, -5e-324, 1.0 / 3};
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        struct json *object = json_make_object();
        struct text out = TEXT_INIT;
        double back = 0;
        json_set_real(object, "r", reals[i]);
        json_write(object, &out);
        json_release(object);
        object = parse(text_string(&out));
        assert_int_equal(json_number(json_get(object, "r"), &back), 0);
        assert_true(back == reals[i]);
        json_release(object);
        text_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes),  cmocka_unit_test(writes_nothing_hidden),
        cmocka_unit_test(reads),   cmocka_unit_test(walks_in_document_order),
        cmocka_unit_test(refuses), cmocka_unit_test(what_is_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
