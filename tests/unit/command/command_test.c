#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/command/command.h"
#include "harness/study/study_options.h"

#include <stdlib.h>
#include <string.h>

/* A command of our own, which keeps what it was called with. */
struct pick {
    uint64_t width;
    bool flag;
    char *word, *set, *output;
};
static const struct option pick_options[] = {
    {.name = "max_width",
     .type = OPTION_COUNT,
     .offset = offsetof(struct pick, width),
     .minimum = 1,
     .fallback = "7",
     .help = "a number"},
    {.name = "flag",
     .type = OPTION_FLAG,
     .offset = offsetof(struct pick, flag),
     .fallback = "no",
     .help = "a flag"},
    {.name = "word",
     .type = OPTION_TEXT,
     .offset = offsetof(struct pick, word),
     .fallback = "",
     .help = "a word",
     .letter = 'w'},
    {.name = "set",
     .type = OPTION_TEXT,
     .offset = offsetof(struct pick, set),
     .fallback = "",
     .help = "again and again"},
    {.name = "output",
     .type = OPTION_TEXT,
     .offset = offsetof(struct pick, output),
     .fallback = "",
     .help = "a file"},
    {.name = "later",
     .type = OPTION_FLAG,
     .offset = offsetof(struct pick, flag),
     .fallback = "no",
     .help = "reserved",
     .not_yet = "soon"},
    {.name = NULL},
};
static const struct option handed_on[] = {
    {.name = "depth", .type = OPTION_COUNT, .minimum = 1, .help = "handed on unread"},
    {.name = NULL},
};

static bool more(size_t index, struct option_part *part)
{
    *part = (struct option_part){.title = "handed on", .table = handed_on};
    return index == 0;
}

struct seen {
    int calls;
    uint64_t width;
    bool flag;
    char word[32], overrides[64], depth[32], operands[64], line[256];
};
static struct seen seen;

static void keep(char *to, size_t room, const char *what)
{
    size_t used = strlen(to);
    if (what)
        strncat(to, what, room - used - 1);
}

static int run(struct command_call *call)
{
    const struct pick *pick = call->options;
    const char *overrides[16];
    seen.calls++;
    seen.width = pick->width;
    seen.flag = pick->flag;
    keep(seen.word, sizeof seen.word, pick->word);
    keep(seen.depth, sizeof seen.depth, command_given(call, "depth"));
    keep(seen.line, sizeof seen.line, call->command_line);
    size_t count = command_overrides(call, overrides);
    for (size_t i = 0; i < count; i++)
        keep(seen.overrides, sizeof seen.overrides, overrides[i]);
    for (size_t i = 0; i < call->operand_count; i++)
        keep(seen.operands, sizeof seen.operands, call->operands[i]);
    return 3;
}

static const struct option_part parts[] = {{.table = pick_options}, {.table = NULL}};
static const struct command picker = {
    .name = "pick",
    .summary = "for this test",
    .operands = "WHAT",
    .operand_min = 1,
    .operand_max = 2,
    .repeated = "set",
    .options_size = sizeof(struct pick),
    .parts = parts,
    .more = more,
    .run = run,
};

#define CALL(...) call((char *[]){"pick", __VA_ARGS__, NULL})
static int call(char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    memset(&seen, 0, sizeof seen);
    return command_run(&picker, argc, argv);
}

static void options_are_taken_in_every_spelling(void **state)
{
    (void)state;
    assert_int_equal(CALL("a", "--max-width=12", "--flag"), 3);
    assert_true(seen.width == 12 && seen.flag);
    assert_int_equal(CALL("a", "--max_width", "13", "--flag=no"), 3);
    assert_true(seen.width == 13 && !seen.flag);
    assert_int_equal(CALL("a", "b"), 3);
    assert_true(seen.width == 7);
    assert_string_equal(seen.operands, "ab");
    assert_int_equal(CALL("--word=x=y", "a", "-q"), 3);
    assert_string_equal(seen.word, "x=y");
    assert_int_equal(CALL("-wx=y", "a"), 3);
    assert_string_equal(seen.word, "x=y");
    assert_int_equal(CALL("-w", "-q", "a"), 3);
    assert_string_equal(seen.word, "-q");
    assert_int_equal(CALL("a", "-w1", "--word=1"), 1);
    assert_int_equal(CALL("a", "-w"), 1);
}

static void operands_may_begin_with_a_hyphen_behind_two(void **state)
{
    (void)state;
    assert_int_equal(CALL("--", "--flag"), 3);
    assert_string_equal(seen.operands, "--flag");
    assert_false(seen.flag);
    assert_int_equal(CALL("-"), 3);
    assert_string_equal(seen.operands, "-");
}

static void what_is_handed_on_is_not_read(void **state)
{
    (void)state;
    assert_int_equal(CALL("a", "--depth", "many"), 3);
    assert_string_equal(seen.depth, "many");
}

static void only_the_repeated_option_may_come_again(void **state)
{
    (void)state;
    assert_int_equal(CALL("a", "--set", "x.y=1", "--set=z.w=2"), 3);
    assert_string_equal(seen.overrides, "x.y=1z.w=2");
    assert_int_equal(CALL("a", "--word=1", "--word=1"), 1);
    assert_int_equal(seen.calls, 0);
}

static void what_is_wrong_is_refused_before_anything_runs(void **state)
{
    (void)state;
    assert_int_equal(CALL("a", "--widht=3"), 1);
    assert_int_equal(CALL("a", "--max-width=0"), 1);
    assert_int_equal(CALL("a", "--max-width=+3"), 1);
    assert_int_equal(CALL("a", "--max-width"), 1);
    assert_int_equal(CALL("a", "--later"), 1);
    assert_int_equal(CALL("a", "-x"), 1);
    assert_int_equal(CALL("a", "-qv"), 1);
    assert_int_equal(CALL("a", "b", "c"), 1);
    assert_int_equal(CALL("--flag"), 1);
    assert_int_equal(seen.calls, 0);
}

static void the_command_line_can_be_pasted(void **state)
{
    (void)state;
    assert_int_equal(CALL("it's", "--word=a b", "--depth=3"), 3);
    assert_string_equal(seen.line, "highwater pick 'it'\\''s' '--word=a b' --depth=3");
}

static void every_option_of_every_command_is_in_its_help(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        struct text help = TEXT_INIT;
        struct option_part part;
        size_t options = 0;
        command_help(commands[i], &help);
        for (size_t j = 0; command_part(commands[i], j, &part); j++)
            for (const struct option *option = part.table; option->name; option++) {
                struct text flag = TEXT_INIT;
                command_add_flag(&flag, option->name);
                assert_non_null(strstr(text_string(&help), text_string(&flag)));
                assert_non_null(option->help);
                text_release(&flag);
                options++;
            }
        assert_true(options >= 3); /* at least what is the same everywhere */
        text_release(&help);
    }
}

/* The section's part of the help, up to the next; the caller frees. */
static char *section_of(const struct text *help, const char *section)
{
    char *heading = xasprintf("\n[%s]", section);
    const char *from = strstr(text_string(help), heading);
    free(heading);
    assert_non_null(from);
    const char *end = strstr(from + 1, "\n[");
    return end ? xstrndup(from, (size_t)(end - from)) : xstrdup(from);
}

static void assert_keys(const struct text *help, const char *section,
                        const struct option *options)
{
    char *part = section_of(help, section);
    for (; options && options->name; options++) {
        char *key = xasprintf("\n  %s = ", options->name);
        if (!strstr(part, key) || !options->help)
            fail_msg("[%s] of the help lacks %s:%s", section, options->name, part);
        free(key);
    }
    free(part);
}

static void every_key_of_a_study_is_in_the_help_of_plan(void **state)
{
    (void)state;
    struct text help = TEXT_INIT;
    command_help(&command_plan, &help);
    for (const struct study_table *table = study_tables; table->section; table++)
        assert_keys(&help, table->section, table->options);
    for (size_t i = 0; workloads[i]; i++)
        assert_keys(&help, workloads[i]->name, workloads[i]->options);
    for (const struct study_kind *kind = study_kinds; kind->name; kind++) {
        char *section = xasprintf("%s %s", kind->name, kind->argument);
        assert_keys(&help, section, kind->options == point_options ? NULL : kind->options);
        free(section);
    }
    text_release(&help);
}

static void no_option_of_a_command_hides_another(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        struct option_part part, own;
        for (size_t j = 0; command_part(commands[i], j, &part); j++)
            for (size_t k = 0; k < j && command_part(commands[i], k, &own); k++)
                for (const struct option *option = part.table; option->name; option++)
                    if (own.offset != OPTION_COLLECT)
                        assert_null(option_find(own.table, option->name));
    }
}

static void a_letter_stands_for_one_option(void **state)
{
    (void)state;
    for (size_t i = 0; commands[i]; i++) {
        const char *of[128] = {NULL};
        struct option_part part;
        for (size_t j = 0; command_part(commands[i], j, &part); j++)
            for (const struct option *option = part.table; option->name; option++) {
                size_t letter = (size_t)(unsigned char)option->letter;
                if (letter == 0)
                    continue;
                assert_true(letter < 128);
                if (of[letter])
                    fail_msg("%s: -%c is --%s and --%s", commands[i]->name, option->letter,
                             of[letter], option->name);
                of[letter] = option->name;
            }
        assert_string_equal(of['q'], "quiet");
        assert_true(of['o'] || commands[i]->not_yet);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_taken_in_every_spelling),
        cmocka_unit_test(operands_may_begin_with_a_hyphen_behind_two),
        cmocka_unit_test(what_is_handed_on_is_not_read),
        cmocka_unit_test(only_the_repeated_option_may_come_again),
        cmocka_unit_test(what_is_wrong_is_refused_before_anything_runs),
        cmocka_unit_test(the_command_line_can_be_pasted),
        cmocka_unit_test(every_option_of_every_command_is_in_its_help),
        cmocka_unit_test(every_key_of_a_study_is_in_the_help_of_plan),
        cmocka_unit_test(no_option_of_a_command_hides_another),
        cmocka_unit_test(a_letter_stands_for_one_option),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
