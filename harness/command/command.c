#include "harness/command/command.h"

#include "harness/base/argv.h"
#include "harness/base/file.h"
#include "harness/base/log.h"
#include "harness/drive/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct everywhere {
    bool help, quiet, verbose;
};
static const struct option everywhere_options[] = {
    {"help", OPTION_FLAG, .offset = offsetof(struct everywhere, help), .fallback = "no",
     .help = "print this and stop", .letter = 'h'},
    {"quiet", OPTION_FLAG, .offset = offsetof(struct everywhere, quiet), .fallback = "no",
     .help = "errors only on standard error", .letter = 'q'},
    {"verbose", OPTION_FLAG, .offset = offsetof(struct everywhere, verbose), .fallback = "no",
     .help = "more on standard error", .letter = 'v'},
    {.name = NULL},
};

#define OUTPUT_ROW                                                                             \
    {                                                                                          \
        .name = "output", .type = OPTION_TEXT,                                                 \
        .offset = offsetof(struct output_option, output), .fallback = "",                      \
        .help = "new file for the result, instead of standard output", .letter = 'o'           \
    }
const struct option output_options[] = {
    OUTPUT_ROW,
    {"json", OPTION_FLAG, .offset = offsetof(struct output_option, json), .fallback = "no",
     .help = "the result as JSON"},
    {.name = NULL},
};
const struct option output_only_options[] = {OUTPUT_ROW, {.name = NULL}};

/* What is being read: the call as its command will see it, and the facility's own options. */
struct parsing {
    const struct command *command;
    struct command_call *call;
    struct everywhere everywhere;
};

static size_t own_parts(const struct command *command)
{
    size_t count = 0;
    while (command->parts && command->parts[count].table)
        count++;
    return count;
}

/* The command's own parts, what it adds, and what is the same everywhere, in this order. */
bool command_part(const struct command *command, size_t index, struct option_part *part)
{
    size_t own = own_parts(command);
    if (index < own) {
        *part = command->parts[index];
        return true;
    }
    size_t added = 0;
    for (struct option_part more; command->more && command->more(added, &more); added++) {
        if (index == own + added) {
            *part = more;
            part->offset = OPTION_COLLECT;
            return true;
        }
    }
    if (index > own + added)
        return false;
    *part = (struct option_part){.title = "everywhere", .table = everywhere_options};
    return true;
}

const char *command_given(const struct command_call *call, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i].option->name, name) == 0)
            value = call->given[i].value;
    return value;
}

size_t command_overrides(const struct command_call *call, const char **overrides)
{
    size_t count = 0;
    for (size_t i = 0; i < call->given_count; i++)
        if (strcmp(call->given[i].option->name, "set") == 0)
            overrides[count++] = call->given[i].value;
    return count;
}

void command_log_lines(const struct text *lines)
{
    size_t at = 0, length;
    for (const char *line; (line = text_line(lines, &at, &length)) != NULL;)
        log_error("%.*s", (int)length, line);
}

void command_add_flag(struct text *out, const char *name)
{
    text_add(out, "--");
    for (; *name; name++)
        text_add_char(out, *name == '_' ? '-' : *name);
}

static const struct option *find_option(struct parsing *parsing, const char *name,
                                        void **target)
{
    struct option_part part;
    for (size_t i = 0; command_part(parsing->command, i, &part); i++) {
        const struct option *option = option_find(part.table, name);
        if (!option)
            continue;
        if (part.table == everywhere_options)
            *target = &parsing->everywhere;
        else if (part.offset == OPTION_COLLECT)
            *target = NULL;
        else
            *target = (char *)parsing->call->options + part.offset;
        return option;
    }
    return NULL;
}

static void unknown_option(const struct command *command, const char *name)
{
    const struct option *tables[32] = {NULL};
    struct option_part part;
    for (size_t i = 0; i < 31 && command_part(command, i, &part); i++)
        tables[i] = part.table;
    const char *nearest = option_nearest(tables, name);
    struct text hint = TEXT_INIT;
    if (nearest) {
        text_add(&hint, "; did you mean ");
        command_add_flag(&hint, nearest);
        text_add_char(&hint, '?');
    }
    log_error("%s: unknown option --%s%s", command->name, name, text_string(&hint));
    text_release(&hint);
}

/* Notes the option; its value is checked here unless the command hands it on. */
static int take_option(struct parsing *parsing, const struct option *option, void *target,
                       const char *value)
{
    struct command_call *call = parsing->call;
    const char *repeated = parsing->command->repeated;
    if (command_given(call, option->name) && !(repeated && !strcmp(repeated, option->name))) {
        struct text flag = TEXT_INIT;
        command_add_flag(&flag, option->name);
        log_error("%s: %s is given twice", parsing->command->name, text_string(&flag));
        text_release(&flag);
        return -1;
    }
    struct text why = TEXT_INIT;
    int outcome = target ? option_set(option, target, value, &why) : 0;
    if (outcome != 0)
        log_error("%s: %s", parsing->command->name, text_string(&why));
    text_release(&why);
    *GROW(call->given, call->given_count) = (struct given){.option = option, .value = value};
    return outcome;
}

/* The long option that a letter stands for, or NULL. */
static const char *long_name(const struct command *command, char letter)
{
    struct option_part part;
    for (size_t i = 0; command_part(command, i, &part); i++)
        for (const struct option *option = part.table; option->name; option++)
            if (letter && option->letter == letter)
                return option->name;
    return NULL;
}

/* The name in --name, --name=value, -x or -xvalue; *value is NULL when the word has none. */
static char *split_word(const struct command *command, const char *word, const char **value)
{
    if (word[1] == '-')
        return option_split(word, value);
    const char *name = long_name(command, word[1]);
    *value = word[2] ? word + 2 : NULL;
    return name ? xstrdup(name) : NULL;
}

/* One argument that begins with a hyphen; *index moves on when its value is the next one. */
static int parse_option(struct parsing *parsing, char **argv, int *index)
{
    const char *word = argv[*index], *value;
    char *name = split_word(parsing->command, word, &value);
    if (!name) {
        log_error("%s: unknown option %s", parsing->command->name, word);
        return -1;
    }
    void *target;
    const struct option *option = find_option(parsing, name, &target);
    if (!option)
        unknown_option(parsing->command, name);
    free(name);
    if (!option)
        return -1;
    if (!value && option->type == OPTION_FLAG)
        return take_option(parsing, option, target, "yes");
    if (!value)
        value = argv[*index + 1] ? argv[++*index] : NULL;
    if (!value) {
        log_error("%s: %s needs a value", parsing->command->name, word);
        return -1;
    }
    return take_option(parsing, option, target, value);
}

static int parse_all(struct parsing *parsing, int argc, char **argv)
{
    struct command_call *call = parsing->call;
    const struct command *command = parsing->command;
    bool options = true;
    for (int i = 1; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && argv[i][0] == '-' && argv[i][1]) {
            if (parse_option(parsing, argv, &i) != 0)
                return -1;
        } else
            call->operands[call->operand_count++] = argv[i];
    }
    if (parsing->everywhere.help)
        return 0;
    if (call->operand_count < command->operand_min) {
        log_error("%s: %s is missing", command->name, command->operands);
        return -1;
    }
    if (call->operand_count > command->operand_max) {
        log_error("%s: unexpected argument '%s'", command->name,
                  call->operands[command->operand_max]);
        return -1;
    }
    return 0;
}

/* A result may hold texts of files and other programs: control characters in it must not reach
 * the terminal. CSV and JSON have their own escapes and are not changed here. */
int command_write(const struct text *result, const char *path)
{
    struct text why = TEXT_INIT, shown = TEXT_INIT;
    text_add_shown(&shown, text_string(result), result->length);
    int code = EXIT_SUCCESS;
    if (path && path[0] && file_exists(path)) {
        text_addf(&why, "%s exists; nothing was written", path);
        code = SWEEP_EXISTS;
    } else if (path && path[0]) {
        if (file_create(path, shown.data, shown.length, &why) != 0)
            code = EXIT_FAILURE;
    } else if (file_write_all(STDOUT_FILENO, shown.data, shown.length, "standard output",
                              &why) != 0) {
        code = EXIT_FAILURE;
    }
    if (code != EXIT_SUCCESS)
        log_error("%s", text_string(&why));
    text_release(&shown);
    text_release(&why);
    return code;
}

/* The options are filled; what the command leaves in `out` is written even when it failed: a
 * failure that was measured is a result. */
static int perform(const struct parsing *parsing)
{
    struct command_call *call = parsing->call;
    if (parsing->everywhere.help) {
        command_help(parsing->command, &call->out);
        return command_write(&call->out, NULL);
    }
    int code = parsing->command->run(call);
    if (call->out.length == 0)
        return code;
    int written = command_write(&call->out, command_given(call, "output"));
    return written == EXIT_SUCCESS ? code : written;
}

static void each_target(const struct parsing *parsing,
                        void (*act)(const struct option *table, void *target))
{
    const struct command *command = parsing->command;
    for (size_t i = 0; i < own_parts(command); i++)
        if (command->parts[i].offset != OPTION_COLLECT)
            act(command->parts[i].table,
                (char *)parsing->call->options + command->parts[i].offset);
}

int command_run(const struct command *command, int argc, char **argv)
{
    bool help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (command->not_yet && !help) {
        log_error("%s: not yet: %s", command->name, command->not_yet);
        return EXIT_FAILURE;
    }
    struct text line = TEXT_INIT;
    text_add(&line, "highwater");
    for (int i = 0; i < argc; i++) {
        text_add_char(&line, ' ');
        word_quote(argv[i], &line);
    }
    struct command_call call = {.options = xcalloc(1, command->options_size + 1),
                                .operands = xcalloc((size_t)argc + 1, sizeof(char *)),
                                .command_line = text_string(&line)};
    struct parsing parsing = {.command = command, .call = &call};
    option_defaults(everywhere_options, &parsing.everywhere);
    each_target(&parsing, option_defaults);
    int code = EXIT_FAILURE;
    if (parse_all(&parsing, argc, argv) == 0) {
        log_open("highwater", parsing.everywhere.quiet     ? LOG_ERROR
                              : parsing.everywhere.verbose ? LOG_DETAIL
                                                           : LOG_NOTE);
        code = perform(&parsing);
    } else {
        log_note("highwater %s --help lists the options", command->name);
    }
    each_target(&parsing, option_release);
    text_release(&call.out);
    text_release(&line);
    free(call.given);
    free(call.operands);
    free(call.options);
    return code;
}
