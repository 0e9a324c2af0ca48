/* loops: stretches that a take repeats more often than another: layers, tokens, microbatches.
 *
 * Found where the base (the take with the largest value) has a run of items that the other take
 * lacks and that repeats what stands before or behind it: kind, stream and size of every item,
 * or a size that grows by the same bytes each time.
 */
#ifndef HIGHWATER_FORECAST_LOOPS_H
#define HIGHWATER_FORECAST_LOOPS_H

#include "harness/forecast/pairing.h"

struct loop {
    uint32_t start, length, times; /* in the base: its first item, items of a body, bodies */
    uint32_t *starts, *counts;     /* the same of every take, the base among them */
};
struct loops {
    struct loop *list; /* by `start`; they do not overlap */
    size_t count;
};
/* `pairings` has one per take but the last, which is the base. -1: a take has a stretch of
 * which it cannot be said how often it repeats. */
int loops_find(const struct take *takes, size_t count, const struct pairing *pairings,
               struct loops *loops, struct text *why) MUST_CHECK;
void loops_release(struct loops *loops);

/* "A:12: in phase forward_0 4096 bytes, where B:14 has begin of update_0" */
void take_add_parting(const struct take *a, uint32_t i, const struct take *b, uint32_t j,
                      struct text *text);

#endif
