#include "harness/base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 60 /* bytes of a refused value that a message repeats */

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"kB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", 1000000000000},
    {"KiB", 1ull << 10},
    {"MiB", 1ull << 20},
    {"GiB", 1ull << 30},
    {"TiB", 1ull << 40},
    {NULL, 0},
};

static const struct unit duration_units[] = {
    {"ms", 1000000}, {"s", 1000000000}, {"m", 60 * 1000000000ull}, {"h", 3600 * 1000000000ull},
    {NULL, 0},
};

int multiply_checked(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return -1;
    *out = product;
    return 0;
}

int add_checked(uint64_t a, uint64_t b, uint64_t *out)
{
    uint64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return -1;
    *out = sum;
    return 0;
}

/* Appends: "VALUE" and the reason; returns -1 so that a refusal is one statement. */
static int refuse(struct text *why, const char *value, const char *reason)
{
    text_add_char(why, '"');
    text_add_escaped(why, value, strlen(value), SHOWN);
    return text_fail(why, "\" %s", reason);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at the start of the string, as a number; *end is what follows them. */
static int leading_count(const char *string, uint64_t *out, const char **end, struct text *why)
{
    if (string[0] == '\0')
        return text_fail(why, "a number is missing");
    if (string[0] == '-' || string[0] == '+')
        return refuse(why, string, "is not a number: it has no sign");
    if (!is_digit(string[0]))
        return refuse(why, string, "is not a number: it begins with a digit 0 to 9");
    if (string[0] == '0' && is_digit(string[1]))
        return refuse(why, string, "is not a number: it has no leading zero");
    uint64_t value = 0;
    const char *at = string;
    for (; is_digit(*at); at++)
        if (multiply_checked(value, 10, &value) != 0 ||
            add_checked(value, (uint64_t)(*at - '0'), &value) != 0)
            return refuse(why, string, "is too large (at most 18446744073709551615)");
    *out = value;
    *end = at;
    return 0;
}

int parse_count(const char *string, uint64_t *out, struct text *why)
{
    uint64_t value;
    const char *end;
    if (leading_count(string, &value, &end, why) != 0)
        return -1;
    if (*end != '\0')
        return refuse(why, string,
                      "is not a whole number: digits and nothing else "
                      "(no unit, blank, comma, point or exponent)");
    *out = value;
    return 0;
}

static int refuse_unit(const struct unit *units, const char *string, const char *suffix,
                       struct text *why)
{
    struct text reason = TEXT_INIT;
    text_add(&reason, suffix[0] == '\0' ? "has no unit" : "has an unknown unit");
    if (suffix[0] == ' ' || suffix[0] == '\t')
        text_setf(&reason, "has a blank behind its digits");
    text_add(&reason, " (directly behind the digits:");
    for (const struct unit *unit = units; unit->name != NULL; unit++)
        text_addf(&reason, "%s %s", unit == units ? "" : ",",
                  unit->name[0] == '\0' ? "nothing" : unit->name);
    text_add(&reason, ")");
    refuse(why, string, text_string(&reason));
    text_release(&reason);
    return -1;
}

/* `factor` times 0.DIGITS, from the last digit on, so that any number of digits is exact.
 * False: there is a rest, which *out leaves off. */
static bool take_part(const char *digits, size_t count, uint64_t factor, uint64_t *out)
{
    uint64_t part = 0;
    bool whole = true;
    while (count-- > 0) {
        part += (uint64_t)(digits[count] - '0') * factor;
        whole = whole && part % 10 == 0;
        part /= 10;
    }
    *out = part;
    return whole;
}

/* What was meant: a card has GiB; thousands of them are the MiB of nvidia-smi. */
static void add_likely_unit(struct text *out, const char *string)
{
    size_t whole = strspn(string, "0123456789"), length = strspn(string, "0123456789.");
    text_add(out, "; \"");
    text_add_bytes(out, string, length);
    text_addf(out, "%ciB\"?", whole < 5 ? 'G' : 'M');
}

static int refuse_part(const char *string, uint64_t below, struct text *why)
{
    struct text reason = TEXT_INIT;
    text_addf(&reason, "is not a whole number of bytes: more than %llu, less than %llu",
              (unsigned long long)below, (unsigned long long)below + 1);
    if (string[strspn(string, "0123456789.")] == '\0')
        add_likely_unit(&reason, string);
    refuse(why, string, text_string(&reason));
    text_release(&reason);
    return -1;
}

static int parse_with_unit(const struct unit *units, bool decimals, const char *string,
                           uint64_t *out, struct text *why)
{
    uint64_t value, part;
    const char *end;
    if (leading_count(string, &value, &end, why) != 0)
        return -1;
    const char *digits = end + 1;
    size_t count = decimals && *end == '.' ? strspn(digits, "0123456789") : 0;
    if (decimals && *end == '.' && count == 0)
        return refuse(why, string, "has no digit behind its point");
    const char *suffix = count > 0 ? digits + count : end;
    const struct unit *unit = units;
    while (unit->name != NULL && strcmp(unit->name, suffix) != 0)
        unit++;
    if (unit->name == NULL)
        return refuse_unit(units, string, suffix, why);
    bool whole = take_part(digits, count, unit->factor, &part);
    if (multiply_checked(value, unit->factor, &value) != 0 ||
        add_checked(value, part, &value) != 0 || (!whole && value == UINT64_MAX))
        return refuse(why, string, "is too large (at most 2^64 - 1 bytes or nanoseconds)");
    if (!whole)
        return refuse_part(string, value, why);
    *out = value;
    return 0;
}

int parse_size(const char *string, uint64_t *out, struct text *why)
{
    return parse_with_unit(size_units, true, string, out, why);
}

int parse_capacity(const char *string, uint64_t *out, struct text *why)
{
    struct text reason = TEXT_INIT;
    uint64_t bytes = 0;
    bool read = parse_with_unit(size_units, true, string, &bytes, &reason) == 0;
    bool good = read && bytes >= CAPACITY_LEAST;
    if (read && !good) {
        text_addf(&reason, "is %llu byte%s, and a capacity at least 1MiB",
                  (unsigned long long)bytes, bytes == 1 ? "" : "s");
        if (bytes > 0)
            add_likely_unit(&reason, string);
        refuse(why, string, text_string(&reason));
    } else if (!read) {
        text_add(why, text_string(&reason));
    } else {
        *out = bytes;
    }
    text_release(&reason);
    return good ? 0 : -1;
}

int parse_duration(const char *string, uint64_t *out, struct text *why)
{
    return parse_with_unit(duration_units, false, string, out, why);
}

int parse_real(const char *string, double *out, struct text *why)
{
    static const char grammar[] = "is not a number: digits, or digits.digits, and nothing else "
                                  "(no sign, unit, blank, comma or exponent)";
    if (string[0] == '\0')
        return text_fail(why, "a number is missing");
    size_t whole = strspn(string, "0123456789");
    size_t length = whole;
    if (string[whole] == '.') {
        size_t decimals = strspn(string + whole + 1, "0123456789");
        length += 1 + decimals;
        if (decimals == 0)
            return refuse(why, string, grammar);
    }
    if (whole == 0 || string[length] != '\0')
        return refuse(why, string, grammar);
    if (whole > 1 && string[0] == '0')
        return refuse(why, string, "is not a number: it has no leading zero");
    double value = strtod(string, NULL);
    if (!isfinite(value))
        return refuse(why, string, "is too large");
    *out = value;
    return 0;
}

/* --- for people ------------------------------------------------------------------------ */

/* Two decimals by integer arithmetic: exact for every value, rounded half up. */
static void add_hundredths(struct text *text, uint64_t bytes, uint64_t unit, const char *name)
{
    uint64_t whole = bytes / unit;
    uint64_t hundredths = (bytes % unit * 100 + unit / 2) / unit;
    if (hundredths == 100) {
        whole++;
        hundredths = 0;
    }
    text_addf(text, "%llu.%02llu%s", (unsigned long long)whole, (unsigned long long)hundredths,
              name);
}

void text_add_gb(struct text *text, uint64_t bytes)
{
    add_hundredths(text, bytes, 1000000000, " GB");
}

void text_add_gib(struct text *text, uint64_t bytes)
{
    add_hundredths(text, bytes, 1ull << 30, " GiB");
}

void text_add_size(struct text *text, uint64_t bytes)
{
    text_addf(text, "%llu bytes = ", (unsigned long long)bytes);
    text_add_gb(text, bytes);
    text_add(text, " = ");
    text_add_gib(text, bytes);
}

#define DASH "—" /* three bytes, one column wide */

void text_add_bytes_cell(struct text *text, const char *mark, struct reading bytes)
{
    char digits[32];
    if (bytes.known)
        snprintf(digits, sizeof digits, "%s%llu", mark, (unsigned long long)bytes.value);
    text_addf(text, " %*s", UNITS_BYTES + (bytes.known ? 0 : 2), bytes.known ? digits : DASH);
}

void text_add_peak(struct text *text, const char *mark, struct reading bytes)
{
    struct text gib = TEXT_INIT;
    text_add(&gib, bytes.known ? mark : DASH);
    if (bytes.known)
        add_hundredths(&gib, bytes.value, 1ull << 30, "");
    text_add_bytes_cell(text, mark, bytes);
    text_addf(text, " %*s", UNITS_GIB + (bytes.known ? 0 : 2), text_string(&gib));
    text_release(&gib);
}

void text_add_peak_heading(struct text *text, const char *name)
{
    text_addf(text, " %*s %*s", UNITS_BYTES, name, UNITS_GIB, "GiB");
}

void text_add_duration(struct text *text, uint64_t nanoseconds)
{
    unsigned long long ms = nanoseconds / 1000000 + (nanoseconds % 1000000 >= 500000);
    unsigned long long tenths = (ms + 50) / 100, seconds = (ms + 500) / 1000;
    unsigned long long minutes = (seconds + 30) / 60;
    if (ms < 1000)
        text_addf(text, "%llu ms", ms);
    else if (tenths < 600)
        text_addf(text, "%llu.%llu s", tenths / 10, tenths % 10);
    else if (seconds < 3600)
        text_addf(text, "%llu min %02llu s", seconds / 60, seconds % 60);
    else
        text_addf(text, "%llu h %02llu min", minutes / 60, minutes % 60);
}
