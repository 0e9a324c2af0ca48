#include "harness/record/line.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void fill(struct row *row)
{
    row_set_text(row, COLUMN_phase, "prefill");
    row_set_count(row, COLUMN_repeat, 3);
    row_set_count(row, COLUMN_allocated_peak_bytes, UINT64_MAX);
    row_set_real(row, COLUMN_result_value, -0.1);
    row_set_text(row, COLUMN_error, "a\\nb=c\td \"e\", 日本");
}

static void formats(void **state)
{
    (void)state;
    struct row row = ROW_INIT;
    struct text out = TEXT_INIT;
    line_format(&out, "bye", NULL);
    line_format(&out, "bye", &row);
    fill(&row);
    line_format(&out, "end", &row);
    assert_string_equal(
        text_string(&out),
        "bye\nbye\nend\tphase=prefill\trepeat=3\tallocated_peak_bytes="
        "18446744073709551615\terror=a\\\\nb=c\\td \"e\", 日本\tresult_value=-0.1\n");
    text_release(&out);
    row_release(&row);
}

static void what_is_said_is_heard(void **state)
{
    (void)state;
    struct row row = ROW_INIT, back = ROW_INIT;
    struct text out = TEXT_INIT, again = TEXT_INIT;
    char verb[16] = "";
    fill(&row);
    line_format(&out, "end", &row);
    row_set_text(&back, COLUMN_warning, "of before");
    assert_int_equal(line_parse(out.data, out.length - 1, verb, &back), 0);
    assert_string_equal(verb, "end");
    assert_null(row_text(&back, COLUMN_warning));
    line_format(&again, verb, &back);
    assert_string_equal(text_string(&again), text_string(&out));
    row_release(&row);
    row_release(&back);
    text_release(&out);
    text_release(&again);
}

static void strangers_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "\tphase=x",
                                      "End\tphase=x",
                                      "end phase=x",
                                      "a_verb_of_16_char\tphase=x",
                                      "end\t",
                                      "end\tphase",
                                      "end\t=x",
                                      "end\tphase=x\t",
                                      "end\tphase=x\t\tpass=y",
                                      "end\trepeat=-1",
                                      "end\trepeat=1 ",
                                      "end\tresult_value=nan",
                                      "end\terror=a\\q",
                                      "end\terror=a\\",
                                      "end\terror=x\tstop",

                                      "{\"phase\": 1}",
                                      NULL};
    struct row row = ROW_INIT;
    char verb[16] = "old";
    row_set_count(&row, COLUMN_batch, 42);
    for (size_t i = 0; bad[i] != NULL; i++)
        if (line_parse(bad[i], strlen(bad[i]), verb, &row) != -1)
            fail_msg("taken: %s", bad[i]);
    assert_string_equal(verb, "old");
    assert_true(row_count(&row, COLUMN_batch).value == 42);
    /* an unknown column is a newer speaker's, an empty value an empty cell */
    const char newer[] = "end\tcolumn_of_tomorrow=a\\tb\tphase=x\terror=";
    assert_int_equal(line_parse(newer, sizeof newer - 1, verb, &row), 0);
    assert_string_equal(row_text(&row, COLUMN_phase), "x");
    assert_null(row_text(&row, COLUMN_error));
    const char hidden[] = "end\tphase=a\\x1b[2J\u202eb";
    assert_int_equal(line_parse(hidden, sizeof hidden - 1, verb, &row), 0);
    assert_string_equal(row_text(&row, COLUMN_phase), "a\\x1b[2J\\xe2\\x80\\xaeb");
    /* a foreign speaker's several lines become one */
    const char several[] = "end\terror=a\\nb\\0\\xff";
    assert_int_equal(line_parse(several, sizeof several - 1, verb, &row), 0);
    assert_string_equal(row_text(&row, COLUMN_error), "a\\nb\\0\\xff");
    row_release(&row);
}

static void count_lines(void *user, const char *verb, const struct row *row)
{
    text_addf(user, "%s%d ", verb, row_text(row, COLUMN_phase) != NULL);
}

static void torn_and_bad_lines(void **state)
{
    (void)state;
    struct text contents = TEXT_INIT, seen = TEXT_INIT;
    assert_int_equal(line_each(&contents, count_lines, &seen), 0);
    text_add_bytes(&contents,
                   "hello\nbegin\tphase=x\n\n\0\0\0\nnoise from print\nend\tphase=x\nfai", 58);
    assert_int_equal(line_each(&contents, count_lines, &seen), 3);
    assert_string_equal(text_string(&seen), "hello0 begin1 end1 ");
    text_release(&contents);
    text_release(&seen);
}

static void appends_in_one_write(void **state)
{
    (void)state;
    char path[] = "/tmp/highwater-line-XXXXXX";
    int fd = mkostemp(path, O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    struct row row = ROW_INIT;
    struct text why = TEXT_INIT;
    fill(&row);
    for (int i = 0; i < 100; i++)
        assert_int_equal(line_append(fd, "end", &row, &why), 0);
    struct stat status;
    fstat(fd, &status);
    pid_t child = fork();
    if (child == 0) { /* a file that takes no whole line any more */
        signal(SIGXFSZ, SIG_IGN);
        rlim_t limit = (rlim_t)status.st_size + 10;
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit});
        int failed = line_append(fd, "end", &row, &why) == -1 && why.length > 0;
        text_clear(&why);
        failed &= line_append(fd, "end", &row, &why) == -1 && why.length > 0;
        text_release(&why);
        row_release(&row);
        _exit(failed ? 0 : 1);
    }
    int ended;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_int_equal(ended, 0);
    close(fd);
    assert_int_equal(line_append(fd, "end", &row, &why), -1);
    assert_non_null(strstr(text_string(&why), "descriptor"));
    unlink(path);
    row_release(&row);
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(what_is_said_is_heard),
        cmocka_unit_test(strangers_are_refused),
        cmocka_unit_test(torn_and_bad_lines),
        cmocka_unit_test(appends_in_one_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
