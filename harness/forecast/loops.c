#include "harness/forecast/loops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A body this short is taken for a repetition only if it repeats this often. */
enum { SHORT_BODY = 2, SHORT_TIMES = 3 };

void take_add_parting(const struct take *a, uint32_t i, const struct take *b, uint32_t j,
                      struct text *text)
{
    const char *phase = take_phase(a, i);
    text_addf(text, "%s:%" PRIu64 ": ", a->path, take_line(a, i));
    if (phase)
        text_addf(text, "in phase %s ", phase);
    take_add_item(a, i, text);
    text_addf(text, ", where %s:%" PRIu64 " has ", b->path, take_line(b, j));
    take_add_item(b, j, text);
}

static bool same_pattern(const struct take *take, uint32_t a, uint32_t b)
{
    const char *x = take_name(take, a), *y = take_name(take, b);
    size_t length_x, length_y;
    uint64_t number;
    if (!take_numbered(x, &length_x, &number) || !take_numbered(y, &length_y, &number))
        return strcmp(x, y) == 0;
    return length_x == length_y && strncmp(x, y, length_x) == 0;
}

/* Does item i grow as its neighbours one period before or behind do? */
static bool grows(const struct take *take, uint32_t i, uint32_t period)
{
    const uint64_t here = take->items[i].bytes, before = take->items[i - period].bytes;
    if (i >= 2 * (uint64_t)period && take->items[i - 2 * period].op == TRACE_ALLOC &&
        before - take->items[i - 2 * period].bytes == here - before)
        return true;
    return (uint64_t)i + period < take->count && take->items[i + period].op == TRACE_ALLOC &&
           take->items[i + period].bytes - here == here - before;
}

/* Is item i what stood one period before it? */
static bool repeats(const struct take *take, uint32_t i, uint32_t period)
{
    if (i < period || i >= take->count)
        return false;
    const struct item *a = &take->items[i - period], *b = &take->items[i];
    if (a->op != b->op)
        return false;
    if (a->op == TRACE_BEGIN || a->op == TRACE_END)
        return same_pattern(take, i - period, i);
    if (a->op == TRACE_EMPTY_CACHE)
        return true;
    return a->stream == b->stream && (a->bytes == b->bytes || grows(take, i, period));
}

/* The stretch around [from, to) in which every item repeats; it begins so that it holds whole
 * bodies. false: [from, to) does not repeat. */
static bool find_run(const struct take *take, uint32_t from, uint32_t to, uint32_t period,
                     struct loop *loop)
{
    uint32_t i = from;
    while (i < to && repeats(take, i, period))
        i++;
    uint32_t start = from; /* the first item that has a like one before it */
    if (i < to) {          /* or the stretch is the first of the bodies, not the last */
        for (i = from + period; i < to + period && repeats(take, i, period);)
            i++;
        if (i < to + period)
            return false;
        start = from + period;
    }
    while (repeats(take, i, period))
        i++;
    while (start > period && repeats(take, start - 1, period))
        start--;
    start -= period;
    *loop = (struct loop){
        .start = start + (i - start) % period, .length = period, .times = (i - start) / period};
    bool asks = false;
    for (uint32_t k = 0; k < period; k++)
        asks = asks || take->items[loop->start + k].op == TRACE_ALLOC;
    return asks && loop->times >= 2 && (period > SHORT_BODY || loop->times >= SHORT_TIMES);
}

static bool find_period(const struct take *take, uint32_t from, uint32_t to, struct loop *loop)
{
    const uint32_t missing = to - from;
    for (uint32_t period = 1; period <= missing; period++) {
        if (missing % period == 0 && find_run(take, from, to, period, loop))
            return true;
    }
    return false;
}

static bool is_inside(const struct loops *loops, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < loops->count; i++) {
        const struct loop *loop = &loops->list[i];
        if (from >= loop->start && to <= loop->start + loop->length * loop->times)
            return true;
    }
    return false;
}

/* By `start`; one that overlaps another replaces it, or is dropped for it, whichever body is
 * shorter. */
static void add_loop(struct loops *loops, const struct loop *loop)
{
    const uint32_t end = loop->start + loop->length * loop->times;
    size_t at = 0;
    while (at < loops->count &&
           loops->list[at].start + loops->list[at].length * loops->list[at].times <=
               loop->start)
        at++;
    if (at < loops->count && loops->list[at].start < end) {
        if (loop->length < loops->list[at].length)
            loops->list[at] = *loop;
        return;
    }
    loops->list = xrealloc(loops->list, (loops->count + 1) * sizeof(*loops->list));
    memmove(&loops->list[at + 1], &loops->list[at], (loops->count - at) * sizeof(*loops->list));
    loops->list[at] = *loop;
    loops->count++;
}

/* Stretches of `a` (from `of_a`: its items to those of `b`) that `b` lacks, without a stretch
 * of `b` in their place, and that repeat. */
static void find_all(const struct take *a, const uint32_t *of_a, const struct take *b,
                     struct loops *loops)
{
    uint32_t seen = 0; /* items of b before here are paired or passed */
    for (uint32_t i = 0; i < a->count;) {
        if (of_a[i] != PAIRING_NONE) {
            seen = of_a[i++] + 1;
            continue;
        }
        const uint32_t from = i;
        while (i < a->count && of_a[i] == PAIRING_NONE)
            i++;
        const uint32_t next = i < a->count ? of_a[i] : b->count;
        struct loop loop;
        if (next == seen && !is_inside(loops, from, i) && find_period(a, from, i, &loop))
            add_loop(loops, &loop);
    }
}

/* How often a take runs through the loop, and from where. */
static int place_loop(struct loop *loop, size_t index, const struct take *take,
                      const struct take *base, const struct pairing *pairing, struct text *why)
{
    const uint32_t end = loop->start + loop->length * loop->times;
    uint32_t missing = 0, first = end;
    for (uint32_t i = loop->start; i < end; i++) {
        if (pairing->of_base[i] != PAIRING_NONE)
            continue;
        if (!missing++)
            first = i;
    }
    const uint32_t start = pairing->of_base[loop->start];
    const uint32_t items = loop->length * loop->times - missing;
    const bool whole = start != PAIRING_NONE && missing % loop->length == 0 &&
                       items >= loop->length && (uint64_t)start + items <= take->count &&
                       (end == base->count ? start + items == take->count
                                           : pairing->of_base[end] == start + items);
    if (!whole) {
        text_addf(why,
                  "%" PRIu32 " items repeat from here in one recording, but it cannot be said "
                  "how often they do in the other: ",
                  loop->length);
        take_add_parting(base, first, take, start == PAIRING_NONE ? take->count : start + items,
                         why);
        return -1;
    }
    loop->starts[index] = start;
    loop->counts[index] = items / loop->length;
    return 0;
}

static int place_loops(const struct take *takes, size_t count, const struct pairing *pairings,
                       struct loops *loops, struct text *why)
{
    for (size_t i = 0; i < loops->count; i++) {
        struct loop *loop = &loops->list[i];
        if (i > 0 &&
            loops->list[i - 1].start + loops->list[i - 1].length * loops->list[i - 1].times >
                loop->start) {
            text_addf(why, "%s:%" PRIu64 ": two repetitions overlap here",
                      takes[count - 1].path, take_line(&takes[count - 1], loop->start));
            return -1;
        }
        loop->starts = xcalloc(count, sizeof(*loop->starts));
        loop->counts = xcalloc(count, sizeof(*loop->counts));
        loop->starts[count - 1] = loop->start;
        loop->counts[count - 1] = loop->times;
        for (size_t k = 0; k + 1 < count; k++) {
            if (place_loop(loop, k, &takes[k], &takes[count - 1], &pairings[k], why))
                return -1;
        }
    }
    return 0;
}

int loops_find(const struct take *takes, size_t count, const struct pairing *pairings,
               struct loops *loops, struct text *why)
{
    const struct take *base = &takes[count - 1];
    struct loops found = {0}, backward = {0};
    int result = 0;
    for (size_t i = 0; i + 1 < count && !result; i++) {
        find_all(base, pairings[i].of_base, &takes[i], &found);
        find_all(&takes[i], pairings[i].of_other, base, &backward);
        if (backward.count) {
            const uint32_t first = backward.list[0].start;
            const uint32_t there = pairings[i].of_other[first];
            text_add(why, "something repeats less often at the larger value: ");
            take_add_parting(&takes[i], first, base,
                             there == PAIRING_NONE ? base->count : there, why);
            result = -1;
        }
    }
    if (!result)
        result = place_loops(takes, count, pairings, &found, why);
    free(backward.list);
    if (result)
        loops_release(&found);
    else
        *loops = found;
    return result;
}

void loops_release(struct loops *loops)
{
    for (size_t i = 0; i < loops->count; i++) {
        free(loops->list[i].starts);
        free(loops->list[i].counts);
    }
    free(loops->list);
    *loops = (struct loops){0};
}
