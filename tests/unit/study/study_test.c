/* What a study file means: what a list of cases (study_golden_test.c) cannot show. */
#include "harness/study/study.h"
#include "harness/study/study_options.h"

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

static int parse(const char *bytes, size_t length, struct study *study)
{
    struct text text = TEXT_INIT, errors = TEXT_INIT;
    text_add_bytes(&text, bytes, length);
    int outcome = study_parse("F", &text, NULL, 0, study, &errors);
    assert_true((outcome == 0) == (errors.length == 0));
    text_release(&text);
    text_release(&errors);
    return outcome;
}

static void parse_good(const char *bytes, const char *const *sets, size_t count,
                       struct study *study)
{
    struct text text = TEXT_INIT, errors = TEXT_INIT;
    text_add(&text, bytes);
    if (study_parse("F", &text, sets, count, study, &errors) != 0)
        fail_msg("%s", text_string(&errors));
    text_release(&text);
    text_release(&errors);
}

static const char whole[] = GOOD "allocator = caching ; c\n[launch]\nranks = 2\n[point]\n"
                                 "context = 64\n  dtype = float32\n[input limit]\n"
                                 "context = 8192\n[sweep batch]\nvalues = 1, 2:8:x2\n";

/* Every cut and every changed byte ends in a study or in a reason, never in anything else. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    struct study study;
    for (size_t length = 0; length < sizeof whole; length++)
        if (parse(whole, length, &study) == 0)
            study_release(&study);
}

static void test_any_byte(void **state)
{
    (void)state;
    static const char tries[] = "\0\n\r[]=;# x\xff:,\"";
    char bytes[sizeof whole];
    struct study study;
    for (size_t i = 0; i + 1 < sizeof whole; i++) {
        for (size_t k = 0; k < sizeof tries - 1; k++) {
            memcpy(bytes, whole, sizeof whole);
            bytes[i] = tries[k];
            if (parse(bytes, sizeof whole - 1, &study) == 0)
                study_release(&study);
        }
    }
}

/* A value survives whole at every length around the library's buffer. */
static void test_any_length(void **state)
{
    (void)state;
    for (size_t length = 150; length < 450; length++) {
        struct text bytes = TEXT_INIT;
        struct study study;
        text_add(&bytes, GOOD "[sweep batch]\nvalues=1\n[identity]\ninput_set = ");
        size_t start = bytes.length;
        for (size_t i = 0; i < length; i++)
            text_add_char(&bytes, i % 7 == 3 ? '=' : (char)('a' + i % 26));
        char *value = xstrdup(bytes.data + start);
        text_add(&bytes, "\nmodel_revision = r\n");
        parse_good(text_string(&bytes), NULL, 0, &study);
        assert_string_equal(study.input_set, value);
        assert_string_equal(study.model_revision, "r");
        study_release(&study);
        text_release(&bytes);
        free(value);
    }
}

static void test_hash_ignores_looks(void **state)
{
    (void)state;
    static const char *const same[] = {
        GOOD
        "[point]\ncontext=64\n[sweep batch]\nvalues=1,2,4\n[input a]\n[input b]\nbatch=2\n",
        "; a comment\n[point]\n\tcontext = 64 ; c\r\n\n[input b]\nbatch=2\n"
        "[sweep batch]\nvalues = 1:4:x2\n[input a]\n" GOOD,
        GOOD "[point]\nwidth=4096\ncontext=64\n[sweep batch]\nvalues=1, 2 ,4\n[input a]\n"
             "context=64\n[input b]\nbatch=2\n[study ]\n",
        GOOD "[point]\ncontext=64\n[sweep batch]\nvalues=1,2,4\n[input a]\n[input b]\nbatch=2\n"
             "[launch]\nallow_root=yes\nsettle=30000ms\n",
    };
    struct study first, other;
    parse_good(same[0], NULL, 0, &first);
    assert_int_equal(strlen(first.hash), 18);
    assert_true(text_starts_with(first.hash, "s-"));
    for (size_t i = 1; i < 4; i++) {
        if (i == 2)
            continue; /* [study ] is [study] again: refused */
        parse_good(same[i], NULL, 0, &other);
        assert_string_equal(first.hash, other.hash);
        study_release(&other);
    }
    assert_int_equal(parse(same[2], strlen(same[2]), &other), -1);
    study_release(&first);
}

/* A value of the option's grammar that is not its default, or NULL. */
static const char *another_value(const struct option *option)
{
    if (option->not_yet || strcmp(option->name, "allow_root") == 0)
        return NULL;
    switch (option->type) {
    case OPTION_COUNT:
    case OPTION_MAYBE_COUNT:
        return "3000";
    case OPTION_SIZE:
    case OPTION_MAYBE_SIZE:
    case OPTION_CAPACITY:
    case OPTION_MAYBE_CAPACITY:
        return "21MiB";
    case OPTION_DURATION:
    case OPTION_MAYBE_DURATION:
        return "77s";
    case OPTION_REAL:
        return "0.5";
    case OPTION_FLAG:
        return "yes";
    case OPTION_CHOICE:
    case OPTION_NAME:
        return option->choices[1];
    case OPTION_TEXT:
        break;
    }
    static const char *const texts[][2] = {
        {"name", "m"},        {"question", "r"},        {"model_revision", "m"},
        {"input_set", "i"},   {"ranks", "2"},           {"devices", "1,0"},
        {"capacity", "8GiB"}, {"fault", "context:oom"}, {"roundup_power2_divisions", "4"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i][0], option->name) == 0)
            return texts[i][1];
    return NULL;
}

/* Every key that can be set is in the hash. */
static void test_hash_sees_every_key(void **state)
{
    (void)state;
    static const char plain[] = GOOD "[sweep batch]\nvalues=1\n[input a]\n";
    struct study base, other;
    size_t seen = 0;
    parse_good(plain, NULL, 0, &base);
    for (const struct study_table *table = study_tables; table->section; table++) {
        for (const struct option *option = table->options; option->name; option++) {
            const char *value = another_value(option);
            int dimension = dimension_find(option->name);
            bool lacking = dimension >= 0 && !base.setting.point.value[dimension].known;
            if (!value || lacking || strcmp(option->name, "backend") == 0)
                continue;
            char *set = xasprintf("%s.%s=%s", table->section, option->name, value);
            const char *sets[] = {set};
            parse_good(plain, sets, 1, &other);
            if (strcmp(base.hash, other.hash) == 0)
                fail_msg("%s does not change the hash", set);
            check_frozen(&other);
            study_release(&other);
            free(set);
            seen++;
        }
    }
    assert_true(seen >= 24);
    study_release(&base);
}

static void test_hash_sees_what_is_run(void **state)
{
    (void)state;
    static const char *const different[] = {
        GOOD "[sweep batch]\nvalues=1,2\n",
        GOOD "[sweep batch]\nvalues=1,2,4\n",
        GOOD "[sweep batch]\nvalues=2,1\n",
        GOOD "[sweep context]\nvalues=1,2\n",
        GOOD "[sweep batch]\nvalues=1,2\n[input a]\n",
        GOOD "[sweep batch]\nvalues=1,2\n[input b]\n",
        GOOD "[sweep batch]\nvalues=1,2\n[input a]\ncontext=64\n",
    };
    struct study studies[7];
    for (size_t i = 0; i < 7; i++) {
        parse_good(different[i], NULL, 0, &studies[i]);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(studies[i].hash, studies[k].hash);
    }
    for (size_t i = 0; i < 7; i++)
        study_release(&studies[i]);
}

/* The hash stands in rows: another value on another machine or in another version is a
 * fault. */
static void test_hash_is_for_ever(void **state)
{
    (void)state;
    struct study study;
    parse_good(GOOD "[sweep batch]\nvalues=1\n", NULL, 0, &study);
    struct text canonical = TEXT_INIT;
    study_add_canonical(&study, &canonical);
    uint64_t value = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < canonical.length; i++) {
        value ^= (unsigned char)canonical.data[i];
        value *= UINT64_C(1099511628211);
    }
    char *wanted = xasprintf("s-%016llx", (unsigned long long)value);
    assert_string_equal(study.hash, wanted);
    free(wanted);
    text_release(&canonical);
    study_release(&study);
}

static void test_capacity_and_ranks(void **state)
{
    (void)state;
    struct study study;
    const char *const two[] = {"device.capacity=24GiB, 80GiB", "launch.ranks=per-device"};
    parse_good(GOOD "[sweep batch]\nvalues=1\n", two, 2, &study);
    assert_int_equal(study_ranks(&study).value, 2);
    assert_int_equal(study_capacity(&study, 0).value, UINT64_C(24) << 30);
    assert_int_equal(study_capacity(&study, 1).value, UINT64_C(80) << 30);
    study_release(&study);
    const char *const four[] = {"launch.ranks=4"};
    parse_good(GOOD "[sweep batch]\nvalues=1\n", four, 1, &study);
    assert_int_equal(study_ranks(&study).value, 4);
    assert_int_equal(study_capacity(&study, 3).value, UINT64_C(80) << 30);
    study_release(&study);
    const char *const cuda[] = {"device.backend=cuda",
                                "device.capacity=", "launch.ranks=per-device"};
    parse_good(GOOD "[sweep batch]\nvalues=1\n", cuda, 3, &study);
    assert_false(study_ranks(&study).known);
    assert_false(study_capacity(&study, 0).known);
    study_release(&study);
    const char *const listed[] = {"device.backend=cuda",
                                  "device.capacity=", "launch.ranks=per-device",
                                  "launch.devices=3, 0,1"};
    parse_good(GOOD "[sweep batch]\nvalues=1\n", listed, 4, &study);
    assert_int_equal(study_ranks(&study).value, 3);
    study_release(&study);
}

static void test_read_from_a_file(void **state)
{
    (void)state;
    struct study study = {.name = (char *)1};
    struct text errors = TEXT_INIT;
    assert_int_equal(study_read("/nonexistent/study.ini", NULL, 0, &study, &errors), -1);
    assert_non_null(strstr(text_string(&errors), "/nonexistent/study.ini"));
    assert_ptr_equal(study.name, (char *)1);
    text_clear(&errors);
    assert_int_equal(study_read("/", NULL, 0, &study, &errors), -1);
    assert_true(errors.length > 0);
    text_release(&errors);
}

/* What a shell may hand over as an override is shown as one printable line. */
static void test_override_of_bytes(void **state)
{
    (void)state;
    static const char *const sets[] = {"study.trials=\xff\n", "identity.input_set=a\nb=c"};
    struct text bytes = TEXT_INIT, errors = TEXT_INIT;
    struct study study;
    text_add(&bytes, GOOD "[sweep batch]\nvalues=1\n");
    assert_int_equal(study_parse("F", &bytes, sets, 2, &study, &errors), -1);
    assert_string_equal(
        text_string(&errors),
        "--set study.trials=\\xff\\n: cannot stand in a study file (a line break, "
        "or a blank before a ;?)\n"
        "--set identity.input_set=a\\nb=c: cannot stand in a study file (a line "
        "break, or a blank before a ;?)");
    text_release(&bytes);
    text_release(&errors);
}

static void test_too_much(void **state)
{
    (void)state;
    struct text bytes = TEXT_INIT, errors = TEXT_INIT;
    struct study study;
    for (int i = 0; i < 200000; i++)
        text_add(&bytes, "[a]\n");
    assert_int_equal(study_parse("F", &bytes, NULL, 0, &study, &errors), -1);
    assert_true(errors.length < 200000);
    assert_non_null(strstr(text_string(&errors), "more errors"));
    while (bytes.length <= 1 << 20)
        text_add(&bytes, "[a]\n");
    text_clear(&errors);
    assert_int_equal(study_parse("F", &bytes, NULL, 0, &study, &errors), -1);
    assert_non_null(strstr(text_string(&errors), "F:1: file of 1048"));
    text_release(&bytes);
    text_release(&errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_any_byte),
        cmocka_unit_test(test_any_length),
        cmocka_unit_test(test_hash_ignores_looks),
        cmocka_unit_test(test_hash_sees_every_key),
        cmocka_unit_test(test_hash_sees_what_is_run),
        cmocka_unit_test(test_hash_is_for_ever),
        cmocka_unit_test(test_capacity_and_ranks),
        cmocka_unit_test(test_read_from_a_file),
        cmocka_unit_test(test_override_of_bytes),
        cmocka_unit_test(test_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
