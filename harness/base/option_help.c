#include "harness/base/option.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HELP_COLUMN 34 /* where the help text of an option begins */

const char *option_nearest(const struct option *const *tables, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; tables[i] != NULL; i++)
        for (const struct option *option = tables[i]; option->name != NULL; option++)
            count++;
    const char **names = xcalloc(count + 1, sizeof *names);
    count = 0;
    for (size_t i = 0; tables[i] != NULL; i++)
        for (const struct option *option = tables[i]; option->name != NULL; option++)
            names[count++] = option->name;
    const char *nearest = text_nearest(name, names);
    free(names);
    return nearest;
}

static void add_argument(const struct option *option, struct text *out)
{
    static const char *const argument[] = {
        [OPTION_COUNT] = "N",       [OPTION_MAYBE_COUNT] = "N",
        [OPTION_SIZE] = "SIZE",     [OPTION_MAYBE_SIZE] = "SIZE",
        [OPTION_CAPACITY] = "SIZE", [OPTION_MAYBE_CAPACITY] = "SIZE",
        [OPTION_DURATION] = "TIME", [OPTION_MAYBE_DURATION] = "TIME",
        [OPTION_REAL] = "X",        [OPTION_FLAG] = "yes|no",
        [OPTION_TEXT] = "TEXT",
    };
    if (!option->choices)
        text_add(out, argument[option->type]);
    for (size_t i = 0; option->choices && option->choices[i]; i++)
        text_addf(out, "%s%s", i == 0 ? "" : "|", option->choices[i]);
}

/* The help of the option whose name begins at `start`, in a line of its own if the name is
 * long. */
static void add_help(const struct option *option, size_t start, struct text *out)
{
    if (out->length - start > HELP_COLUMN - 2) {
        text_add_char(out, '\n');
        start = out->length;
    }
    while (out->length - start < HELP_COLUMN)
        text_add_char(out, ' ');
    text_add(out, option->help);
}

void option_help(const struct option *table, struct text *out)
{
    for (const struct option *option = table; option->name != NULL; option++) {
        size_t start = out->length;
        text_add(out, "  --");
        for (const char *c = option->name; *c != '\0'; c++)
            text_add_char(out, *c == '_' ? '-' : *c);
        if (option->type != OPTION_FLAG) {
            text_add_char(out, '=');
            add_argument(option, out);
        }
        add_help(option, start, out);
        if (option->letter != 0)
            text_addf(out, " (-%c)", option->letter);
        bool plain = option->fallback == NULL || option->fallback[0] == '\0' ||
                     (option->type == OPTION_FLAG && strcmp(option->fallback, "no") == 0);
        bool others = !plain && option->type == OPTION_CHOICE && option->not_yet != NULL;
        if (!plain)
            text_addf(out, " (%s%s)", option->fallback, others ? "; the others not yet" : "");
        if (option->not_yet != NULL && !others)
            text_add(out, " [not yet]");
        text_add_char(out, '\n');
    }
}

void option_help_keys(const struct option *table, struct text *out)
{
    for (const struct option *option = table; option->name != NULL; option++) {
        size_t start = out->length;
        text_addf(out, "  %s = ", option->name);
        add_argument(option, out);
        add_help(option, start, out);
        const char *fallback = option->fallback ? option->fallback : "needed";
        bool bounded = option->type == OPTION_COUNT && option->maximum > 0;
        if (fallback[0] || bounded)
            text_addf(out, " (%s", fallback);
        if (bounded)
            text_addf(out, "; %" PRIu64 " to %" PRIu64, option->minimum, option->maximum);
        if (fallback[0] || bounded)
            text_add_char(out, ')');
        text_add(out, option->not_yet ? " [others not yet]\n" : "\n");
    }
}
