/* script: what several takes of a program have in common, so that its requests can be made for
 * any value of the dimension that varies.
 *
 * A script is a list of elements in order: a slot (a request, an empty_cache, the begin or end
 * of a phase), or a loop over a body of slots. A request's bytes are a polynomial of the value;
 * in a loop they may grow by another one with each time round. How often a loop runs is a
 * polynomial too. Where a block is freed is a place in the script.
 *
 * Doubtful are requests that some takes lack or whose bytes follow no polynomial (irregular),
 * and short-lived ones whose bytes follow one that nothing has checked: library workspaces,
 * mostly. They are made in versions that frame them (make.h).
 */
#ifndef HIGHWATER_FORECAST_SCRIPT_H
#define HIGHWATER_FORECAST_SCRIPT_H

#include "harness/forecast/loops.h"
#include "harness/forecast/polynomial.h"

/* Before (or right after) which slot of which element. Element `script->count` is
 * the end; SLOT_NEVER: not within the script. */
struct rule {
    uint32_t element, position;
    int64_t start, each; /* time round: start + each * (the block's own time round) */
    bool from_end;       /* and the number of times round is added */
    bool after;
};
#define SLOT_NEVER UINT32_MAX

enum slot_bytes { SLOT_FITTED, SLOT_UNCHECKED, SLOT_IRREGULAR };
enum { SLOT_BACKS = 2 };

struct script_slot {
    uint8_t op;          /* enum trace_op */
    uint8_t kind;        /* enum slot_bytes; the latter two are doubtful */
    bool partial;        /* some takes lack it */
    bool numbered;       /* a phase in a loop: its number is `number` + the time round */
    uint32_t take, item; /* where it was seen: the last take that has it */
    uint64_t number;
    struct polynomial bytes, growth;
    uint64_t few_bytes, few_value, most_bytes, most_value; /* doubtful: per unit, as seen */
    /* When the block is freed. In a loop the last `backs` times round and the first `fronts`
     * have rules of their own. Outside of one: `late`, where takes differ. */
    struct rule rule, front, back[SLOT_BACKS], late;
    uint8_t fronts, backs;
    bool moves; /* `late` differs from `rule` */
};

struct element {
    uint32_t slot, length; /* its first slot, and how many */
    bool repeats;
    struct polynomial times;
    uint32_t least; /* times round that its rules need */
};

struct script {
    const struct take *takes; /* borrowed; values rise */
    size_t take_count;
    struct element *elements;
    uint32_t count;
    struct script_slot *slots;
    uint32_t slot_count;
    /* What the fits rest on. */
    uint32_t requests, irregular, unchecked, doubtful_short, moved;
    uint64_t irregular_bytes; /* the sum of the largest seen of each */
};
/* At least two takes. -1: they are not of one program, or it cannot be said how they differ;
 * the reason names the first place where they part. */
int script_find(const struct take *takes, size_t count, struct script *script,
                struct text *why) MUST_CHECK;
void script_release(struct script *script);

#endif
