#include "harness/base/option.h"

#include "harness/base/reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct target {
    uint64_t count, size, duration, later_count, later_time;
    struct reading maybe, maybe_time;
    double real;
    bool flag, later_flag;
    int choice, later_choice;
    char *text;
};

static const char *const colours[] = {"red", "green", "blue", NULL};

#define AT(field) offsetof(struct target, field)
static const struct option table[] = {
    {.name = "batch_rows",
     .type = OPTION_COUNT,
     .offset = AT(count),
     .minimum = 1,
     .maximum = 4096,
     .fallback = "2",
     .help = "rows at once"},
    {.name = "capacity",
     .type = OPTION_SIZE,
     .offset = AT(size),
     .minimum = 1024,
     .help = "bytes of the device"},
    {.name = "limit",
     .type = OPTION_MAYBE_SIZE,
     .offset = AT(maybe),
     .fallback = "",
     .help = "most bytes"},
    {.name = "timeout",
     .type = OPTION_DURATION,
     .offset = AT(duration),
     .minimum = 1000000000,
     .maximum = 3600000000000,
     .fallback = "600s",
     .help = "per run"},
    {.name = "grace",
     .type = OPTION_MAYBE_DURATION,
     .offset = AT(maybe_time),
     .fallback = "",
     .help = "before the kill"},
    {.name = "threshold",
     .type = OPTION_REAL,
     .offset = AT(real),
     .fallback = "0.8",
     .help = "share"},
    {.name = "allow_root",
     .type = OPTION_FLAG,
     .offset = AT(flag),
     .fallback = "no",
     .help = "run as root"},
    {.name = "colour",
     .type = OPTION_CHOICE,
     .offset = AT(choice),
     .choices = colours,
     .fallback = "green",
     .help = "of the card"},
    {.name = "question",
     .type = OPTION_TEXT,
     .offset = AT(text),
     .fallback = "why?",
     .help = "what is asked"},
    {.name = "later_count",
     .type = OPTION_COUNT,
     .offset = AT(later_count),
     .fallback = "1",
     .help = "times",
     .not_yet = "needs the second issue"},
    {.name = "later_time",
     .type = OPTION_DURATION,
     .offset = AT(later_time),
     .fallback = "60s",
     .help = "time",
     .not_yet = ""},
    {.name = "later_flag",
     .type = OPTION_FLAG,
     .offset = AT(later_flag),
     .fallback = "no",
     .help = "flag",
     .not_yet = ""},
    {.name = "later_choice",
     .type = OPTION_CHOICE,
     .offset = AT(later_choice),
     .choices = colours,
     .fallback = "red",
     .help = "colour",
     .not_yet = ""},
    {.name = NULL},
};

static const struct option *find(const char *name)
{
    const struct option *option = option_find(table, name);
    assert_non_null(option);
    return option;
}

static void assert_set(struct target *target, const char *name, const char *value,
                       const char *formatted)
{
    struct text why = TEXT_INIT, out = TEXT_INIT;
    if (option_set(find(name), target, value, &why) != 0)
        fail_msg("%s", text_string(&why));
    option_format(find(name), target, &out);
    assert_string_equal(text_string(&out), formatted);
    text_release(&why);
    text_release(&out);
}

/* Refused, the target untouched, and the reason holds both words. */
static void assert_refused(struct target *target, const char *name, const char *value,
                           const char *word, const char *other)
{
    struct target before;
    struct text why = TEXT_INIT;
    memcpy(&before, target, sizeof before);
    if (option_set(find(name), target, value, &why) != -1)
        fail_msg("%s = %s was taken", name, value);
    assert_memory_equal(&before, target, sizeof before);
    const char *reason = text_string(&why);
    if (!text_starts_with(reason, name) || strstr(reason, word) == NULL ||
        strstr(reason, other) == NULL)
        fail_msg("not in it: \"%s\", \"%s\": %s", word, other, reason);
    assert_null(strchr(reason, '\n'));
    text_release(&why);
}

static void defaults(void **state)
{
    (void)state;
    struct target target;
    memset(&target, 0x5a, sizeof target);
    option_defaults(table, &target);
    assert_true(target.count == 2);
    assert_true(target.size == 0); /* must be given */
    assert_false(target.maybe.known);
    assert_true(target.duration == 600000000000);
    assert_false(target.maybe_time.known);
    assert_true(target.real == 0.8);
    assert_false(target.flag);
    assert_int_equal(target.choice, 1);
    assert_string_equal(target.text, "why?");
    option_release(table, &target);
    assert_null(target.text);
    option_release(table, &target);
}

static void values(void **state)
{
    (void)state;
    struct target target;
    memset(&target, 0, sizeof target);
    option_defaults(table, &target);
    assert_set(&target, "batch_rows", "4096", "4096");
    assert_set(&target, "batch-rows", "1", "1");
    assert_true(target.count == 1);
    assert_set(&target, "capacity", "8GiB", "8589934592");
    assert_true(target.size == 8589934592);
    assert_set(&target, "limit", "4kB", "4000");
    assert_true(target.maybe.known);
    assert_set(&target, "limit", "", "");
    assert_false(target.maybe.known);
    assert_set(&target, "timeout", "60m", "1h");
    assert_set(&target, "timeout", "90s", "90s");
    assert_set(&target, "timeout", "1500ms", "1500ms");
    assert_set(&target, "grace", "120s", "2m");
    assert_true(target.maybe_time.known && target.maybe_time.value == 120000000000);
    assert_set(&target, "threshold", "0.1", "0.1");
    assert_set(&target, "threshold", "100", "100");
    assert_set(&target, "threshold", "0.30000000000000004", "0.30000000000000004");
    assert_set(&target, "threshold", "0.000000000000000000001", "0.000000000000000000001");
    assert_set(&target, "allow-root", "yes", "yes");
    assert_set(&target, "allow_root", "no", "no");
    assert_set(&target, "allow_root", NULL, "yes");
    assert_set(&target, "colour", "blue", "blue");
    assert_int_equal(target.choice, 2);
    assert_set(&target, "question", "a=b; c", "a=b; c");
    assert_set(&target, "question", "", "");
    option_release(table, &target);
}

static void refusals(void **state)
{
    (void)state;
    struct target target;
    memset(&target, 0, sizeof target);
    option_defaults(table, &target);
    assert_refused(&target, "batch_rows", "0", "\"0\"", "1 to 4096");
    assert_refused(&target, "batch_rows", "4097", "\"4097\"", "1 to 4096");
    assert_refused(&target, "batch_rows", "1.0", "\"1.0\"", "digits");
    assert_refused(&target, "batch_rows", "-1", "\"-1\"", "sign");
    assert_refused(&target, "batch_rows", "1\n2", "1\\n2", "");
    assert_refused(&target, "capacity", "1023", "out of range", "at least 1024");
    assert_refused(&target, "limit", "8 GiB", "limit", "blank");
    assert_refused(&target, "timeout", "0s", "1s to 1h", "");
    assert_refused(&target, "timeout", "600", "no unit", "ms");
    assert_refused(&target, "threshold", "1e3", "1e3", "exponent");
    assert_refused(&target, "allow_root", "true", "true", "yes nor no");
    assert_refused(&target, "allow_root", "", "\"\"", "yes nor no");
    assert_refused(&target, "colour", "gren", "red, green, blue", "did you mean \"green\"");
    assert_refused(&target, "colour", "", "red, green, blue", "");
    assert_refused(&target, "colour", "Green", "red, green, blue", "did you mean \"green\"");
    assert_refused(&target, "question", "\xff", "\\xff", "UTF-8");
    assert_refused(&target, "question", NULL, "missing", "");
    assert_string_equal(target.text, "why?");
    option_release(table, &target);
}

static void reserved_for_later(void **state)
{
    (void)state;
    struct target target;
    memset(&target, 0, sizeof target);
    option_defaults(table, &target);
    assert_set(&target, "later_count", "1", "1");
    assert_set(&target, "later_time", "60s", "1m");
    assert_set(&target, "later_time", "1m", "1m"); /* the default in another unit */
    assert_set(&target, "later_flag", "no", "no");
    assert_refused(&target, "later_count", "2", "not yet", "needs the second issue");
    assert_refused(&target, "later_time", "61s", "not yet", "\"61s\"");
    assert_refused(&target, "later_flag", "yes", "not yet", "");
    assert_refused(&target, "later_flag", NULL, "not yet", "");
    assert_refused(&target, "later_choice", "blue", "not yet", "only \"red\"");
    assert_refused(&target, "later_choice", "blu", "did you mean", "blue");
    option_release(table, &target);
}

static void names(void **state)
{
    (void)state;
    static const struct option other[] = {{.name = "output"}, {.name = NULL}};
    const struct option *const tables[] = {other, table, NULL};
    assert_null(option_find(table, "batch"));
    assert_null(option_find(table, ""));
    assert_ptr_equal(option_find(table, "later-choice"), find("later_choice"));
    assert_string_equal(option_nearest(tables, "outptu"), "output");
    assert_string_equal(option_nearest(tables, "alow-root"), "allow_root");
    assert_null(option_nearest(tables, "nothing-like-it"));
}

static void assert_split(const char *word, const char *name, const char *value)
{
    const char *got = NULL;
    char *split = option_split(word, &got);
    assert_int_equal(split == NULL, name == NULL);
    if (name != NULL) {
        assert_string_equal(split, name);
        assert_int_equal(got == NULL, value == NULL);
        assert_string_equal(got ? got : "", value ? value : "");
    }
    free(split);
}

static void words(void **state)
{
    (void)state;
    assert_split("--output=a=b", "output", "a=b");
    assert_split("--output=", "output", "");
    assert_split("--output", "output", NULL);
    assert_split("--=x", "", "x");
    assert_split("--", "", NULL);
    assert_split("-o", NULL, NULL);
    assert_split("name=value", NULL, NULL);
}

static void assert_not_taken(const struct option_home *homes, const char *word,
                             const char *reason)
{
    struct text why = TEXT_INIT;
    assert_int_equal(option_take(homes, word, &why), -1);
    assert_string_equal(text_string(&why), reason);
    text_release(&why);
}

static void taken(void **state)
{
    (void)state;
    static const struct option own[] = {{.name = "repeats", .type = OPTION_COUNT},
                                        {.name = "question", .type = OPTION_COUNT},
                                        {.name = NULL}};
    uint64_t first = 0;
    struct target target;
    const struct option_home homes[] = {{own, &first}, {table, &target}, {NULL, NULL}};
    option_defaults(table, &target);
    assert_int_equal(option_take(homes, "--batch-rows=7", NULL), 0);
    assert_int_equal(target.count, 7);
    assert_int_equal(option_take(homes, "--question=3", NULL), 0); /* the first home has it */
    assert_int_equal(first, 3);
    assert_string_equal(target.text, "why?");
    assert_not_taken(homes, "--batch-row=7",
                     "--batch-row: unknown option; did you mean "
                     "--batch_rows?");
    assert_not_taken(homes, "--nothing-like-it=7", "--nothing-like-it: unknown option");
    assert_not_taken(homes, "--allow-root",
                     "--allow-root: not an option of the form --name=value");
    assert_not_taken(homes, "-o=7", "-o=7: not an option of the form --name=value");
    assert_not_taken(homes, "--repeats=x",
                     "repeats: \"x\" is not a number: it begins with a digit 0 to 9");
    option_release(table, &target);
}

static void help(void **state)
{
    (void)state;
    struct text out = TEXT_INIT;
    option_help(table, &out);
    const char *wanted[] = {
        "  --batch-rows=N                  rows at once (2)\n",
        "  --capacity=SIZE                 bytes of the device\n",
        "  --timeout=TIME                  per run (600s)\n",
        "  --threshold=X                   share (0.8)\n",
        "  --allow-root                    run as root\n",
        "  --colour=red|green|blue         of the card (green)\n",
        "  --later-flag                    flag [not yet]\n",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (strstr(text_string(&out), wanted[i]) == NULL)
            fail_msg("not in the help: %s\n%s", wanted[i], text_string(&out));
    text_release(&out);
}

static void help_of_keys(void **state)
{
    (void)state;
    static const struct option keys[] = {
        {.name = "from", .type = OPTION_COUNT, .minimum = 1, .maximum = 9, .help = "first"},
        {.name = "step", .type = OPTION_COUNT, .maximum = 9, .fallback = "1", .help = "step"},
        {.name = "own_name", .type = OPTION_TEXT, .fallback = "", .help = "free"},
        {.name = "later",
         .type = OPTION_FLAG,
         .fallback = "no",
         .help = "flag",
         .not_yet = "-"},
        {.name = NULL}};
    struct text out = TEXT_INIT;
    option_help_keys(keys, &out);
    assert_string_equal(text_string(&out),
                        "  from = N                        first (needed; 1 to 9)\n"
                        "  step = N                        step (1; 0 to 9)\n"
                        "  own_name = TEXT                 free\n"
                        "  later = yes|no                  flag (no) [others not yet]\n");
    text_release(&out);
}

/* The reason is only shown, whatever it is. */
static void reasons_of_not_yet(void **state)
{
    (void)state;
    static const char *const reasons[] = {"", "not yet", "soon"},
                             *const said[] = {"is not yet possible (only \"no\")",
                                              "is not yet possible: not yet (only \"no\")",
                                              "is not yet possible: soon (only \"no\")"};
    for (size_t i = 0; i < 3; i++) {
        const struct option later[] = {{.name = "later",
                                        .type = OPTION_FLAG,
                                        .fallback = "no",
                                        .help = "flag",
                                        .not_yet = reasons[i]},
                                       {.name = NULL}};
        struct text why = TEXT_INIT;
        bool flag = false;
        assert_int_equal(option_set(later, &flag, "yes", &why), -1);
        assert_non_null(strstr(text_string(&why), said[i]));
        text_release(&why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),     cmocka_unit_test(values),
        cmocka_unit_test(refusals),     cmocka_unit_test(reserved_for_later),
        cmocka_unit_test(names),        cmocka_unit_test(help),
        cmocka_unit_test(help_of_keys), cmocka_unit_test(words),
        cmocka_unit_test(taken),        cmocka_unit_test(reasons_of_not_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
