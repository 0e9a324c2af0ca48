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

static bool same(struct reading a, struct reading b)
{
    return a.known == b.known && (!a.known || a.value == b.value);
}

/* Runs of the same kind on the same device: their outcomes should agree. */
static bool alike(const struct run_line *a, const struct run_line *b)
{
    return a->place == b->place && same(a->rank, b->rank) && strcmp(a->phases, b->phases) == 0;
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
    for (size_t i = 0, next; i < count; i = next) {
        struct reading value = lines[i].value;
        for (next = i + 1; next < count && same(lines[next].value, value);)
            next++;
        enum verdict judged =
            as ? judge_alike(&lines[i], next - i, as) : judge(&lines[i], next - i);
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
    return same(a->fits, b->fits) && same(a->fails, b->fails) &&
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

static void add(const struct limits *limits, struct text *out)
{
    add_value(out, "largest value that fits in every run:", limits->fits);
    add_value(out, "; smallest that does not:", limits->fails);
    for (size_t i = 0; i < limits->unstable_count; i++)
        text_addf(out, "%s %" PRIu64,
                  i ? "," : "; unstable, some of its runs fit and some do not:",
                  limits->unstable[i]);
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

void limits_add_text(const struct run_line *lines, size_t count, struct text *out)
{
    struct limits all = find(lines, count, NULL);
    struct text each = TEXT_INIT;
    bool differ = false;
    text_add_char(out, ' ');
    add(&all, out);
    for (size_t i = 0; i < count; i++) {
        if (!is_first(lines, i))
            continue;
        struct limits own = find(lines, count, &lines[i]);
        differ = differ || !equal(&own, &all);
        add_whom(&lines[i], &each);
        add(&own, &each);
        free(own.unstable);
    }
    if (differ)
        text_add(out, text_string(&each));
    text_release(&each);
    free(all.unstable);
}
