#include "harness/base/file.h"
#include "harness/base/units.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void assert_escaped(const char *bytes, size_t length, size_t limit, const char *wanted)
{
    struct text out = TEXT_INIT;
    text_add_escaped(&out, bytes, length, limit);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
}

static void grows_and_terminates(void **state)
{
    (void)state;
    struct text text = TEXT_INIT;
    assert_string_equal(text_string(&text), "");
    for (int i = 0; i < 1000; i++) {
        text_addf(&text, "%d,", i);
        assert_int_equal(strlen(text_string(&text)), text.length);
    }
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
    text_setf(&text, "%s", "new");
    assert_string_equal(text_string(&text), "new");
    text_add_bytes(&text, "a\0b", 3);
    assert_int_equal(text.length, 6);
    assert_memory_equal(text.data, "newa\0b", 7);
    char *taken = text_detach(&text);
    assert_null(text.data);
    assert_string_equal(taken, "newa");
    free(taken);
    taken = text_detach(&text);
    assert_string_equal(taken, "");
    free(taken);
    text_clear(&text);
    text_release(&text);
}

static void escapes_controls(void **state)
{
    (void)state;
    assert_escaped("a\nb\rc\td\0e\\", 10, 0, "a\\nb\\rc\\td\\0e\\\\");
    assert_escaped("\x01\x1b[31m\x7f", 7, 0, "\\x01\\x1b[31m\\x7f");
    assert_escaped("\0"
                   "1",
                   2, 0, "\\01");
    assert_escaped("gr\xc3\xbc\xc3\x9f 日本 😀", 18, 0, "gr\xc3\xbc\xc3\x9f 日本 😀");
    /* a C1 control and the line separators of Unicode */
    assert_escaped("\xc2\x9b"
                   "2J",
                   4, 0, "\\xc2\\x9b2J");
    assert_escaped("\xe2\x80\xa8", 3, 0, "\\xe2\\x80\\xa8");
    assert_escaped("\xc2\xa0", 2, 0, "\xc2\xa0");
}

/* The first and last of every range, and what stands beside them. */
static void hides_what_cannot_be_seen(void **state)
{
    (void)state;
    static const char *const hidden[] = {
        "\xc2\x80", "\xc2\x9f", "\u00ad", "\u061c",     "\u180e",     "\u200b",
        "\u200e",   "\u200f",   "\u2028", "\u202a",     "\u202e",     "\u2060",
        "\u2066",   "\u2069",   "\u206f", "\ufeff",     "\ufff9",     "\ufffb",
        "\x1b",     "\x7f",     "\r",     "\U000e0001", "\U000e007f", NULL};
    static const char *const seen[] = {
        "\u00a0", "\u00ac", "\u00ae", "\u061b", "\u200c", "\u200d",     "\u2010",     "\u2027",
        "\u202f", "\u205f", "\u2070", "\ufefe", "\ufffc", "\U000e0080", "\U0001f600", NULL};
    for (size_t i = 0; hidden[i] != NULL; i++) {
        struct text escaped = TEXT_INIT, shown = TEXT_INIT, back = TEXT_INIT;
        uint32_t character = 0;
        size_t length = strlen(hidden[i]);
        text_add_escaped(&escaped, hidden[i], length, 0);
        text_add_shown(&shown, hidden[i], length);
        assert_int_equal(escaped.data[0], '\\');
        assert_string_equal(escaped.data, shown.data);
        assert_int_equal(strspn(escaped.data, "\\xrabcdef0123456789"), escaped.length);
        assert_int_equal(text_add_unescaped(&back, escaped.data, escaped.length), 0);
        assert_string_equal(back.data, hidden[i]);
        assert_false(text_is_shown(hidden[i], length));
        assert_int_equal(text_hidden(hidden[i], length, &character), length);
        text_release(&escaped);
        text_release(&shown);
        text_release(&back);
    }
    for (size_t i = 0; seen[i] != NULL; i++) {
        uint32_t character;
        assert_escaped(seen[i], strlen(seen[i]), 0, seen[i]);
        assert_true(text_is_shown(seen[i], strlen(seen[i])));
        assert_int_equal(text_hidden(seen[i], strlen(seen[i]), &character), 0);
    }
}

static void shows_lines_as_they_are(void **state)
{
    (void)state;
    static const char given[] = "a\\x41\n\tb\x1b]0;t\x07\n\u202e\xff—\0end\n";
    struct text out = TEXT_INIT;
    uint32_t character = 0;
    text_add_shown(&out, given, sizeof given - 1);
    assert_string_equal(text_string(&out), "a\\x41\n\\tb\\x1b]0;t\\x07\n"
                                           "\\xe2\\x80\\xae\\xff—\\0end\n");
    text_clear(&out);
    text_add_shown(&out, given, 0);
    assert_string_equal(text_string(&out), "");
    assert_true(text_is_shown("a\tb\\c", 5));
    assert_false(text_is_shown("a\nb", 3));
    assert_false(text_is_shown("a\xff", 2));
    assert_int_equal(text_hidden("\U000e0001", 4, &character), 4);
    assert_int_equal(character, 0xe0001);
    assert_int_equal(text_hidden("\u202e", 2, &character), 0); /* cut off */
    assert_int_equal(text_hidden("", 0, &character), 0);
    text_release(&out);
}

static void escapes_invalid_utf8(void **state)
{
    (void)state;
    assert_escaped("\xff", 1, 0, "\\xff");
    assert_escaped("\xc0\x80", 2, 0, "\\xc0\\x80");          /* overlong */
    assert_escaped("\xe0\x80\x80", 3, 0, "\\xe0\\x80\\x80"); /* overlong */
    assert_escaped("\xed\xa0\x80", 3, 0, "\\xed\\xa0\\x80"); /* surrogate */
    assert_escaped("\xf4\x90\x80\x80", 4, 0, "\\xf4\\x90\\x80\\x80");
    assert_escaped("\xc3", 1, 0, "\\xc3"); /* cut off at the end */
    assert_escaped("\xe2\x82", 2, 0, "\\xe2\\x82");
    assert_escaped("\xc3(", 2, 0, "\\xc3(");
    assert_escaped("\xe2\x82(", 3, 0, "\\xe2\\x82(");
    assert_escaped("\xf0\x9f\x98\xff", 4, 0, "\\xf0\\x9f\\x98\\xff");
}

static void every_byte_comes_back(void **state)
{
    (void)state;
    char all[65536 * 2];
    size_t length = 0;
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++) {
            all[length++] = (char)a;
            all[length++] = (char)b;
        }
    struct text escaped = TEXT_INIT, back = TEXT_INIT;
    text_add_escaped(&escaped, all, length, 0);
    assert_true(text_is_utf8(escaped.data, escaped.length));
    for (size_t i = 0; i < escaped.length; i++)
        assert_true((unsigned char)escaped.data[i] >= 0x20 && escaped.data[i] != 0x7f);
    assert_int_equal(text_add_unescaped(&back, escaped.data, escaped.length), 0);
    assert_int_equal(back.length, length);
    assert_memory_equal(back.data, all, length);
    text_release(&escaped);
    text_release(&back);
}

static void unescaping_refuses(void **state)
{
    (void)state;
    static const char *const bad[] = {"\\",   "a\\",   "\\q",   "\\x",
                                      "\\x1", "\\x1g", "\\xg1", NULL};
    struct text out = TEXT_INIT;
    text_add(&out, "before");
    for (size_t i = 0; bad[i] != NULL; i++) {
        assert_int_equal(text_add_unescaped(&out, bad[i], strlen(bad[i])), -1);
        assert_string_equal(text_string(&out), "before");
    }
    text_release(&out);
}

static void limit_keeps_whole_pieces(void **state)
{
    (void)state;
    assert_escaped("aa\n", 3, 3, "aa");
    assert_escaped("aa\n", 3, 4, "aa\\n");
    assert_escaped("a\xff", 2, 4, "a");
    assert_escaped("a\xff", 2, 5, "a\\xff");
    assert_escaped("ab\xc3\xbc", 4, 3, "ab");
    assert_escaped("ab\xc3\xbc", 4, 4, "ab\xc3\xbc");
    /* nothing behind the first piece that does not fit, though it would fit itself */
    assert_escaped("a\nb", 3, 2, "a");
    for (size_t limit = 1; limit < 40; limit++) {
        struct text out = TEXT_INIT, back = TEXT_INIT;
        text_add_escaped(&out, "x\xff\n😀\0y日\\z\t\x01", 16, limit);
        assert_true(out.length <= limit);
        assert_true(text_is_utf8(text_string(&out), out.length));
        assert_int_equal(text_add_unescaped(&back, text_string(&out), out.length), 0);
        assert_memory_equal(text_string(&back), "x\xff\n😀\0y日\\z\t\x01", back.length);
        text_release(&out);
        text_release(&back);
    }
}

static void knows_utf8(void **state)
{
    (void)state;
    assert_true(text_is_utf8("", 0));
    assert_true(text_is_utf8("日本", 6));
    assert_true(text_is_utf8("\xf4\x8f\xbf\xbf", 4));
    assert_true(text_is_utf8("\xed\x9f\xbf\xee\x80\x80", 6));
    assert_false(text_is_utf8("日本", 5));
    assert_false(text_is_utf8("\xf5\x80\x80\x80", 4));
    assert_false(text_is_utf8("a\x80", 2));
}

static void suggests_the_nearest(void **state)
{
    (void)state;
    static const char *const names[] = {"batch",     "context", "allow_root",
                                        "sequences", "width",   NULL};
    assert_string_equal(text_nearest("bathc", names), "batch");
    assert_string_equal(text_nearest("Batch", names), "batch");
    assert_string_equal(text_nearest("contxt", names), "context");
    assert_string_equal(text_nearest("allow-rot", names), "allow_root");
    assert_string_equal(text_nearest("sequence", names), "sequences");
    assert_null(text_nearest("b", names));
    assert_null(text_nearest("", names));
    assert_null(text_nearest("precision", names));
    char longest[5000];
    memset(longest, 'b', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_null(text_nearest(longest, names));
}

static void assert_lines(const char *bytes, size_t length, const char *const *wanted)
{
    struct text text = TEXT_INIT;
    text_add_bytes(&text, bytes, length);
    size_t at = 0, one;
    for (const char *line; (line = text_line(&text, &at, &one)) != NULL; wanted++) {
        assert_non_null(*wanted);
        assert_int_equal(one, strlen(*wanted));
        assert_memory_equal(line, *wanted, one);
    }
    assert_null(*wanted);
    assert_int_equal(at, length);
    text_release(&text);
}

static void gives_its_lines(void **state)
{
    (void)state;
    assert_lines("", 0, (const char *const[]){NULL});
    assert_lines("\n", 1, (const char *const[]){"", NULL});
    assert_lines("a\n\nbc", 5, (const char *const[]){"a", "", "bc", NULL});
    assert_lines("a\r\nb\n", 5, (const char *const[]){"a\r", "b", NULL});
    /* A NUL ends no line. */
    struct text text = TEXT_INIT;
    size_t at = 0, length;
    text_add_bytes(&text, "a\0b\nc", 5);
    assert_memory_equal(text_line(&text, &at, &length), "a\0b", 3);
    assert_int_equal(length, 3);
    assert_memory_equal(text_line(&text, &at, &length), "c", 1);
    assert_null(text_line(&text, &at, &length));
    text_release(&text);
    at = 0;
    assert_null(text_line(&text, &at, &length));
}

/* Whoever wants no reason passes none. */
static void nobody_listens(void **state)
{
    (void)state;
    uint64_t count = 7;
    text_add(NULL, "reason");
    text_add_bytes(NULL, "reason", 6);
    text_add_char(NULL, 'r');
    text_addf(NULL, "%s", "reason");
    text_setf(NULL, "%s", "reason");
    text_add_escaped(NULL, "rea\nson", 7, 4);
    text_add_shown(NULL, "rea\033son", 7);
    text_clear(NULL);
    text_release(NULL);
    assert_int_equal(parse_size("12 x", &count, NULL), -1);
    assert_int_equal(count, 7);
    struct text contents = TEXT_INIT;
    assert_int_equal(file_read("not/there", 0, &contents, NULL), -1);
    assert_int_equal(file_create("not/there", "x", 1, NULL), -1);
    assert_int_equal(contents.length, 0);
}

static void allocates(void **state)
{
    (void)state;
    char *none = xmalloc(0);
    assert_non_null(none);
    free(none);
    unsigned char *zeroes = xcalloc(100, 3);
    for (int i = 0; i < 300; i++)
        assert_int_equal(zeroes[i], 0);
    free(zeroes);
    char *copy = xstrndup("abcdef", 3);
    assert_string_equal(copy, "abc");
    free(copy);
    copy = xstrndup("ab", 30);
    assert_string_equal(copy, "ab");
    free(copy);
    copy = xasprintf("%d-%s", 7, "x");
    assert_string_equal(copy, "7-x");
    free(copy);
    assert_true(text_starts_with("OMPI_COMM", "OMPI_"));
    assert_false(text_starts_with("OM", "OMPI_"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_terminates),
        cmocka_unit_test(escapes_controls),
        cmocka_unit_test(hides_what_cannot_be_seen),
        cmocka_unit_test(shows_lines_as_they_are),
        cmocka_unit_test(escapes_invalid_utf8),
        cmocka_unit_test(every_byte_comes_back),
        cmocka_unit_test(unescaping_refuses),
        cmocka_unit_test(limit_keeps_whole_pieces),
        cmocka_unit_test(knows_utf8),
        cmocka_unit_test(suggests_the_nearest),
        cmocka_unit_test(gives_its_lines),
        cmocka_unit_test(nobody_listens),
        cmocka_unit_test(allocates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
