/* What a complaint is about stands in its fields, whatever its words are. */
#include "harness/study/complaints.h"
#include "harness/study/interpret.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void fields_not_words(void **state)
{
    (void)state;
    struct complaints complaints = {.list = NULL};
    struct text out = TEXT_INIT;
    complain(&complaints, COMPLAINT_TOGETHER, (struct subject){"device", "capacity", 4},
             "[point]: batch: %s", "point");
    complain(&complaints, COMPLAINT_TWICE, (struct subject){"launch", NULL, 2},
             "section [launch] is already in line 1");
    complain(&complaints, COMPLAINT_TWICE, (struct subject){"study", "name", 3},
             "key \"name\" is already in line 2");
    complain_of_override(&complaints, 1, "[input one]: input one");
    assert_true(complaints_about(&complaints, "device"));
    assert_true(complaints_about(&complaints, "study"));
    assert_false(complaints_about(&complaints, "point"));
    assert_false(complaints_about(&complaints, "launch")); /* the first of the two is good */
    assert_false(complaints_about(&complaints, "input one"));
    assert_false(complaints_about(&complaints, "capacity"));
    assert_int_equal(complaints.list[0].kind, COMPLAINT_TOGETHER);
    assert_string_equal(complaints.list[0].section, "device");
    assert_string_equal(complaints.list[0].key, "capacity");
    const struct origin origins[] = {{1, 0}, {2, 0}, {2, 1}, {3, 0}};
    const char *const overrides[] = {"a.b=c"};
    complaints_print(&complaints, "F", origins, 4, "--set", overrides, &out);
    assert_string_equal(text_string(&out), "F:2: section [launch] is already in line 1\n"
                                           "F:3: [point]: batch: point\n"
                                           "--set a.b=c: key \"name\" is already in line 2\n"
                                           "--set a.b=c: [input one]: input one");
    text_release(&out);
    complaints_release(&complaints);
}

/* A workload whose reasons look like other keys, sections and lines. */
static int refuse_options(const void *options, const char **key, struct text *why)
{
    (void)options;
    *key = "second";
    text_add(why, "first: [point]:3: batch: 7: no");
    return -1;
}

static int refuse_point(const struct point *point, const void *options, struct text *why)
{
    (void)options;
    if (point->value[DIMENSION_batch].value < 3)
        return 0;
    text_add(why, "values: [input one]: first: no");
    return -1;
}

static void read_document(const char *bytes, struct document *document,
                          struct complaints *complaints)
{
    struct text text = TEXT_INIT;
    text_add(&text, bytes);
    document_read(&text, document, complaints);
    text_release(&text);
    assert_int_equal(complaints->count, 0);
}

static void options_by_key(void **state)
{
    (void)state;
    const struct workload workload = {
        .name = "odd", .check_options = refuse_options, .check = refuse_point};
    struct study study = {.setting.workload = &workload, .trials = 1, .until = (char[]){""}};
    struct complaints complaints = {.list = NULL};
    struct document document;
    read_document("[input one]\n[odd]\nfirst = 1\nsecond = 2\n", &document, &complaints);
    study_check_points(&document, &study, &complaints);
    assert_int_equal(complaints.count, 1);
    assert_int_equal(complaints.list[0].line, 4);
    assert_string_equal(complaints.list[0].section, "odd");
    assert_string_equal(complaints.list[0].key, "second");
    assert_string_equal(complaints.list[0].reason, "second: first: [point]:3: batch: 7: no");
    complaints_release(&complaints);
    document_release(&document);
}

/* A refused value of one section hides nothing of another, however it is put. */
static void points_by_section(void **state)
{
    (void)state;
    const struct workload workload = {.name = "odd", .check = refuse_point};
    struct study_input inputs[] = {{.name = (char[]){"one"}}, {.name = (char[]){"odd"}}};
    inputs[0].point.value[DIMENSION_batch] = inputs[1].point.value[DIMENSION_batch] =
        reading_of(9);
    struct study study = {.setting.workload = &workload,
                          .trials = 1,
                          .until = (char[]){""},
                          .inputs = inputs,
                          .input_count = 2};
    struct complaints complaints = {.list = NULL};
    struct document document;
    read_document("[input one]\nbatch = 9\n[input odd]\nbatch = 9\n", &document, &complaints);
    complain(&complaints, COMPLAINT_VALUE, (struct subject){"input odd", "batch", 2}, "no");
    study_check_points(&document, &study, &complaints);
    assert_int_equal(complaints.count, 2);
    assert_string_equal(complaints.list[1].section, "input one");
    assert_null(complaints.list[1].key);
    assert_int_equal(complaints.list[1].line, 1);
    assert_int_equal(complaints.list[1].kind, COMPLAINT_TOGETHER);
    complaints_release(&complaints);
    document_release(&document);
}

/* What stands below a header that cannot be read is of no section: the one before is good. */
static void headers_that_cannot_be_read(void **state)
{
    (void)state;
    static const char bad[] = "[study]\nname = n\nquestion = q?\nworkload = dense\n"
                              "[device]\nbackend = simulated\ncapacity = 1GiB\n"
                              "[point]\nwidth = 1000000000000\n[oops\n[input one]\n";
    static const char good[] = "[study]\nname = n\nquestion = q?\nworkload = dense\n"
                               "[device]\nbackend = simulated\ncapacity = 1GiB\n[input one]\n";
    struct text bytes = TEXT_INIT, errors = TEXT_INIT;
    struct study study;
    text_add(&bytes, good);
    assert_int_equal(study_parse("F", &bytes, NULL, 0, &study, &errors), 0);
    study_release(&study);
    text_setf(&bytes, "%s", bad);
    assert_int_equal(study_parse("F", &bytes, NULL, 0, &study, &errors), -1);
    assert_non_null(strstr(text_string(&errors), "F:10: a section's name ends with ]"));
    assert_non_null(strstr(text_string(&errors), "F:11: [input one]: "));
    text_release(&bytes);
    text_release(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_not_words),
        cmocka_unit_test(options_by_key),
        cmocka_unit_test(points_by_section),
        cmocka_unit_test(headers_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
