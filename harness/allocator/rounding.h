/* rounding: from bytes asked for to bytes handed out (PyTorch's rules). */
#ifndef HIGHWATER_ALLOCATOR_ROUNDING_H
#define HIGHWATER_ALLOCATOR_ROUNDING_H

#include "harness/base/text.h"
#include "harness/base/units.h"

#include <stdint.h>

#define ROUNDING_MINIMUM 512u
#define ROUNDING_ENTRIES 16

/* Divisions between powers of two; entry i is for requests of 2^(20+i) bytes and more, the
 * first for everything smaller too. 0 and 1: multiples of 512 instead. */
struct rounding {
    uint64_t divisions[ROUNDING_ENTRIES];
};

/* "4", or "[64:8,256:4,>:1]": MiB and divisions, powers of two; the first key fills all lower
 * entries, ">" all above the last key. NULL, "" and "0": off. -1: reason in `why`. */
int rounding_parse(const char *string, struct rounding *rounding, struct text *why) MUST_CHECK;

/* `bytes` is at least 1 and below 2^60. */
uint64_t rounding_apply(const struct rounding *rounding, uint64_t bytes);

#endif
