#include "harness/command/command.h"
#include "harness/study/study_options.h"

#include <string.h>

/* The exit codes, for people; the numbers are enum sweep_outcome's. */
static const char exit_codes[] =
    "exit codes:\n"
    "  0            done as asked; runs that failed are rows, and rows are a result\n"
    "  1            failed: bad input, I/O, internal\n"
    "  2            a measurement was asked for and there is no usable device\n"
    "  3            the study ran to its end and every run failed\n"
    "  4            output exists or is in use; nothing was touched\n"
    "  5            the device was lost; the rest is left undone\n"
    "  129 130 143  interrupted (SIGHUP, SIGINT, SIGTERM); the rows are safe\n";

static void overview(struct text *out)
{
    text_add(out,
             "usage: highwater COMMAND [option…]\n\n"
             "Does this workload fit on this card, and how far does each dimension go?\n\n");
    for (size_t i = 0; commands[i]; i++)
        text_addf(out, "  %-13s%s%s\n", commands[i]->name, commands[i]->summary,
                  commands[i]->not_yet ? " (not yet)" : "");
    text_add(out,
             "\nhighwater COMMAND --help   the options of a command\n"
             "highwater --version        the version of the program\n\n"
             "Standard output is data, standard error is messages and progress.\n"
             "Sizes are digits directly followed by nothing, B, kB, MB, GB, TB (powers of\n"
             "1000), KiB, MiB, GiB or TiB (powers of 1024).\n\n");
    text_add(out, exit_codes);
}

void command_help(const struct command *command, struct text *out)
{
    if (!command) {
        overview(out);
        return;
    }
    text_addf(out, "usage: highwater %s%s%s [option…]\n\n%s\n", command->name,
              command->operands ? " " : "", command->operands ? command->operands : "",
              command->summary);
    if (command->about)
        text_addf(out, "\n%s\n", command->about);
    if (command->not_yet)
        text_addf(out, "\nnot yet: %s\n", command->not_yet);
    struct option_part part;
    for (size_t i = 0; command_part(command, i, &part); i++) {
        text_addf(out, "\n%s:\n", part.title ? part.title : "options");
        option_help(part.table, out);
    }
    if (command->keys) {
        text_addf(out, "\n%s\n", command->keys);
        study_keys_help(out);
    }
}
