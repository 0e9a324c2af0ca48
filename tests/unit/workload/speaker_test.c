/* Where a child's phases go: the phase file, or a table for people. */
#include "harness/base/file.h"
#include "harness/workload/speaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct row row_of(const char *phase, enum status status)
{
    struct row row = ROW_INIT;
    row_set_text(&row, COLUMN_phase, phase);
    row_set_status(&row, status);
    row_set_text(&row, COLUMN_error, status == STATUS_ok ? NULL : "no room");
    row_set_count(&row, COLUMN_allocated_peak_bytes, 79456894976);
    return row;
}

static void say(struct speaker *speaker, const char *verb, const char *phase,
                enum status status)
{
    struct row row = row_of(phase, status);
    speaker_line(speaker, verb, &row);
    row_release(&row);
}

static void assert_lines(const char *path, const char *const *verbs)
{
    struct text bytes = TEXT_INIT, why = TEXT_INIT;
    assert_int_equal(file_read(path, 1 << 20, &bytes, &why), 0);
    const char *at = text_string(&bytes);
    for (; *verbs; verbs++) {
        assert_int_equal(strncmp(at, *verbs, strlen(*verbs)), 0);
        at = strchr(at, '\n');
        assert_non_null(at);
        at++;
    }
    assert_string_equal(at, "");
    text_release(&bytes);
    text_release(&why);
}

static void speaks_into_a_file(void **state)
{
    static const char *const lines[] = {"begin\tphase=inputs", "end\tphase=inputs", "bye",
                                        NULL};
    char path[] = "/tmp/highwater-speaker-XXXXXX";
    struct speaker speaker;
    struct text why = TEXT_INIT;
    (void)state;
    int made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    assert_int_equal(speaker_open(&speaker, path, &why), 0);
    say(&speaker, "begin", "inputs", STATUS_ok);
    say(&speaker, "end", "inputs", STATUS_ok);
    speaker_bye(&speaker);
    assert_int_equal(speaker.why.length, 0);
    assert_int_equal(speaker.error.length, 0);
    assert_int_equal(speaker.table.length, 0);
    speaker_close(&speaker);
    assert_lines(path, lines);
    unlink(path);
    assert_int_equal(speaker_open(&speaker, "/dev/null/none", &why), -1);
    assert_non_null(strstr(text_string(&why), "/dev/null/none"));
    text_release(&why);
}

/* A file with a hole in it would be read as a run that it was not. */
static void after_a_lost_line_nothing_is_said(void **state)
{
    static const char *const lines[] = {"begin\tphase=inputs", NULL};
    char path[] = "/tmp/highwater-speaker-XXXXXX";
    struct speaker speaker;
    struct text why = TEXT_INIT;
    (void)state;
    int made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    assert_int_equal(speaker_open(&speaker, path, &why), 0);
    say(&speaker, "begin", "inputs", STATUS_ok);
    int good = dup(speaker.phases), full = open("/dev/full", O_WRONLY);
    assert_true(good >= 0 && full >= 0);
    assert_int_equal(dup2(full, speaker.phases), speaker.phases);
    say(&speaker, "end", "inputs", STATUS_ok);
    assert_true(speaker.why.length > 0);
    char *first = xstrdup(text_string(&speaker.why));
    assert_int_equal(dup2(good, speaker.phases), speaker.phases); /* there is room again */
    say(&speaker, "begin", "cold_forward", STATUS_ok);
    say(&speaker, "fail", "cold_forward", STATUS_oom);
    speaker_bye(&speaker);
    assert_string_equal(text_string(&speaker.why), first);
    assert_string_equal(text_string(&speaker.error), "cold_forward: oom: no room");
    free(first);
    close(good);
    close(full);
    speaker_close(&speaker);
    assert_lines(path, lines);
    unlink(path);
    text_release(&why);
}

static void without_a_file_there_is_a_table(void **state)
{
    struct speaker speaker;
    struct text why = TEXT_INIT;
    (void)state;
    assert_int_equal(speaker_open(&speaker, "", &why), 0);
    say(&speaker, "begin", "inputs", STATUS_ok);
    assert_int_equal(speaker.table.length, 0);
    say(&speaker, "end", "inputs", STATUS_ok);
    say(&speaker, "fail", "cold_forward", STATUS_oom);
    speaker_bye(&speaker);
    const char *table = text_string(&speaker.table);
    assert_string_equal(
        table, "inputs                 ok            79456894976    74.00               —"
               "               —        —               —               —\n"
               "cold_forward           oom         >=79456894976  >=74.00               —"
               "               —        —               —               —\n");
    assert_string_equal(text_string(&speaker.error), "cold_forward: oom: no room");
    speaker_close(&speaker);
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speaks_into_a_file),
        cmocka_unit_test(after_a_lost_line_nothing_is_said),
        cmocka_unit_test(without_a_file_there_is_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
