/* The words of highwater-workload's command line. */
#include "harness/workload/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define WHOLE                                                                                  \
    "dense", "--backend=simulated", "--capacity=1GiB", "--batch=2", "--context=3",             \
        "--width=5", "--sequences=1"

/* 0, or -1 with the reason in a text that lives until the next call. */
static int read_words(const char *const *words, struct request *request, const char **reason)
{
    static struct text why;
    char *argv[32];
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = xstrdup(words[argc]);
    text_clear(&why);
    int outcome = request_read(argc, argv, request, &why);
    for (int i = 0; i < argc; i++)
        free(argv[i]);
    *reason = text_string(&why);
    return outcome;
}

static void words_become_a_setting(void **state)
{
    const char *const words[] = {WHOLE,
                                 "--dtype=float16",
                                 "--warmup=0",
                                 "--repeats=9",
                                 "--seed=11",
                                 "--overhead=1MiB",
                                 "--allocator=direct",
                                 "--fault=inputs:exit-7",
                                 "--expect-uuid=GPU-1",
                                 "--max-split-size=64MiB",
                                 NULL};
    struct request request;
    const char *reason;
    (void)state;
    assert_int_equal(read_words(words, &request, &reason), 0);
    const struct setting *setting = &request.setting;
    assert_string_equal(setting->workload->name, "dense");
    assert_string_equal(request.backend->device->name, "simulated");
    assert_int_equal(setting->point.value[DIMENSION_width].value, 5);
    assert_false(setting->point.value[DIMENSION_layers].known);
    assert_int_equal(setting->dtype, DTYPE_float16);
    assert_int_equal(setting->warmup, 0);
    assert_int_equal(setting->repeats, 9);
    assert_int_equal(setting->seed, 11);
    assert_int_equal(setting->memory.device.capacity.value, 1 << 30);
    assert_int_equal(setting->memory.device.overhead, 1 << 20);
    assert_int_equal(setting->memory.allocator_setting.max_split_size.value, 64 << 20);
    assert_string_equal(setting->memory.allocator, "direct");
    assert_string_equal(setting->fault, "inputs:exit-7");
    assert_string_equal(setting->expect_uuid, "GPU-1");
    request_release(&request);
}

static void bad_words_are_named(void **state)
{
    static const struct {
        const char *word, *in_reason;
    } cases[] = {
        {"--batch=0", "batch"},
        {"--batch=two", "batch"},
        {"--batsh=2", "did you mean --batch"},
        {"--layers=2", "no such dimension"},
        {"--fault=inputs:ooom", "KIND"},
        {"--fault=input:oom", "model_load"},
        {"--dtype=float64", "dtype"},
        {"--width=300000000", "width"},
        {"batch=2", "form"},
        {"--batch", "form"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const words[] = {WHOLE, cases[i].word, NULL};
        struct request request;
        const char *reason;
        assert_int_equal(read_words(words, &request, &reason), -1);
        if (!strstr(reason, cases[i].in_reason))
            fail_msg("%s: %s", cases[i].word, reason);
    }
}

static void what_is_missing_is_named(void **state)
{
    const char *const whole[] = {WHOLE, NULL};
    (void)state;
    for (int left_out = 1; left_out < 7; left_out++) {
        const char *words[8] = {NULL};
        struct request request;
        const char *reason;
        int count = 0;
        for (int i = 0; i < 7; i++)
            if (i != left_out)
                words[count++] = whole[i];
        assert_int_equal(read_words(words, &request, &reason), -1);
        char *name = xstrndup(whole[left_out], strcspn(whole[left_out], "="));
        if (!strstr(reason, name))
            fail_msg("without %s: %s", name, reason);
        free(name);
    }
    const char *const unknown[] = {"dens", NULL};
    struct request request;
    const char *reason;
    assert_int_equal(read_words(unknown, &request, &reason), -1);
    assert_non_null(strstr(reason, "dense"));
}

static void help_names_every_option(void **state)
{
    struct text out = TEXT_INIT;
    (void)state;
    request_help(&out);
    for (const struct option *option = setting_options; option->name; option++) {
        char *name = xasprintf("--%s", option->name);
        for (char *c = name; *c; c++)
            if (*c == '_')
                *c = '-';
        if (!strstr(text_string(&out), name))
            fail_msg("%s is not in the help", name);
        free(name);
    }
    text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_become_a_setting),
        cmocka_unit_test(bad_words_are_named),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(help_names_every_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
