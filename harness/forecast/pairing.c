#include "harness/forecast/pairing.h"
#include "harness/base/units.h"

#include <stdlib.h>
#include <string.h>

/* To go on where both are in step takes less than to begin again elsewhere. */
enum {
    RUN = 8,
    GO_ON = 2,
    RESUME = 4,
    LONG_RUN = 6,
    EXCHANGED = 2,
    BOTH_MOST = 64,
    SHORT_LIFE = 4,
    REACH_MOST = 256
};
#define UNLIKE 16 /* sizes this many times apart, the values aside, are of different things */

enum match { MATCH_NONE, MATCH_WEAK, MATCH_STRONG };

/* Two stretches that are still to be paired. */
struct stretch {
    const struct take *base, *other;
    uint32_t i, i_end; /* of the base */
    uint32_t j, j_end; /* of the other */
};

static bool same_name(const struct take *a, uint32_t i, const struct take *b, uint32_t j)
{
    return strcmp(take_name(a, i), take_name(b, j)) == 0;
}

bool take_same_phases(const struct take *a, const struct take *b)
{
    if (a->trace.name_count != b->trace.name_count)
        return false;
    for (size_t i = 0; i < a->trace.name_count; i++) {
        if (strcmp(a->trace.names[i], b->trace.names[i]) != 0)
            return false;
    }
    return true;
}

bool take_numbered(const char *name, size_t *prefix, uint64_t *number)
{
    size_t length = strlen(name), digits = 0;
    struct text ignored = TEXT_INIT;
    while (digits < length && name[length - digits - 1] >= '0' &&
           name[length - digits - 1] <= '9')
        digits++;
    const bool numbered =
        digits > 0 && parse_count(name + length - digits, number, &ignored) == 0;
    text_release(&ignored);
    if (numbered)
        *prefix = length - digits;
    return numbered;
}

/* Most sizes are a number of elements: one factor of it is the dimension, or none, or two. */
static bool in_ratio(uint64_t a, uint64_t b, uint64_t value_a, uint64_t value_b)
{
    const __int128 left = (__int128)a * (__int128)value_b;
    const __int128 right = (__int128)b * (__int128)value_a;
    __int128 left2, right2;
    if (a == b || left == right)
        return true;
    return !__builtin_mul_overflow(left, (__int128)value_b, &left2) &&
           !__builtin_mul_overflow(right, (__int128)value_a, &right2) && left2 == right2;
}

static uint32_t life(const struct item *item, uint32_t at)
{
    const uint32_t items = item->freed == TAKE_NEVER ? TAKE_NEVER : item->freed - at;
    return items > SHORT_LIFE ? SHORT_LIFE + 1 : items;
}

/* Neither is larger than the other by more than the values explain, and some. */
static bool alike(const struct stretch *s, uint64_t a, uint64_t b)
{
    const double values = (double)s->base->value / (double)s->other->value;
    const double most = UNLIKE * (values > 1 ? values : 1 / values);
    return (double)a <= most * (double)b && (double)b <= most * (double)a;
}

static enum match match(const struct stretch *s, uint32_t i, uint32_t j)
{
    const struct item *a = &s->base->items[i], *b = &s->other->items[j];
    if (a->op != b->op)
        return MATCH_NONE;
    if (a->op == TRACE_BEGIN || a->op == TRACE_END)
        return same_name(s->base, i, s->other, j) ? MATCH_STRONG : MATCH_NONE;
    if (a->op == TRACE_EMPTY_CACHE)
        return MATCH_STRONG;
    if (a->stream != b->stream)
        return MATCH_NONE;
    if (in_ratio(a->bytes, b->bytes, s->base->value, s->other->value))
        return MATCH_STRONG;
    return life(a, i) == life(b, j) && alike(s, a->bytes, b->bytes) ? MATCH_WEAK : MATCH_NONE;
}

/* Do the two go on together from here: some items, or both to the end, `eighths` of them
 * strongly? */
static bool go_together(const struct stretch *s, uint32_t i, uint32_t j, int eighths)
{
    int strong = 0, length = 0;
    while (length < RUN && i < s->i_end && j < s->j_end) {
        const enum match m = match(s, i, j);
        if (m == MATCH_NONE)
            return false;
        strong += m == MATCH_STRONG;
        length++;
        i++;
        j++;
    }
    const bool ends = i == s->i_end && j == s->j_end;
    return ends && eighths == GO_ON ? true
                                    : (length == RUN || ends) && 8 * strong >= eighths * length;
}

/* Do the two agree strongly for long from here, or to the end of both? */
static bool agree(const struct stretch *s, uint32_t i, uint32_t j)
{
    uint32_t length = 0;
    while (length < LONG_RUN && i < s->i_end && j < s->j_end) {
        if (match(s, i++, j++) != MATCH_STRONG)
            return false;
        length++;
    }
    return length == LONG_RUN || (length > 0 && i == s->i_end && j == s->j_end);
}

static void go_to(struct stretch *s, uint32_t i, uint32_t j)
{
    s->i = i;
    s->j = j;
}

/* A stretch that only the one with more left has: a repetition, or some workspaces. */
static bool skip_surplus(struct stretch *s)
{
    const uint32_t left_i = s->i_end - s->i, left_j = s->j_end - s->j;
    const uint32_t more_i = left_i > left_j ? left_i - left_j : 0;
    const uint32_t more_j = left_j > left_i ? left_j - left_i : 0;
    for (uint32_t on = 1; on <= more_i || on <= more_j; on++) {
        const uint32_t i = s->i + (more_i ? on : 0), j = s->j + (more_j ? on : 0);
        if (agree(s, i, j)) {
            go_to(s, i, j);
            return true;
        }
    }
    return false;
}

static bool skip_one_side(struct stretch *s)
{
    const uint32_t left_i = s->i_end - s->i, left_j = s->j_end - s->j;
    for (uint32_t on = 1; on <= left_i || on <= left_j; on++) {
        if (on <= left_j && agree(s, s->i, s->j + on)) {
            go_to(s, s->i, s->j + on);
            return true;
        }
        if (on <= left_i && agree(s, s->i + on, s->j)) {
            go_to(s, s->i + on, s->j);
            return true;
        }
    }
    return false;
}

/* The nearest place from where both go on together, some items skipped on both sides: they were
 * exchanged. */
static bool skip_both_sides(struct stretch *s, uint32_t least, uint32_t most)
{
    const uint32_t left_i = s->i_end - s->i, left_j = s->j_end - s->j;
    for (uint32_t total = least; total <= most && total < left_i + left_j; total++) {
        for (uint32_t on_i = 0; on_i <= total; on_i++) {
            const uint32_t on_j = total - on_i;
            if (on_i > left_i || on_j > left_j || (on_i == left_i) != (on_j == left_j) ||
                !go_together(s, s->i + on_i, s->j + on_j, total ? RESUME : GO_ON))
                continue;
            go_to(s, s->i + on_i, s->j + on_j);
            return true;
        }
    }
    return false;
}

/* How far the two match from here on. */
static uint32_t reach(const struct stretch *s)
{
    uint32_t length = 0;
    while (length < REACH_MOST && s->i + length < s->i_end && s->j + length < s->j_end &&
           match(s, s->i + length, s->j + length) != MATCH_NONE)
        length++;
    return length;
}

/* An exchange of one or two, or a surplus: whichever leads further. */
static bool skip_little_or_surplus(struct stretch *s)
{
    struct stretch little = *s, surplus = *s;
    const bool some = skip_both_sides(&little, 1, EXCHANGED), more = skip_surplus(&surplus);
    if (some || more)
        *s = !some || (more && reach(&surplus) > reach(&little)) ? surplus : little;
    return some || more;
}

static void skip(struct stretch *s)
{
    if (!skip_both_sides(s, 0, 0) && !skip_little_or_surplus(s) && !skip_one_side(s) &&
        !skip_both_sides(s, EXCHANGED + 1, BOTH_MOST))
        go_to(s, s->i_end, s->j_end);
}

static void pair(struct pairing *p, uint32_t i, uint32_t j, enum match how)
{
    p->of_base[i] = j;
    p->of_other[j] = i;
    p->strong += how == MATCH_STRONG;
    p->weak += how == MATCH_WEAK;
}

static void pair_stretch(struct pairing *p, struct stretch s)
{
    while (s.i < s.i_end && s.j < s.j_end) {
        if (match(&s, s.i, s.j) != MATCH_STRONG)
            skip(&s);
        while (s.i < s.i_end && s.j < s.j_end) { /* as far as it goes without a doubt */
            const enum match m = match(&s, s.i, s.j);
            if (m == MATCH_NONE || (m == MATCH_WEAK && !go_together(&s, s.i, s.j, GO_ON)))
                break;
            pair(p, s.i++, s.j++, m);
        }
    }
}

static uint32_t next_mark(const struct take *take, uint32_t from)
{
    while (from < take->count && take->items[from].op != TRACE_BEGIN &&
           take->items[from].op != TRACE_END)
        from++;
    return from;
}

/* Phase by phase: the marks of equal lists of phases correspond one to one. */
static void pair_phases(struct pairing *p, const struct take *base, const struct take *other)
{
    uint32_t i = 0, j = 0;
    for (;;) {
        const uint32_t i_end = next_mark(base, i), j_end = next_mark(other, j);
        pair_stretch(p, (struct stretch){base, other, i, i_end, j, j_end});
        if (i_end == base->count || j_end == other->count)
            return;
        pair(p, i_end, j_end, MATCH_STRONG);
        i = i_end + 1;
        j = j_end + 1;
    }
}

static uint32_t *none(uint32_t count)
{
    uint32_t *list = xmalloc(((size_t)count + 1) * sizeof(*list));
    memset(list, 0xff, ((size_t)count + 1) * sizeof(*list));
    return list;
}

void pairing_find(const struct take *base, const struct take *other, struct pairing *pairing)
{
    struct pairing found = {.of_base = none(base->count), .of_other = none(other->count)};
    if (take_same_phases(base, other))
        pair_phases(&found, base, other);
    else
        pair_stretch(&found, (struct stretch){base, other, 0, base->count, 0, other->count});
    *pairing = found;
}

void pairing_release(struct pairing *pairing)
{
    free(pairing->of_base);
    free(pairing->of_other);
    *pairing = (struct pairing){0};
}
