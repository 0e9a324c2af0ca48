#include "harness/record/table.h"
#include "tests/unit/folder_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void put(const char *path, const char *bytes, size_t length)
{
    struct text why = TEXT_INIT;
    if (file_replace(path, bytes, length, &why) != 0)
        fail_msg("%s", text_string(&why));
}

static int on_record(void *user, char **fields, size_t count, uint64_t line)
{
    text_addf(user, "%llu:", (unsigned long long)line);
    for (size_t i = 0; i < count; i++)
        text_addf(user, "[%s]", fields[i]);
    return count > 0 && strcmp(fields[0], "stop") == 0 ? -1 : 0;
}

static int read_any(const char *bytes, size_t length, const char *wanted, uint64_t *line,
                    struct text *why)
{
    struct text seen = TEXT_INIT;
    put("any.csv", bytes, length);
    int result = csv_read("any.csv", on_record, &seen, line, why);
    assert_string_equal(text_string(&seen), wanted);
    text_release(&seen);
    return result;
}

static void reads_any_table(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    uint64_t line;
#define ANY(string, wanted) read_any(string, sizeof string - 1, wanted, &line, &why)
    assert_int_equal(ANY("", ""), 0);
    assert_int_equal(ANY("a,b\r\n\r\n1, 2 ,\n", "1:[a][b]3:[1][ 2 ][]"), 0);
    assert_int_equal(ANY("a,\"b\nc\"\n\"d\n\n\",e", "1:[a][b\nc]3:[d\n\n][e]"), 0);
    assert_int_equal(ANY("\xef\xbb\xbf"
                         "a\n",
                         "1:[a]"),
                     0);
    assert_int_equal(why.length, 0);
    assert_int_equal(ANY("a\nb\"c\nd\n", "1:[a]"), -1);
    assert_int_equal(line, 2);
    assert_non_null(strstr(text_string(&why), "CSV"));
    text_clear(&why);
    assert_int_equal(ANY("a\n\"b\nc\n", "1:[a]"), -1);
    assert_int_equal(line, 2);
    text_clear(&why);
    assert_int_equal(ANY("a\nb\0c\nd\n", "1:[a]"), -1);
    assert_int_equal(line, 2);
    assert_non_null(strstr(text_string(&why), "NUL"));
    text_clear(&why);
    assert_int_equal(ANY("a\nstop\nb\n", "1:[a]2:[stop]"), -1);
    assert_int_equal(line, 2);
    assert_int_equal(why.length, 0); /* the caller knows why */
#undef ANY
    struct text out = TEXT_INIT;
    csv_add_text(&out, "=a\"b");
    csv_add_text(&out, "");
    csv_add_text(&out, "-\x1b[2J\u202e\\\t");
    csv_add_text(&out, "C:\\a\tb");
    csv_add_count(&out, UINT64_MAX);
    assert_string_equal(text_string(&out), "\"'=a\"\"b\"\"\""
                                           "\"'-\\x1b[2J\\xe2\\x80\\xae\\\\\\t\""
                                           "\"C:\\a\tb\"18446744073709551615");
    text_release(&out);
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_any_table)};
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
