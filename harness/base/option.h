/* option: one row per setting; study files, command lines, help and records walk the rows.
 *
 * A table is an array of `struct option` ended by a row whose name is NULL. `offset` says where
 * in the caller's target struct the value lives:
 *   OPTION_COUNT, OPTION_SIZE, OPTION_DURATION   uint64_t
 *   OPTION_CAPACITY                              uint64_t, a size of units.h's capacity
 *   OPTION_MAYBE_COUNT, OPTION_MAYBE_SIZE,
 *   OPTION_MAYBE_CAPACITY                        struct reading (an empty value: missing)
 *   OPTION_MAYBE_DURATION                        struct reading, nanoseconds
 *   OPTION_REAL                                  double
 *   OPTION_FLAG                                  bool, "yes" or "no" (a bare --flag is yes)
 *   OPTION_CHOICE                                int, index into `choices`
 *   OPTION_NAME                                  const char *, one of `choices`
 *   OPTION_TEXT                                  char *, owned by the target
 * Names are written with underscores; on a command line hyphens and underscores are the same.
 */
#ifndef HIGHWATER_BASE_OPTION_H
#define HIGHWATER_BASE_OPTION_H

#include "harness/base/text.h"

#include <stddef.h>
#include <stdint.h>

enum option_type {
    OPTION_COUNT,
    OPTION_MAYBE_COUNT,
    OPTION_SIZE,
    OPTION_MAYBE_SIZE,
    OPTION_CAPACITY,
    OPTION_MAYBE_CAPACITY,
    OPTION_DURATION,
    OPTION_MAYBE_DURATION,
    OPTION_REAL,
    OPTION_FLAG,
    OPTION_CHOICE,
    OPTION_NAME,
    OPTION_TEXT,
};

struct option {
    const char *name;
    enum option_type type;
    size_t offset;
    uint64_t minimum, maximum;  /* COUNT, SIZE, DURATION; maximum 0: no upper bound */
    const char *const *choices; /* CHOICE, NAME: NULL-terminated */
    const char *fallback;       /* default, in the grammar of the type; NULL: must be given */
    const char *help;           /* one line; begins with the argument's meaning */
    char letter;                /* 'o': -o stands for it where a command allows; 0: none */
    const char *not_yet;        /* non-NULL: values but `fallback` are refused; "" or why */
    const void *about;          /* what else the table's owner says of it, as he declares it */
};

/* In a row: the choices "a", "b" … */
#define OPTION_CHOICES(...)                                                                    \
    .choices = (const char *const[])                                                           \
    {                                                                                          \
        __VA_ARGS__, NULL                                                                      \
    }

/* Sets every option of the table to its fallback (a NULL fallback: zero, missing or NULL). */
void option_defaults(const struct option *table, void *target);
/* Frees what the table's TEXT options own. */
void option_release(const struct option *table, void *target);
/* The row with this name (hyphen = underscore), or NULL. */
const struct option *option_find(const struct option *table, const char *name);
/* Parses `value` into the target. -1: the reason names the option, its bounds or choices. */
int option_set(const struct option *option, void *target, const char *value,
               struct text *why) MUST_CHECK;
/* The name in a word "--name" or "--name=value", which the caller frees, and *value behind the
 * "=", NULL when there is none. NULL: the word does not begin with "--". */
char *option_split(const char *word, const char **value) MUST_CHECK;
/* Tables with the structs that their values go to, in the order in which a name is looked for;
 * a NULL table ends the list, of at most OPTION_HOMES. */
struct option_home {
    const struct option *table;
    void *target;
};
#define OPTION_HOMES 7
/* Does what a word "--name=value" says. -1 also for a name that no table has. */
int option_take(const struct option_home *homes, const char *word, struct text *why) MUST_CHECK;
/* Appends the value in the option's own grammar ("" when missing), as option_set takes it. */
void option_format(const struct option *option, const void *target, struct text *out);
/* The nearest name among several tables (NULL-terminated list), or NULL. */
const char *option_nearest(const struct option *const *tables, const char *name);
/* Appends help lines, one per option: "  --name=CHOICES    help (default)". */
void option_help(const struct option *table, struct text *out);
/* The same for keys of a file: "  name = CHOICES    help (default; 1 to 100)", and "(needed)"
 * where there is no default. */
void option_help_keys(const struct option *table, struct text *out);

#endif
