/* What is said of study files: the cases are in tests/golden/study_*.txt, whose notation is
 * told in study_form.txt. Rewritten by: HIGHWATER_REWRITE_GOLDEN=1 study_golden_test */
#include "harness/plan/plan.h"

#include "harness/base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GOOD                                                                                   \
    "[study]\nname = n\nquestion = q?\nworkload = dense\n"                                     \
    "[device]\nbackend = simulated\ncapacity = 80GiB\n"
#define SETS 16

/* \xNN \0 \r \t \\, \R{N}{text}, \c: no newline at the end of this line. */
static void add_bytes(struct text *out, const char *line, size_t length)
{
    const char *end = line + length;
    bool newline = true;
    while (line < end) {
        if (strncmp(line, "@good\n", 6) == 0) {
            text_add_bytes(out, GOOD, strlen(GOOD) - 1);
            line += 5;
        } else if (*line != '\\') {
            text_add_char(out, *line++);
        } else if (line[1] == 'x') {
            const char hex[] = {line[2], line[3], '\0'};
            text_add_char(out, (char)strtoul(hex, NULL, 16));
            line += 4;
        } else if (line[1] == 'R') {
            char *rest;
            unsigned long times = strtoul(line + 3, &rest, 10);
            const char *close = strchr(rest + 2, '}');
            for (unsigned long i = 0; i < times; i++)
                if (rest[2] == '\\')
                    text_add_char(out, '\0');
                else
                    text_add_bytes(out, rest + 2, (size_t)(close - rest) - 2);
            line = close + 1;
        } else {
            static const char names[] = "0rt\\c", bytes[] = "\0\r\t\\";
            const char *name = strchr(names, line[1]);
            assert_non_null(name);
            if (*name == 'c')
                newline = false;
            else
                text_add_char(out, bytes[name - names]);
            line += 2;
        }
    }
    if (newline)
        text_add_char(out, '\n');
}

/* A long text is told by its ends and its length. */
static void add_short(struct text *out, const char *line, size_t length)
{
    if (length <= 160)
        text_add_bytes(out, line, length);
    else
        text_addf(out, "%.60s … %.40s (%zu bytes)", line, line + length - 40, length);
}

/* The lines of the canonical form that a plain study does not have. */
static void add_difference(const struct study *study, struct text *out)
{
    struct text plain_bytes = TEXT_INIT, errors = TEXT_INIT, plain = TEXT_INIT, own = TEXT_INIT;
    struct study base;
    text_add(&plain_bytes, GOOD "[sweep batch]\nvalues=1\n");
    assert_int_equal(study_parse("F", &plain_bytes, NULL, 0, &base, &errors), 0);
    text_add_char(&plain, '\n');
    study_add_canonical(&base, &plain);
    study_add_canonical(study, &own);
    for (const char *line = text_string(&own); *line; line = strchr(line, '\n') + 1) {
        size_t length = strcspn(line, "\n");
        char *wanted = xasprintf("\n%.*s\n", (int)length, line);
        if (!strstr(text_string(&plain), wanted)) {
            text_add(out, "  ");
            add_short(out, line, length);
            text_add_char(out, '\n');
        }
        free(wanted);
    }
    study_release(&base);
    text_release(&plain_bytes);
    text_release(&errors);
    text_release(&plain);
    text_release(&own);
}

static void add_runs(const struct study *study, struct text *out)
{
    struct plan plan;
    struct plan_run run;
    struct text why = TEXT_INIT;
    assert_int_equal(plan_make(study, 1, &plan, &why), 0);
    text_addf(out, "%zu runs:", plan.count);
    for (size_t i = 0; i < plan.count && i < 12; i++) {
        plan_run_at(&plan, i, &run);
        text_addf(out, " %s", run.name);
    }
    text_add(out, plan.count > 12 ? " …\n" : "\n");
    plan_release(&plan);
    text_release(&why);
}

static void check_frozen(const struct study *study)
{
    struct study again;
    struct text errors = TEXT_INIT, first = TEXT_INIT, second = TEXT_INIT;
    assert_int_equal(study_parse("F", &study->frozen, NULL, 0, &again, &errors), 0);
    study_add_canonical(study, &first);
    study_add_canonical(&again, &second);
    assert_string_equal(text_string(&first), text_string(&second));
    assert_string_equal(study->hash, again.hash);
    assert_int_equal(study->frozen.length, again.frozen.length);
    assert_memory_equal(study->frozen.data, again.frozen.data, study->frozen.length);
    study_release(&again);
    text_release(&errors);
    text_release(&first);
    text_release(&second);
}

/* What stands in the results folder of a study with overrides. */
static void add_frozen(const struct study *study, struct text *out)
{
    const char *line = text_string(&study->frozen), *end = line + study->frozen.length;
    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((stop != NULL ? stop : end) - line);
        text_add(out, "  | ");
        text_add_escaped(out, line, length, 160);
        text_add_char(out, '\n');
        line += length + (stop != NULL);
    }
}

static void add_said(const struct text *bytes, const char *const *sets, size_t count,
                     struct text *out)
{
    struct study study;
    struct text errors = TEXT_INIT;
    if (study_parse("FILE", bytes, sets, count, &study, &errors) == 0) {
        assert_int_equal(errors.length, 0);
        check_frozen(&study);
        add_runs(&study, out);
        text_addf(out, "  hash %s\n", study.hash);
        if (count > 0)
            add_frozen(&study, out);
        add_difference(&study, out);
        study_release(&study);
    } else {
        assert_true(errors.length > 0);
        text_add(out, text_string(&errors));
        text_add_char(out, '\n');
    }
    text_release(&errors);
}

struct golden {
    struct text title, source, bytes, wanted;
    char *sets[SETS];
    size_t set_count;
    struct text rewritten; /* the whole file as it should be */
    size_t cases, wrong;
};

static void finish_case(struct golden *golden)
{
    struct text said = TEXT_INIT;
    if (golden->title.length > 0) {
        golden->cases++;
        add_said(&golden->bytes, (const char *const *)golden->sets, golden->set_count, &said);
        if (strcmp(text_string(&said), text_string(&golden->wanted)) != 0) {
            golden->wrong++;
            print_error("%s\n--- wanted\n%s--- said\n%s", text_string(&golden->title),
                        text_string(&golden->wanted), text_string(&said));
        }
        text_addf(&golden->rewritten, "=== %s\n%s--- said\n%s", text_string(&golden->title),
                  text_string(&golden->source), text_string(&said));
    }
    for (size_t i = 0; i < golden->set_count; i++)
        free(golden->sets[i]);
    golden->set_count = 0;
    text_clear(&golden->source);
    text_clear(&golden->bytes);
    text_clear(&golden->wanted);
    text_release(&said);
}

static void take_line(struct golden *golden, const char *line, size_t length, bool *said)
{
    if (text_starts_with(line, "=== ")) {
        finish_case(golden);
        text_clear(&golden->title);
        text_add_bytes(&golden->title, line + 4, length - 4);
        *said = false;
    } else if (golden->title.length == 0) {
        text_add_bytes(&golden->rewritten, line, length + 1);
    } else if (text_starts_with(line, "--- said")) {
        *said = true;
    } else if (*said) {
        text_add_bytes(&golden->wanted, line, length + 1);
    } else if (text_starts_with(line, "--- set ")) {
        assert_true(golden->set_count < SETS);
        golden->sets[golden->set_count++] = xstrndup(line + 8, length - 8);
        text_add_bytes(&golden->source, line, length + 1);
    } else {
        add_bytes(&golden->bytes, line, length);
        text_add_bytes(&golden->source, line, length + 1);
    }
}

static void check_golden(const char *name, size_t at_least)
{
    struct golden golden = {.cases = 0};
    struct text contents = TEXT_INIT, why = TEXT_INIT;
    char *path = xasprintf("%s/tests/golden/%s", TEST_SOURCE, name);
    bool said = false;
    assert_int_equal(file_read(path, 0, &contents, &why), 0);
    for (const char *line = text_string(&contents); *line; line = strchr(line, '\n') + 1)
        take_line(&golden, line, strcspn(line, "\n"), &said);
    finish_case(&golden);
    if (getenv("HIGHWATER_REWRITE_GOLDEN"))
        assert_int_equal(
            file_replace(path, golden.rewritten.data, golden.rewritten.length, &why), 0);
    else
        assert_int_equal(golden.wrong, 0);
    assert_true(golden.cases >= at_least);
    text_release(&golden.title);
    text_release(&golden.source);
    text_release(&golden.bytes);
    text_release(&golden.wanted);
    text_release(&golden.rewritten);
    text_release(&contents);
    text_release(&why);
    free(path);
}

static void test_form(void **state)
{
    (void)state;
    check_golden("study_form.txt", 60);
}

static void test_keys(void **state)
{
    (void)state;
    check_golden("study_keys.txt", 25);
}

static void test_values(void **state)
{
    (void)state;
    check_golden("study_values.txt", 65);
}

static void test_not_yet(void **state)
{
    (void)state;
    check_golden("study_not_yet.txt", 4);
}

static void test_whole_studies(void **state)
{
    (void)state;
    check_golden("study_whole.txt", 14);
}

static void test_overrides(void **state)
{
    (void)state;
    check_golden("study_set.txt", 14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form),      cmocka_unit_test(test_keys),
        cmocka_unit_test(test_values),    cmocka_unit_test(test_not_yet),
        cmocka_unit_test(test_overrides), cmocka_unit_test(test_whole_studies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
