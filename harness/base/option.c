#include "harness/base/option.h"

#include "harness/base/reading.h"
#include "harness/base/units.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 60 /* bytes of a refused value that a message repeats */

/* A value outside any target. `text` is borrowed from what was parsed. */
union option_value {
    struct reading reading;
    uint64_t count;
    double real;
    bool flag;
    int choice;
    const char *text;
};

static const size_t sizes[] = {
    [OPTION_COUNT] = sizeof(uint64_t),
    [OPTION_MAYBE_COUNT] = sizeof(struct reading),
    [OPTION_SIZE] = sizeof(uint64_t),
    [OPTION_MAYBE_SIZE] = sizeof(struct reading),
    [OPTION_CAPACITY] = sizeof(uint64_t),
    [OPTION_MAYBE_CAPACITY] = sizeof(struct reading),
    [OPTION_DURATION] = sizeof(uint64_t),
    [OPTION_MAYBE_DURATION] = sizeof(struct reading),
    [OPTION_REAL] = sizeof(double),
    [OPTION_FLAG] = sizeof(bool),
    [OPTION_CHOICE] = sizeof(int),
    [OPTION_NAME] = sizeof(char *),
    [OPTION_TEXT] = sizeof(char *),
};

static void *place(const struct option *option, void *target)
{
    return (char *)target + option->offset;
}

static bool is_duration(const struct option *option)
{
    return option->type == OPTION_DURATION || option->type == OPTION_MAYBE_DURATION;
}

/* --- values as text -------------------------------------------------------------------- */

/* The largest unit that leaves no rest: what parse_duration takes. */
static void add_duration(struct text *out, uint64_t nanoseconds)
{
    static const struct {
        uint64_t factor;
        const char *name;
    } units[] = {{3600000000000, "h"}, {60000000000, "m"}, {1000000000, "s"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (nanoseconds > 0 && nanoseconds % units[i].factor == 0) {
            text_addf(out, "%llu%s", (unsigned long long)(nanoseconds / units[i].factor),
                      units[i].name);
            return;
        }
    text_addf(out, "%llums", (unsigned long long)(nanoseconds / 1000000));
}

/* The fewest decimals that read back equal; the grammar has no exponent. */
static void add_real(struct text *out, double value)
{
    char digits[1500];
    for (int decimals = 0; decimals < 1100; decimals++) {
        snprintf(digits, sizeof digits, "%.*f", decimals, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add(out, digits);
}

static void add_count(struct text *out, const struct option *option, uint64_t value)
{
    if (is_duration(option))
        add_duration(out, value);
    else
        text_addf(out, "%llu", (unsigned long long)value);
}

static void add_value(struct text *out, const struct option *option,
                      const union option_value *value)
{
    switch (option->type) {
    case OPTION_COUNT:
    case OPTION_SIZE:
    case OPTION_CAPACITY:
    case OPTION_DURATION:
        add_count(out, option, value->count);
        break;
    case OPTION_MAYBE_COUNT:
    case OPTION_MAYBE_SIZE:
    case OPTION_MAYBE_CAPACITY:
    case OPTION_MAYBE_DURATION:
        if (value->reading.known)
            add_count(out, option, value->reading.value);
        break;
    case OPTION_REAL:
        add_real(out, value->real);
        break;
    case OPTION_FLAG:
        text_add(out, value->flag ? "yes" : "no");
        break;
    case OPTION_CHOICE:
        text_add(out, option->choices[value->choice]);
        break;
    case OPTION_NAME:
    case OPTION_TEXT:
        text_add(out, value->text != NULL ? value->text : "");
        break;
    }
}

void option_format(const struct option *option, const void *target, struct text *out)
{
    union option_value value;
    memcpy(&value, (const char *)target + option->offset, sizes[option->type]);
    add_value(out, option, &value);
}

/* --- text as values -------------------------------------------------------------------- */

/* Appends `name: "value" ` and returns -1; the caller appends the reason behind it. */
static int refuse(const struct option *option, const char *value, struct text *why)
{
    text_addf(why, "%s: \"", option->name);
    text_add_escaped(why, value, strlen(value), SHOWN);
    return text_fail(why, "\" ");
}

static int check_bounds(const struct option *option, const char *value, uint64_t count,
                        struct text *why)
{
    bool bounded = option->maximum != 0;
    if (count >= option->minimum && (!bounded || count <= option->maximum))
        return 0;
    refuse(option, value, why);
    text_add(why, bounded ? "is out of range (" : "is out of range (at least ");
    add_count(why, option, option->minimum);
    if (bounded) {
        text_add(why, " to ");
        add_count(why, option, option->maximum);
    }
    text_add_char(why, ')');
    return -1;
}

static int parse_number(const struct option *option, const char *value, uint64_t *count,
                        struct text *why)
{
    static int (*const parse[])(const char *, uint64_t *, struct text *) = {
        [OPTION_COUNT] = parse_count,       [OPTION_MAYBE_COUNT] = parse_count,
        [OPTION_SIZE] = parse_size,         [OPTION_MAYBE_SIZE] = parse_size,
        [OPTION_CAPACITY] = parse_capacity, [OPTION_MAYBE_CAPACITY] = parse_capacity,
        [OPTION_DURATION] = parse_duration, [OPTION_MAYBE_DURATION] = parse_duration};
    struct text reason = TEXT_INIT;
    int failed = parse[option->type](value, count, &reason);
    if (failed)
        text_addf(why, "%s: %s", option->name, text_string(&reason));
    text_release(&reason);
    return failed ? -1 : check_bounds(option, value, *count, why);
}

static int parse_choice(const struct option *option, const char *value,
                        union option_value *parsed, struct text *why)
{
    for (int i = 0; option->choices[i] != NULL; i++)
        if (strcmp(option->choices[i], value) == 0) {
            if (option->type == OPTION_NAME)
                parsed->text = option->choices[i];
            else
                parsed->choice = i;
            return 0;
        }
    refuse(option, value, why);
    text_add(why, "is none of");
    for (int i = 0; option->choices[i] != NULL; i++)
        text_addf(why, "%s %s", i == 0 ? "" : ",", option->choices[i]);
    const char *nearest = text_nearest(value, option->choices);
    if (nearest != NULL)
        text_addf(why, "; did you mean \"%s\"?", nearest);
    return -1;
}

static int parse_flag(const struct option *option, const char *value, bool *flag,
                      struct text *why)
{
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0) {
        refuse(option, value, why);
        return text_fail(why, "is neither yes nor no");
    }
    *flag = value[0] == 'y';
    return 0;
}

static int parse_text(const struct option *option, const char *value, struct text *why)
{
    if (text_is_utf8(value, strlen(value)))
        return 0;
    refuse(option, value, why);
    return text_fail(why, "is not valid UTF-8");
}

static int parse_value(const struct option *option, const char *given,
                       union option_value *value, struct text *why)
{
    struct text reason = TEXT_INIT;
    int failed = 0;
    switch (option->type) {
    case OPTION_COUNT:
    case OPTION_SIZE:
    case OPTION_CAPACITY:
    case OPTION_DURATION:
        return parse_number(option, given, &value->count, why);
    case OPTION_MAYBE_COUNT:
    case OPTION_MAYBE_SIZE:
    case OPTION_MAYBE_CAPACITY:
    case OPTION_MAYBE_DURATION:
        value->reading.known = given[0] != '\0';
        if (value->reading.known)
            failed = parse_number(option, given, &value->reading.value, why);
        break;
    case OPTION_REAL:
        failed = parse_real(given, &value->real, &reason);
        if (failed)
            text_addf(why, "%s: %s", option->name, text_string(&reason));
        break;
    case OPTION_FLAG:
        return parse_flag(option, given, &value->flag, why);
    case OPTION_CHOICE:
    case OPTION_NAME:
        return parse_choice(option, given, value, why);
    case OPTION_TEXT:
        value->text = given;
        return parse_text(option, given, why);
    }
    text_release(&reason);
    return failed;
}

/* A fallback outside its own grammar is a bug of the table. */
static union option_value parse_fallback(const struct option *option)
{
    union option_value value = {.reading = {0}};
    int failed = parse_value(option, option->fallback, &value, NULL);
    assert(failed == 0);
    (void)failed;
    return value;
}

/* What is reserved for later is refused, whatever way its default may be written in. */
static int check_not_yet(const struct option *option, const char *given,
                         const union option_value *value, struct text *why)
{
    if (option->not_yet == NULL)
        return 0;
    bool same = false;
    if (option->fallback != NULL) {
        union option_value fallback = parse_fallback(option);
        struct text asked = TEXT_INIT, offered = TEXT_INIT;
        add_value(&asked, option, value);
        add_value(&offered, option, &fallback);
        same = strcmp(text_string(&asked), text_string(&offered)) == 0;
        text_release(&asked);
        text_release(&offered);
    }
    if (same)
        return 0;
    refuse(option, given, why);
    text_add(why, "is not yet possible");
    if (option->not_yet[0] != '\0')
        text_addf(why, ": %s", option->not_yet);
    if (option->fallback != NULL && option->fallback[0] != '\0')
        text_addf(why, " (only \"%s\")", option->fallback);
    return -1;
}

static void store(const struct option *option, void *target, union option_value value)
{
    if (option->type == OPTION_TEXT && value.text != NULL)
        value.text = xstrdup(value.text);
    memcpy(place(option, target), &value, sizes[option->type]);
}

int option_set(const struct option *option, void *target, const char *value, struct text *why)
{
    union option_value parsed = {.reading = {0}};
    if (value == NULL && option->type != OPTION_FLAG)
        return text_fail(why, "%s: a value is missing", option->name);
    const char *given = value != NULL ? value : "yes";
    if (parse_value(option, given, &parsed, why) != 0 ||
        check_not_yet(option, given, &parsed, why) != 0)
        return -1;
    char *old = option->type == OPTION_TEXT ? *(char **)place(option, target) : NULL;
    store(option, target, parsed);
    free(old);
    return 0;
}

/* --- tables ---------------------------------------------------------------------------- */

void option_defaults(const struct option *table, void *target)
{
    for (const struct option *option = table; option->name != NULL; option++) {
        union option_value value = {.reading = {0}};
        if (option->fallback != NULL)
            value = parse_fallback(option);
        store(option, target, value);
    }
}

void option_release(const struct option *table, void *target)
{
    for (const struct option *option = table; option->name != NULL; option++)
        if (option->type == OPTION_TEXT) {
            free(*(char **)place(option, target));
            *(char **)place(option, target) = NULL;
        }
}

static bool same_name(const char *a, const char *b)
{
    for (; *a != '\0' && *b != '\0'; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b))
            return false;
    return *a == *b;
}

const struct option *option_find(const struct option *table, const char *name)
{
    for (const struct option *option = table; option->name != NULL; option++)
        if (same_name(option->name, name))
            return option;
    return NULL;
}

/* --- words of a command line ----------------------------------------------------------- */

char *option_split(const char *word, const char **value)
{
    if (strncmp(word, "--", 2) != 0)
        return NULL;
    const char *name = word + 2, *equals = strchr(name, '=');
    *value = equals != NULL ? equals + 1 : NULL;
    return xstrndup(name, equals != NULL ? (size_t)(equals - name) : strlen(name));
}

static int take(const struct option_home *homes, const char *name, const char *value,
                struct text *why)
{
    const struct option *tables[OPTION_HOMES + 1] = {NULL};
    for (size_t i = 0; homes[i].table != NULL; i++) {
        const struct option *option = option_find(homes[i].table, name);
        if (option != NULL)
            return option_set(option, homes[i].target, value, why);
        assert(i < OPTION_HOMES);
        tables[i] = homes[i].table;
    }
    const char *nearest = option_nearest(tables, name);
    text_addf(why, "--%s: unknown option", name);
    if (nearest != NULL)
        text_addf(why, "; did you mean --%s?", nearest);
    return -1;
}

int option_take(const struct option_home *homes, const char *word, struct text *why)
{
    const char *value = NULL;
    char *name = option_split(word, &value);
    int result = -1;
    if (value == NULL)
        text_addf(why, "%s: not an option of the form --name=value", word);
    else
        result = take(homes, name, value, why);
    free(name);
    return result;
}
