/* The progress line of a sweep in terminals of any width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/command/progress.h"

#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static char *line_of(const struct sweep_progress *progress, size_t columns)
{
    struct text line = TEXT_INIT;
    progress_add_line("simulated", progress, columns, &line);
    return text_detach(&line);
}

static void line_is(const struct sweep_progress *progress, size_t columns, const char *wanted)
{
    char *line = line_of(progress, columns);
    assert_string_equal(line, wanted);
    free(line);
}

/* A run that ended, out of a hundred. */
struct ended {
    struct plan_run run;
    struct row closing;
    struct sweep_progress progress;
};
static void end_run(struct ended *ended, const char *phase)
{
    *ended = (struct ended){.closing = ROW_INIT};
    strcpy(ended->run.name, "r-batch-90000-t1");
    row_set_status(&ended->closing, STATUS_oom);
    row_set_text(&ended->closing, COLUMN_failed_phase, phase);
    ended->progress = (struct sweep_progress){.done = 10,
                                              .total = 13,
                                              .fitted = 9,
                                              .failed = 1,
                                              .made = 10,
                                              .run = &ended->run,
                                              .closing = &ended->closing,
                                              .elapsed_ns = 20 * SECOND};
}

static void what_matters_least_goes_first(void **state)
{
    struct ended ended;
    (void)state;
    end_run(&ended, "inputs");
    line_is(&ended.progress, 200,
            "simulated 10/13; 9 fitted, 1 failed; 20.0 s, about 6.0 s to go; "
            "r-batch-90000-t1: oom in inputs");
    line_is(&ended.progress, 90,
            "simulated 10/13; 9 fitted, 1 failed; about 6.0 s to go; "
            "r-batch-90000-t1: oom in inputs");
    line_is(&ended.progress, 75,
            "simulated 10/13; 20.0 s, about 6.0 s to go; r-batch-90000-t1: oom in inputs");
    line_is(&ended.progress, 68,
            "simulated 10/13; about 6.0 s to go; r-batch-90000-t1: oom in inputs");
    line_is(&ended.progress, 56, "simulated 10/13; 9 fitted, 1 failed; about 6.0 s to go");
    line_is(&ended.progress, 40, "simulated 10/13; about 6.0 s to go");
    line_is(&ended.progress, 15, "simulated 10/13");
    line_is(&ended.progress, 14, "10/13");
    line_is(&ended.progress, 5, "10/13");
    line_is(&ended.progress, 4, "");
    line_is(&ended.progress, 0, "");
    row_release(&ended.closing);
}

/* In no width is a part of the line begun and not ended. */
static void nothing_is_cut(void **state)
{
    static const char *const parts[] = {"simulated 10/13",
                                        "10/13",
                                        "9 fitted, 1 failed",
                                        "20.0 s",
                                        "20.0 s, about 6.0 s to go",
                                        "about 6.0 s to go",
                                        "r-batch-90000-t1: oom in inputs"};
    struct ended ended;
    (void)state;
    end_run(&ended, "inputs");
    for (size_t columns = 0; columns <= 200; columns++) {
        char *line = line_of(&ended.progress, columns);
        assert_true(strlen(line) <= columns);
        for (char *at = line, *part; (part = strsep(&at, ";")) != NULL;) {
            bool known = line[0] == '\0';
            for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
                known = known || strcmp(part + (part[0] == ' '), parts[i]) == 0;
            if (!known)
                fail_msg("%zu columns: \"%s\"", columns, part);
        }
        free(line);
    }
    row_release(&ended.closing);
}

/* A phase is called what a foreign child calls it; a character is a column, however long. */
static void a_foreign_phase_acts_on_no_terminal(void **state)
{
    struct ended ended;
    (void)state;
    end_run(&ended, "\xc3\xa9\x1b[2J");
    line_is(&ended.progress, 70,
            "simulated 10/13; about 6.0 s to go; r-batch-90000-t1: oom in \xc3\xa9\\x1b[2J");
    line_is(&ended.progress, 69,
            "simulated 10/13; about 6.0 s to go; r-batch-90000-t1: oom in \xc3\xa9\\x1b[2J");
    line_is(&ended.progress, 68,
            "simulated 10/13; 9 fitted, 1 failed; 20.0 s, about 6.0 s to go");
    row_release(&ended.closing);
}

static void too_few_runs_tell_nothing_of_the_rest(void **state)
{
    const struct sweep_progress progress = {
        .done = 2, .total = 300, .fitted = 1, .skipped = 1, .made = 1, .elapsed_ns = SECOND};
    (void)state;
    line_is(&progress, 200, "simulated 2/300; 1 fitted, 0 failed, 1 skipped; 1.0 s");
    line_is(&progress, 30, "simulated 2/300; 1.0 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_matters_least_goes_first),
        cmocka_unit_test(nothing_is_cut),
        cmocka_unit_test(a_foreign_phase_acts_on_no_terminal),
        cmocka_unit_test(too_few_runs_tell_nothing_of_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
