/* Every setting and every dimension on its whole way: a key of the study, the plan, a word of
 * the child's command line, the child's own setting, its hello as its observer takes it, a row,
 * and what resuming compares. The workload has what a workload must have, and nothing else. */
#include "harness/drive/childline.h"
#include "harness/plan/duration.h"
#include "harness/protocol/phases.h"
#include "harness/study/compare.h"
#include "harness/study/study_options.h"
#include "harness/workload/request.h"
#include "harness/workload/session.h"
#include "harness/workload/speaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void run_plain(struct session *session)
{
    session_context(session);
    session_libraries(session);
    session_begin(session, "work", NULL, 0);
    session_end(session, 0);
}

static const char *const plain_phases[] = {"context", "libraries", "work", NULL};
static const struct workload plain = {.name = "plain",
                                      .summary = "has what a workload must have",
                                      .dimensions = (1u << DIMENSIONS) - 1,
                                      .phases = plain_phases,
                                      .run = run_plain};
const struct workload *const workloads[] = {&plain, NULL}; /* instead of the program's */

static void read_study(const char *set, struct study *study)
{
    struct text bytes = TEXT_INIT, errors = TEXT_INIT;
    text_add(&bytes,
             "[study]\nname=n\nquestion=q\nworkload=plain\n[device]\nbackend=simulated\n"
             "capacity=1GiB\n[input a]\n[sweep batch]\nvalues=2\n[boundary width]\n"
             "to=9\n");
    if (study_parse("F", &bytes, &set, set != NULL, study, &errors) != 0)
        fail_msg("%s: %s", set, text_string(&errors));
    text_release(&bytes);
    text_release(&errors);
}

static void a_workload_may_lack_what_is_optional(void **state)
{
    const struct study_boundary *boundary;
    const struct seat seat = {.capacity = reading_of(1u << 30)};
    struct study study;
    struct plan plan;
    struct plan_run run;
    struct prediction prediction;
    struct reading guess;
    struct row row = ROW_INIT;
    struct text text = TEXT_INIT;
    (void)state;
    read_study(NULL, &study);
    boundary = &study.boundaries[0];
    assert_int_equal(study_look(&study, &text, &text), 0);
    assert_int_equal(study_fingerprint(&study, &text, &text), 0);
    assert_int_equal(text.length, 0);
    assert_int_equal(plan_make(&study, 1, &plan, &text), 0);
    plan_run_at(&plan, 1, &run);
    assert_int_equal(plan_predict(&study, &run.point, run.phases, &seat, &prediction, &text),
                     0);
    assert_true(prediction.fits);
    assert_int_equal(prediction.count, 3);
    prediction_release(&prediction);
    assert_int_equal(plan_guess_boundary(&study, boundary, &seat, &guess, &text), 0);
    assert_int_equal(guess.value, 9);
    assert_true(duration_assumed_ns(&study, &run, true, reading_of(1)) > 0);
    plan_describe_study(&study, &row);
    plan_describe_run(&run, &row);
    assert_string_equal(row_text(&row, COLUMN_workload), "plain");
    request_help(&text);
    assert_non_null(strstr(text_string(&text), "has what a workload must have"));
    plan_release(&plan);
    study_release(&study);
    row_release(&row);
    text_release(&text);
}

/* A value that the base study does not have, in a buffer of the option's own. */
static char *other_value(const struct option *option, const struct setting *base)
{
    struct text has = TEXT_INIT;
    const char *value = "21";
    option_format(option, base, &has);
    if (option->type == OPTION_TEXT)
        value = "context:oom";
    if (option->type == OPTION_MAYBE_CAPACITY)
        value = "22020096";
    for (size_t i = 0; option->choices && option->choices[i]; i++)
        if (strcmp(option->choices[i], text_string(&has)) != 0)
            value = option->choices[i]; /* the last of them: not cuda */
    assert_string_not_equal(value, text_string(&has));
    text_release(&has);
    return xstrdup(value);
}

/* The section that has a key of this name, or NULL. */
static const char *section_of(const char *name)
{
    for (const struct study_table *table = study_tables; table->section; table++)
        if (option_find(table->options, name))
            return table->section;
    return NULL;
}

/* As a child of one rank gets them; `own`: a word of that rank, or NULL. */
static void read_words(struct words *words, const char *own, struct request *request)
{
    struct text why = TEXT_INIT;
    words_add(words, "--capacity=1073741824");
    if (own)
        words_add(words, own);
    if (request_read((int)words->count - 1, words->word + 1, request, &why) != 0)
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

/* What the observer takes of the child's hello. */
static void hear(const struct request *request, struct row *hello)
{
    char path[] = "/tmp/highwater-setting-XXXXXX";
    struct speaker speaker;
    struct phase_record record;
    struct text why = TEXT_INIT;
    close(mkstemp(path));
    assert_int_equal(speaker_open(&speaker, path, &why), 0);
    const struct phase_listener listener = {.line = speaker_line, .user = &speaker};
    assert_int_equal(session_run(&request->setting, request->backend, NULL, &listener),
                     STATUS_ok);
    speaker_close(&speaker);
    assert_int_equal(phases_read(path, NULL, &record, &why), 0);
    assert_true(record.said_hello);
    if (record.dropped)
        fail_msg("a child says %s, and may not", record.dropped);
    row_copy(hello, &record.hello);
    phase_record_release(&record);
    assert_int_equal(unlink(path), 0);
}

static void assert_cell(const struct row *row, enum column column, const char *wanted)
{
    struct text cell = TEXT_INIT;
    row_format_cell(row, column, &cell);
    if (strcmp(text_string(&cell), wanted) != 0)
        fail_msg("%s is \"%s\", not %s", column_facts[column].name, text_string(&cell), wanted);
    text_release(&cell);
}

/* Rows say it, the child says the same, and a child of the base study says something else. */
static void assert_recorded(const struct study *study, const struct plan_run *run,
                            const struct option *option, const char *value,
                            const struct row *hello, const struct row *hello_of_base)
{
    const struct setting_about *about = option->about;
    struct row ours = ROW_INIT, said = ROW_INIT, wrong = ROW_INIT;
    struct text agrees = TEXT_INIT, otherwise = TEXT_INIT;
    plan_describe_study(study, &ours);
    row_copy(&said, hello);
    row_copy(&wrong, hello_of_base);
    plan_correct(&ours, run, &said, &agrees);
    plan_correct(&ours, run, &wrong, &otherwise);
    assert_string_equal(text_string(&agrees), "");
    if (about->column != COLUMNS) {
        assert_cell(hello, about->column, value);
        assert_cell(&said, about->column, value);
        assert_cell(&wrong, about->column, value);
        assert_true(text_starts_with(text_string(&otherwise), option->name));
    } else {
        char *pair = xasprintf("%s=%s", option->name, value);
        assert_non_null(strstr(row_text(&said, COLUMN_options), pair));
        free(pair);
    }
    row_release(&ours);
    row_release(&said);
    row_release(&wrong);
    text_release(&agrees);
    text_release(&otherwise);
}

static void follow(const struct option *option, const struct study *base,
                   const struct row *hello_of_base)
{
    const struct setting_about *about = option->about;
    const char *section = section_of(option->name);
    bool of_rank = about->teller == TOLD_OF_RANK;
    char *value = other_value(option, &base->setting);
    char *word = xasprintf("--%s=%s", option->name, value);
    char *set =
        section && !of_rank ? xasprintf("%s.%s=%s", section, option->name, value) : NULL;
    struct study study;
    struct plan plan;
    struct plan_run run;
    struct words words = WORDS_INIT;
    struct request request;
    struct row hello = ROW_INIT;
    struct text formatted = TEXT_INIT;
    read_study(set, &study);
    assert_int_equal(plan_make(&study, 1, &plan, NULL), 0);
    plan_run_at(&plan, 0, &run);
    childline_add(&words, &study, &run);
    read_words(&words, set ? NULL : word, &request);
    option_format(option, &request.setting, &formatted);
    assert_string_equal(text_string(&formatted), value);
    if (set) {
        hear(&request, &hello);
        assert_recorded(&study, &run, option, value, &hello, hello_of_base);
        assert_int_equal(study_compare(base, &study, NULL), STUDY_OTHER);
    }
    row_release(&hello);
    request_release(&request);
    words_release(&words);
    plan_release(&plan);
    study_release(&study);
    text_release(&formatted);
    free(value);
    free(word);
    free(set);
}

static void every_setting_goes_all_the_way(void **state)
{
    struct study base;
    struct plan plan;
    struct plan_run run;
    struct words words = WORDS_INIT;
    struct request request;
    struct row hello = ROW_INIT;
    size_t count = 0;
    (void)state;
    read_study(NULL, &base);
    assert_int_equal(plan_make(&base, 1, &plan, NULL), 0);
    plan_run_at(&plan, 0, &run);
    childline_add(&words, &base, &run);
    read_words(&words, NULL, &request);
    hear(&request, &hello);
    for (const struct option *option = setting_options; option->name; option++, count++)
        follow(option, &base, &hello);
    assert_true(count >= DIMENSIONS + 14);
    row_release(&hello);
    request_release(&request);
    words_release(&words);
    plan_release(&plan);
    study_release(&base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_workload_may_lack_what_is_optional),
        cmocka_unit_test(every_setting_goes_all_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
