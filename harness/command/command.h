/* command: what the words after `highwater` do; a row each in commands.c.
 *
 * The facility does what is the same everywhere: options out of tables, --help, -q, -v, nearest
 * names, "not yet", writing the result and checking that it was written. A command's `run` gets
 * its options filled in, does the work, and leaves its result in call->out, which the facility
 * writes to standard output or to the file of --output (an existing one is refused, exit 4).
 */
#ifndef HIGHWATER_COMMAND_COMMAND_H
#define HIGHWATER_COMMAND_COMMAND_H

#include "harness/base/option.h"

#include <stdbool.h>

/* A table of options and where its values go. */
struct option_part {
    const char *title;          /* heading in the help; NULL: "options" */
    const struct option *table; /* NULL ends a list of parts */
    size_t offset;              /* of the table's target in the command's options struct */
};
/* Options of such a part are kept in call->given only: the command hands them on. */
#define OPTION_COLLECT ((size_t)-1)

struct given {
    const struct option *option;
    const char *value; /* borrowed from argv; "yes" for a bare flag */
};

struct command_call {
    void *options;         /* command->options_size bytes, filled by its parts */
    const char **operands; /* what is not an option */
    size_t operand_count;
    struct given *given; /* every option that was given, in order */
    size_t given_count;
    const char *command_line; /* quoted for a shell */
    struct text out;          /* the result: standard output, or the file of --output */
};

struct command {
    const char *name;
    const char *summary;  /* one line */
    const char *operands; /* shown after the name: "STUDY.ini"; NULL: it takes none */
    size_t operand_min, operand_max;
    const char *about;    /* further lines of the help; NULL: none */
    const char *keys;     /* heading of the list of study keys behind the help; NULL: none */
    const char *not_yet;  /* non-NULL: refused with these words */
    const char *repeated; /* the one option that may be given again; NULL: none */
    size_t options_size;
    const struct option_part *parts; /* NULL: none */
    /* Further parts, all collected, index 0, 1, …; false after the last. NULL: none. */
    bool (*more)(size_t index, struct option_part *part);
    /* Returns the exit code (README, "exit codes"); reasons were logged. */
    int (*run)(struct command_call *call);
};

/* All of them, in the order of the help; NULL-terminated. */
extern const struct command *const commands[];
extern const struct command command_estimate, command_environment, command_measure,
    command_plan, command_sweep, command_status, command_report, command_compare,
    command_replay, command_forecast, command_columns;

/* argv[0] is the program. Returns the exit code. */
int command_main(int argc, char **argv);

/* For struct output_option: --output and --json, the same words in every command that prints.
 */
struct output_option {
    char *output; /* NULL: standard output; the facility writes the file */
    bool json;
};
extern const struct option output_options[];      /* both */
extern const struct option output_only_options[]; /* --output */

/* The value given for an option of this name, or NULL when it was not given. */
const char *command_given(const struct command_call *call, const char *name);
/* Appends "--kv-heads" for kv_heads. */
void command_add_flag(struct text *out, const char *name);
/* Every --set in order into `overrides`, which has room for call->given_count; their number. */
size_t command_overrides(const struct command_call *call, const char **overrides);
/* Logs each line as an error of its own. */
void command_log_lines(const struct text *lines);

/* The parts of the facility, apart for its tests. */
bool command_part(const struct command *command, size_t index, struct option_part *part);
int command_run(const struct command *command, int argc, char **argv);
void command_help(const struct command *command, struct text *out);
/* Writes the whole text, as text_add_shown does, to the file, or to standard output when it is
 * "" or NULL, and makes sure that it arrived. Returns the exit code; the reason was logged. */
int command_write(const struct text *out, const char *path) MUST_CHECK;

#endif
