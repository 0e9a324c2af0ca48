#include "harness/forecast/limit.h"

#include <stdlib.h>

#define VALUE_MOST ((uint64_t)1 << 32)

struct search {
    const struct script *script;
    const struct foretell_setting *setting;
    struct foretold_limit *limit;
    uint64_t first; /* the smallest value tried; others are whole steps from it */
    struct text *why;
};

static uint64_t value_at(const struct search *s, uint64_t index)
{
    return s->first + index * s->limit->step;
}

/* -1: it cannot be foretold. */
static int look(struct search *s, uint64_t index, struct foretold *foretold)
{
    s->limit->tried++;
    return foretell(s->script, s->setting, value_at(s, index), foretold, s->why);
}

static void replace(struct foretold *old, struct foretold *new)
{
    foretold_release(old);
    *old = *new;
}

/* Doubles the step away from the first value until one does not fit. */
static int climb(struct search *s, uint64_t *low, uint64_t *high)
{
    uint64_t index = 0, ahead = 1;
    for (;;) {
        struct foretold f;
        if (value_at(s, index) > VALUE_MOST || look(s, index, &f)) {
            s->limit->endless = index > 0 && !s->limit->none;
            return s->limit->endless ? 0 : -1;
        }
        if (!foretold_fits(&f)) {
            replace(&s->limit->beyond, &f);
            s->limit->none = index == 0;
            *high = index;
            return 0;
        }
        replace(&s->limit->fits, &f);
        *low = index;
        index += ahead;
        ahead *= 2;
    }
}

/* The largest index below `high` that is accepted, given one that is. */
static int bisect(struct search *s, uint64_t low, uint64_t high,
                  bool (*rejects)(const struct foretold *), struct foretold *last,
                  struct foretold *next, uint64_t *found)
{
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        struct foretold f;
        if (look(s, middle, &f))
            return -1;
        const bool rejected = rejects(&f);
        *(rejected ? &high : &low) = middle;
        struct foretold *kept = rejected ? next : last;
        if (kept)
            replace(kept, &f);
        else
            foretold_release(&f);
    }
    *found = low;
    return 0;
}

static bool does_not_fit(const struct foretold *f)
{
    return !foretold_fits(f);
}

/* Beyond the first that some version refuses, some other may still fit. */
static int find_most(struct search *s, uint64_t first_beyond)
{
    uint64_t low = first_beyond, high, ahead = 1;
    if (foretold_refused(&s->limit->beyond))
        return 0;
    for (high = low + ahead;; high += ahead) {
        struct foretold f;
        if (look(s, high, &f))
            return -1;
        const bool refused = foretold_refused(&f);
        foretold_release(&f);
        if (refused)
            break;
        low = high;
        ahead *= 2;
    }
    if (bisect(s, low, high, foretold_refused, NULL, NULL, &low))
        return -1;
    s->limit->most = reading_of(value_at(s, low));
    return 0;
}

int foretell_limit(const struct script *script, const struct foretell_setting *setting,
                   struct foretold_limit *limit, struct text *why)
{
    struct foretold_limit found = {.step = script_step(script)};
    struct search s = {.script = script, .setting = setting, .limit = &found, .why = why};
    const uint64_t largest = script->takes[script->take_count - 1].value;
    const uint64_t smallest = script->takes[0].value;
    uint64_t low = 0, high = 0, ignored;
    s.first = largest - (largest - smallest) / found.step * found.step;
    int result = climb(&s, &low, &high);
    if (!result && !found.none && !found.endless)
        result = bisect(&s, low, high, does_not_fit, &found.fits, &found.beyond, &ignored);
    if (!result && !found.endless)
        result = find_most(&s, found.none ? 0 : ignored + 1);
    if (result)
        foretold_limit_release(&found);
    else
        *limit = found;
    return result;
}

void foretold_limit_release(struct foretold_limit *limit)
{
    foretold_release(&limit->fits);
    foretold_release(&limit->beyond);
    *limit = (struct foretold_limit){0};
}
