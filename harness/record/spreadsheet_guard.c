#include "harness/record/spreadsheet_guard.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Beside ASCII's + - = @: their full-width forms, which East Asian settings take as well. */
static const char *const formula_starts[] = {"=", "+",  "-",  "@",  "\t", "\r", "\n",
                                             "'", "＝", "＋", "－", "＠", NULL};

static const char *const constants[] = {"true", "false", "nan",  "inf", "infinity",
                                        "na",   "n/a",   "null", NULL};

/* What may stand between the digits of numbers, dates, times and amounts. */
static const char *const separators[] = {" ", ".", ",",  ":", "/", "-", "+",      "%", "$",
                                         "(", ")", "\t", "€", "£", "¥", "\u00a0", NULL};

static const char *const full_width_digits[] = {"０", "１", "２", "３", "４", "５",
                                                "６", "７", "８", "９", NULL};

/* Words of a calendar, also cut to three letters or more. */
static const char *const calendar[] = {
    "january",   "february",  "march",   "april",    "may",      "june",   "july",
    "august",    "september", "october", "november", "december", "monday", "tuesday",
    "wednesday", "thursday",  "friday",  "saturday", "sunday",   NULL};

/* After a digit: exponent, time of day, the T and Z of ISO 8601. */
static const char *const after_digits[] = {"e",  "t",  "z", "a",   "p",
                                           "am", "pm", "h", "utc", NULL};

/* Length of the entry of `list` that `at` begins with, or 0. */
static size_t starts_with_one(const char *at, const char *const *list)
{
    for (; *list != NULL; list++) {
        size_t length = strlen(*list);
        if (strncmp(at, *list, length) == 0)
            return length;
    }
    return 0;
}

static bool equals_one(const char *at, size_t length, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strlen(*list) == length && strncasecmp(at, *list, length) == 0)
            return true;
    return false;
}

static bool is_calendar_word(const char *at, size_t length)
{
    for (const char *const *word = calendar; *word != NULL; word++)
        if (length >= 3 && length <= strlen(*word) && strncasecmp(at, *word, length) == 0)
            return true;
    return false;
}

static size_t word_length(const char *at)
{
    size_t length = 0;
    while (isalpha((unsigned char)at[length]))
        length++;
    return length;
}

/* Nothing but digits, separators and the words that dates and numbers know. */
static bool is_numeric(const char *at)
{
    bool digits = false;
    while (*at != '\0') {
        size_t step = starts_with_one(at, separators);
        if (step == 0) {
            step = *at >= '0' && *at <= '9' ? 1 : starts_with_one(at, full_width_digits);
            digits |= step > 0;
        }
        if (step == 0) {
            step = word_length(at);
            if (!is_calendar_word(at, step) && !(digits && equals_one(at, step, after_digits)))
                return false;
        }
        at += step;
    }
    return digits;
}

/* D.M.Y, M.D.Y, Y.M.D, or h.m.s: somewhere each of them is what people write. */
static bool is_date_or_time(const unsigned long group[3])
{
    unsigned long a = group[0], b = group[1], c = group[2];
    bool day_first = a <= 31 && b <= 12, month_first = a <= 12 && b <= 31;
    return day_first || month_first || (b <= 12 && c <= 31) || (a <= 24 && b < 60 && c < 60);
}

/* Three or more numbers between dots, as versions are written, that are no date, no time and no
 * number with dots between its thousands. */
static bool is_version(const char *at)
{
    unsigned long group[3] = {0, 0, 0};
    size_t groups = 0;
    bool thousands = true;
    for (bool more = true; more; groups++) {
        size_t digits = strspn(at, "0123456789");
        if (digits == 0)
            return false;
        thousands = thousands && (groups == 0 ? digits <= 3 : digits == 3);
        if (groups < 3)
            group[groups] = strtoul(at, NULL, 10); /* too many digits: the largest number */
        at += digits;
        more = *at == '.';
        at += more;
    }
    return *at == '\0' && groups >= 3 && !thousands && !(groups == 3 && is_date_or_time(group));
}

bool guard_needed(const char *value)
{
    const char *at = value + strspn(value, " ");
    if (starts_with_one(value, formula_starts) > 0 || starts_with_one(at, formula_starts) > 0)
        return true;
    size_t length = strlen(at);
    while (length > 0 && at[length - 1] == ' ')
        length--;
    return equals_one(at, length, constants) || (is_numeric(at) && !is_version(value));
}
