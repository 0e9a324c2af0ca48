#include "harness/base/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

typedef int (*parser)(const char *, uint64_t *, struct text *);

static void assert_parses(parser parse, const char *string, uint64_t wanted)
{
    uint64_t value = 42;
    struct text why = TEXT_INIT;
    int failed = parse(string, &value, &why);
    if (failed)
        print_error("%s: %s\n", string, text_string(&why));
    assert_int_equal(failed, 0);
    assert_true(value == wanted);
    assert_int_equal(why.length, 0);
    text_release(&why);
}

/* Refused, nothing stored, one line of valid UTF-8 that holds `word`. */
static void assert_refuses(parser parse, const char *string, const char *word)
{
    uint64_t value = 42;
    struct text why = TEXT_INIT;
    text_add(&why, "before: ");
    if (parse(string, &value, &why) != -1)
        fail_msg("\"%s\" was taken as %llu", string, (unsigned long long)value);
    assert_true(value == 42);
    assert_true(text_starts_with(text_string(&why), "before: "));
    assert_true(text_is_utf8(why.data, why.length));
    assert_null(strchr(text_string(&why), '\n'));
    if (strstr(text_string(&why), word) == NULL)
        fail_msg("\"%s\" is not in: %s", word, text_string(&why));
    text_release(&why);
}

/* Everything that some tool somewhere takes for another number. */
static const char *const no_number[] = {"-1",
                                        "+8",
                                        "08",
                                        "010",
                                        "00",
                                        "0x10",
                                        "1e3",
                                        "1,024",
                                        "1_024",
                                        "4k",
                                        "8 GiB",
                                        "8junk",
                                        "",
                                        " 8",
                                        "8 ",
                                        "8\n",
                                        "\t8",
                                        "18446744073709551616",
                                        "99999999999999999999",
                                        "28446744073709551615",
                                        "\xef\xbc\x94",
                                        "8\xc2\xa0",
                                        "\xe2\x88\x9e",
                                        "nan",
                                        "NaN",
                                        "inf",
                                        "0b1",
                                        "0o7",
                                        "1'000",
                                        "8;",
                                        "8#",
                                        "8 ; c",
                                        "8 # comment",
                                        "--8",
                                        "1-",
                                        "1/2",
                                        "\xff",
                                        "4K",
                                        "1G",
                                        "8gib",
                                        "8GIB",
                                        "8Gib",
                                        "8KB",
                                        "8mb",
                                        "8PiB",
                                        "8BB",
                                        "8B ",
                                        NULL};

static void counts(void **state)
{
    (void)state;
    assert_parses(parse_count, "0", 0);
    assert_parses(parse_count, "8", 8);
    assert_parses(parse_count, "9223372036854775808", 9223372036854775808ull);
    assert_parses(parse_count, "18446744073709551615", UINT64_MAX);
    for (size_t i = 0; no_number[i] != NULL; i++)
        assert_refuses(parse_count, no_number[i], "");
    assert_refuses(parse_count, "1.0", "whole number");
    assert_refuses(parse_count, "8B", "whole number");
    assert_refuses(parse_count, "", "missing");
    assert_refuses(parse_count, "-1", "sign");
    assert_refuses(parse_count, "010", "leading zero");
    assert_refuses(parse_count, "18446744073709551616", "too large");
    assert_refuses(parse_count, "8\xc2\xa0", "8\xc2\xa0");
    assert_refuses(parse_count, "8\xff", "\\xff");
}

static void sizes(void **state)
{
    (void)state;
    assert_parses(parse_size, "0", 0);
    assert_parses(parse_size, "8", 8);
    assert_parses(parse_size, "8B", 8);
    assert_parses(parse_size, "8kB", 8000);
    assert_parses(parse_size, "8MB", 8000000);
    assert_parses(parse_size, "8GB", 8000000000);
    assert_parses(parse_size, "8TB", 8000000000000);
    assert_parses(parse_size, "8KiB", 8192);
    assert_parses(parse_size, "8MiB", 8388608);
    assert_parses(parse_size, "8GiB", 8589934592);
    assert_parses(parse_size, "8TiB", 8796093022208);
    assert_parses(parse_size, "16777215TiB", 16777215ull << 40);
    assert_refuses(parse_size, "16777216TiB", "too large");
    assert_refuses(parse_size, "18446744073709551615kB", "too large");
    for (size_t i = 0; no_number[i] != NULL; i++)
        assert_refuses(parse_size, no_number[i], "");
    assert_refuses(parse_size, "8 GiB", "blank");
    assert_refuses(parse_size, "4k", "KiB");
    assert_refuses(parse_size, "8s", "unknown unit");
}

static void sizes_with_decimals(void **state)
{
    (void)state;
    assert_parses(parse_size, "1.0", 1);
    assert_parses(parse_size, "44.5GiB", 47781511168);
    assert_parses(parse_size, "44.50GiB", 47781511168);
    assert_parses(parse_size, "1.5MB", 1500000);
    assert_parses(parse_size, "0.001kB", 1);
    assert_parses(parse_size, "1.000000000001TB", 1000000000001);
    /* 2^-40, all of its digits, which no integer type holds at once */
    assert_parses(parse_size, "0.0000000000009094947017729282379150390625TiB", 1);
    assert_parses(parse_size, "16777215.9999999999990905052982270717620849609375TiB",
                  UINT64_MAX);
    assert_refuses(parse_size, "16777215.99999999999909050529822707176208496093751TiB",
                   "too large");
    assert_refuses(parse_size, "18446744073709551615.5", "too large");
    assert_refuses(parse_size, "16777216.5TiB", "too large");
    assert_refuses(parse_size, "44.3GiB",
                   "\"44.3GiB\" is not a whole number of bytes: more than 47566762803, less "
                   "than 47566762804");
    assert_refuses(parse_size, "1.5", "more than 1, less than 2; \"1.5GiB\"?");
    assert_refuses(parse_size, "0.0000000000000000000000000000000000000000001TiB",
                   "more than 0, less than 1");
    assert_refuses(parse_size, "44.GiB", "no digit behind its point");
    assert_refuses(parse_size, ".5GiB", "begins with a digit");
    assert_refuses(parse_size, "44,5GiB", "unknown unit");
    assert_refuses(parse_size, "1.5.5GiB", "unknown unit");
    assert_refuses(parse_size, "1.5e3", "unknown unit");
    assert_refuses(parse_size, "1.5 GiB", "blank");
    assert_refuses(parse_size, "1.-5GiB", "no digit");
}

static void capacities(void **state)
{
    (void)state;
    assert_parses(parse_capacity, "1MiB", CAPACITY_LEAST);
    assert_parses(parse_capacity, "1048576", CAPACITY_LEAST);
    assert_parses(parse_capacity, "44.5GiB", 47781511168);
    assert_refuses(parse_capacity, "24", "\"24\" is 24 bytes, and a capacity at least 1MiB; "
                                         "\"24GiB\"?");
    assert_refuses(parse_capacity, "1", "is 1 byte, and");
    assert_refuses(parse_capacity, "24B", "\"24GiB\"?");
    assert_refuses(parse_capacity, "24KiB", "is 24576 bytes, and a capacity at least 1MiB");
    assert_refuses(parse_capacity, "81559", "\"81559MiB\"?");
    assert_refuses(parse_capacity, "1048575", "at least 1MiB");
    assert_refuses(parse_capacity, "0.5MB", "is 500000 bytes, and a capacity at least 1MiB");
    assert_refuses(parse_capacity, "0", "is 0 bytes, and a capacity at least 1MiB");
    assert_refuses(parse_capacity, "44.5", "not a whole number of bytes");
    assert_refuses(parse_capacity, "8 GiB", "blank");
    assert_refuses(parse_capacity, "", "missing");
}

static void durations(void **state)
{
    (void)state;
    assert_parses(parse_duration, "0s", 0);
    assert_parses(parse_duration, "250ms", 250000000);
    assert_parses(parse_duration, "600s", 600000000000);
    assert_parses(parse_duration, "10m", 600000000000);
    assert_parses(parse_duration, "5124095h", 5124095ull * 3600000000000ull);
    assert_refuses(parse_duration, "5124096h", "too large");
    assert_refuses(parse_duration, "600", "no unit");
    assert_refuses(parse_duration, "600 s", "blank");
    assert_refuses(parse_duration, "1.5h", "unknown unit");
    assert_refuses(parse_duration, "1us", "unknown unit");
    assert_refuses(parse_duration, "1S", "unknown unit");
    assert_refuses(parse_duration, "1min", "unknown unit");
    assert_refuses(parse_duration, "1h30m", "unknown unit");
    assert_refuses(parse_duration, "-1s", "sign");
    assert_refuses(parse_duration, "01s", "leading zero");
    assert_refuses(parse_duration, "s", "digit");
}

static void reals(void **state)
{
    (void)state;
    static const struct {
        const char *string;
        double value;
    } good[] = {{"0", 0}, {"0.5", 0.5}, {"12.25", 12.25}, {"100", 100}, {"0.0", 0}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = -1;
        struct text why = TEXT_INIT;
        assert_int_equal(parse_real(good[i].string, &value, &why), 0);
        assert_true(value == good[i].value);
        text_release(&why);
    }
    char huge[500];
    memset(huge, '9', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    const char *const bad[] = {"",      ".",    ".5",    "5.",  "-1",   "+1",   "1e3",
                               "0x1p3", "nan",  "inf",   "1,5", "1.5.", "1.5 ", " 1.5",
                               "01.5",  "1.5x", "1_0.5", "٣",   huge,   NULL};
    for (size_t i = 0; bad[i] != NULL; i++) {
        double value = -1;
        struct text why = TEXT_INIT;
        if (parse_real(bad[i], &value, &why) != -1)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_true(value == -1);
        assert_true(why.length > 0);
        text_release(&why);
    }
}

static void checked_arithmetic(void **state)
{
    (void)state;
    uint64_t out = 42;
    assert_int_equal(multiply_checked(UINT64_MAX, 2, &out), -1);
    assert_int_equal(add_checked(UINT64_MAX, 1, &out), -1);
    assert_true(out == 42);
    assert_int_equal(multiply_checked(1ull << 32, (1ull << 32) - 1, &out), 0);
    assert_true(out == (1ull << 32) * ((1ull << 32) - 1));
    assert_int_equal(add_checked(UINT64_MAX - 1, 1, &out), 0);
    assert_true(out == UINT64_MAX);
}

static void assert_shown(void (*add)(struct text *, uint64_t), uint64_t value,
                         const char *wanted)
{
    struct text out = TEXT_INIT;
    add(&out, value);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
}

static void bytes_for_people(void **state)
{
    (void)state;
    assert_shown(text_add_gb, 14000000000, "14.00 GB");
    assert_shown(text_add_gib, 14000000000, "13.04 GiB");
    assert_shown(text_add_gib, 14000000000 + (4ull << 30), "17.04 GiB");
    assert_shown(text_add_gib, 0, "0.00 GiB");
    assert_shown(text_add_gib, 1ull << 30, "1.00 GiB");
    assert_shown(text_add_gib, (1ull << 30) - 1, "1.00 GiB");
    assert_shown(text_add_gb, 4999999, "0.00 GB");
    assert_shown(text_add_gb, 5000000, "0.01 GB");
    assert_shown(text_add_gb, UINT64_MAX, "18446744073.71 GB");
    assert_shown(text_add_gib, UINT64_MAX, "17179869184.00 GiB");
}

static void bytes_in_tables(void **state)
{
    (void)state;
    struct text out = TEXT_INIT;
    assert_shown(text_add_size, 79456894976, "79456894976 bytes = 79.46 GB = 74.00 GiB");
    text_add_peak_heading(&out, "allocated peak");
    text_add_char(&out, '\n');
    text_add_peak(&out, ">=", reading_of(149384372224));
    text_add_char(&out, '\n');
    text_add_peak(&out, "", reading_of(0));
    text_add_char(&out, '\n');
    text_add_peak(&out, ">=", reading_missing());
    text_add_char(&out, '\n');
    text_add_bytes_cell(&out, "", reading_of(149384372224));
    text_add_bytes_cell(&out, ">=", reading_missing());
    assert_string_equal(text_string(&out), "  allocated peak      GiB\n"
                                           "  >=149384372224 >=139.13\n"
                                           "               0     0.00\n"
                                           "               —        —\n"
                                           "    149384372224               —");
    text_release(&out);
}

static void durations_for_people(void **state)
{
    (void)state;
    const uint64_t ms = 1000000, s = 1000 * ms;
    assert_shown(text_add_duration, 0, "0 ms");
    assert_shown(text_add_duration, 45 * ms, "45 ms");
    assert_shown(text_add_duration, 999 * ms + 499999, "999 ms");
    assert_shown(text_add_duration, 999 * ms + 500000, "1.0 s");
    assert_shown(text_add_duration, 12345 * ms, "12.3 s");
    assert_shown(text_add_duration, 59 * s + 949 * ms, "59.9 s");
    assert_shown(text_add_duration, 59 * s + 950 * ms, "1 min 00 s");
    assert_shown(text_add_duration, 185 * s, "3 min 05 s");
    assert_shown(text_add_duration, 3599 * s + 499 * ms, "59 min 59 s");
    assert_shown(text_add_duration, 3599 * s + 500 * ms, "1 h 00 min");
    assert_shown(text_add_duration, 3720 * s, "1 h 02 min");
    assert_shown(text_add_duration, 360000 * s, "100 h 00 min");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),
        cmocka_unit_test(sizes),
        cmocka_unit_test(sizes_with_decimals),
        cmocka_unit_test(capacities),
        cmocka_unit_test(durations),
        cmocka_unit_test(reals),
        cmocka_unit_test(checked_arithmetic),
        cmocka_unit_test(bytes_for_people),
        cmocka_unit_test(bytes_in_tables),
        cmocka_unit_test(durations_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
