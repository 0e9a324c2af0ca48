#include "reports/limits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DASH "—"

enum verdict { OPEN, FITS, FAILS, UNSTABLE };

struct limits {
    struct reading fits, fails;
    uint64_t *unstable; /* values, ascending */
    size_t unstable_count;
};

/* Runs of the same kind on the same device: their outcomes should agree. */
static bool alike(const struct run_line *a, const struct run_line *b)
{
    return a->place == b->place && reading_same(a->rank, b->rank) &&
           strcmp(a->phases, b->phases) == 0;
}

/* Is there none like it before? */
static bool is_first(const struct run_line *lines, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (alike(&lines[i], &lines[at]))
            return false;
    return true;
}

static enum verdict judge_alike(const struct run_line *lines, size_t count,
                                const struct run_line *as)
{
    size_t fits = 0, fails = 0, runs = 0;
    for (size_t i = 0; i < count; i++) {
        if (!alike(&lines[i], as))
            continue;
        runs++;
        fits += strcmp(lines[i].fits, "yes") == 0;
        fails += strcmp(lines[i].fits, "no") == 0;
    }
    if (fails > 0)
        return fits > 0 ? UNSTABLE : FAILS;
    return runs > 0 && fits == runs ? FITS : OPEN;
}

/* Behind the last line of the same value as lines[from]. */
static size_t end_of_value(const struct run_line *lines, size_t count, size_t from)
{
    size_t end = from + 1;
    while (end < count && reading_same(lines[end].value, lines[from].value))
        end++;
    return end;
}

/* Are there lines like this one at every value? */
static bool is_at_every_value(const struct run_line *lines, size_t count,
                              const struct run_line *as)
{
    for (size_t i = 0, end; i < count; i = end) {
        bool found = false;
        end = end_of_value(lines, count, i);
        for (size_t j = i; j < end && !found; j++)
            found = alike(&lines[j], as);
        if (!found)
            return false;
    }
    return true;
}

/* A limit over all is one only where each value was run on all: a search alone asks for values
 * of one device. Of one device's runs it is that device's. */
static bool have_one_limit(const struct run_line *lines, size_t count)
{
    bool one_device = count > 0 && lines->place > 0;
    for (size_t i = 0; i < count; i++) {
        one_device = one_device && lines[i].place == lines->place;
        if (is_first(lines, i) && !is_at_every_value(lines, count, &lines[i]))
            return false;
    }
    return !one_device;
}

/* Of all together: one that only failed outweighs all, and an unstable one all the others. */
static enum verdict judge(const struct run_line *lines, size_t count)
{
    static const int weights[] = {[FITS] = 0, [OPEN] = 1, [UNSTABLE] = 2, [FAILS] = 3};
    enum verdict worst = FITS;
    for (size_t i = 0; i < count; i++) {
        if (!is_first(lines, i))
            continue;
        enum verdict one = judge_alike(lines, count, &lines[i]);
        worst = weights[one] > weights[worst] ? one : worst;
    }
    return worst;
}

/* `as`: of the lines like this one; NULL: of all. */
static struct limits find(const struct run_line *lines, size_t count, const struct run_line *as)
{
    struct limits limits = {.unstable = xcalloc(count + 1, sizeof *limits.unstable)};
    for (size_t i = 0, end; i < count; i = end) {
        struct reading value = lines[i].value;
        end = end_of_value(lines, count, i);
        enum verdict judged =
            as ? judge_alike(&lines[i], end - i, as) : judge(&lines[i], end - i);
        if (judged == FITS)
            limits.fits = reading_max(limits.fits, value);
        else if (judged == FAILS && !limits.fails.known)
            limits.fails = value;
        else if (judged == UNSTABLE && value.known)
            limits.unstable[limits.unstable_count++] = value.value;
    }
    return limits;
}

static bool equal(const struct limits *a, const struct limits *b)
{
    return reading_same(a->fits, b->fits) && reading_same(a->fails, b->fails) &&
           a->unstable_count == b->unstable_count &&
           memcmp(a->unstable, b->unstable, a->unstable_count * sizeof *a->unstable) == 0;
}

static void add_value(struct text *out, const char *words, struct reading value)
{
    if (value.known)
        text_addf(out, "%s %" PRIu64, words, value.value);
    else
        text_addf(out, "%s " DASH, words);
}

static void add(const struct limits *limits, bool so_far, struct text *out)
{
    if (so_far)
        text_add(out, "so far, runs are left: ");
    add_value(out, "largest value that fits in every run:", limits->fits);
    add_value(out, "; smallest that does not:", limits->fails);
    for (size_t i = 0; i < limits->unstable_count; i++)
        text_addf(
            out, "%s %" PRIu64,
            i ? "," : "; unstable, some of its runs fit and some do not:", limits->unstable[i]);
    if (limits->fits.known && limits->fails.known && limits->fits.value > limits->fails.value)
        text_add(out, "; unstable, a value fits above one that does not");
    text_add_char(out, '\n');
}

static void add_whom(const struct run_line *line, struct text *out)
{
    if (line->place > 0)
        text_addf(out, "  d%" PRIu64, line->place);
    else
        add_value(out, "  rank", line->rank);
    text_addf(out, "%s%s: ", line->phases[0] ? ", " : "", line->phases);
}

void limits_add_text(const struct run_line *lines, size_t count, bool so_far, struct text *out)
{
    struct limits all = find(lines, count, NULL);
    struct text each = TEXT_INIT;
    bool one = have_one_limit(lines, count), differ = !one;
    for (size_t i = 0; i < count; i++) {
        if (!is_first(lines, i))
            continue;
        struct limits own = find(lines, count, &lines[i]);
        differ = differ || !equal(&own, &all);
        add_whom(&lines[i], &each);
        add(&own, so_far, &each);
        free(own.unstable);
    }
    if (one) {
        text_add_char(out, ' ');
        add(&all, so_far, out);
    }
    if (differ)
        text_add(out, text_string(&each));
    text_release(&each);
    free(all.unstable);
}
