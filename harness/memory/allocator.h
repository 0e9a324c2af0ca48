/* allocator: blocks out of segments. A row each in one table: caching (PyTorch's algorithm, ties
 * broken by segment order unless a replay says otherwise), expandable, async, direct.
 *
 * Not thread-safe; one allocator per device. Sizes in bytes.
 */
#ifndef HIGHWATER_MEMORY_ALLOCATOR_H
#define HIGHWATER_MEMORY_ALLOCATOR_H

#include "harness/base/option.h"
#include "harness/memory/device.h"

enum tie_break { TIE_SEGMENT_ORDER, TIE_ADDRESS };

/* The settings of [device] that concern allocators, also long options of `replay`. */
struct allocator_setting {
    char *roundup_power2_divisions;     /* N, or a list "[64:8,256:4,>:1]"; "0": off */
    struct reading max_split_size;      /* missing: off */
    struct reading max_non_split_rounding;
    double garbage_collection_threshold; /* 0: off */
    struct reading limit;               /* most bytes reserved; missing: none */
    enum tie_break tie_break;           /* not a study key */
};
extern const struct option allocator_options[]; /* for struct allocator_setting */

/* One statistic: every byte statistic is kept as PyTorch defines it. */
struct statistic {
    uint64_t current, peak, allocated, freed;
};
struct allocator_statistics {
    struct statistic allocated, reserved, active, requested, inactive_split; /* bytes */
    struct statistic allocations, segments;                                  /* counts */
    uint64_t alloc_retries, ooms, device_allocs, device_frees;
    uint64_t reserved_at_allocated_peak;
    bool reserved_known;          /* false for direct: no pool, reserved is missing */
    bool reserved_is_upper_bound; /* async */
};

/* What the last refusal was about. */
struct refusal {
    char by[8];           /* device, limit, host */
    uint64_t bytes;       /* of the request made to the refuser */
    struct reading free;  /* at the refuser at that moment */
};

struct allocator;
struct allocator_ops; /* allocator.c's table; a row each */

struct block {
    uint64_t address;
    uint64_t size;      /* handed out, after rounding */
    uint64_t requested; /* asked for */
    void *inner;        /* the allocator's own */
};

/* NULL-terminated names of the table, in its order; also the choices of the option `allocator`. */
extern const char *const allocator_names[];

int allocator_open(struct allocator **allocator, const char *name, struct device *device,
                   const struct allocator_setting *setting, struct text *why) MUST_CHECK;
/* A request of 0 bytes is OK with address 0 and counts nothing. Stream: a handle, 0 = default. */
enum outcome allocator_alloc(struct allocator *allocator, uint64_t bytes, uint64_t stream,
                             struct block *block, struct refusal *refusal) MUST_CHECK;
void allocator_free(struct allocator *allocator, struct block *block);
void allocator_empty_cache(struct allocator *allocator);
void allocator_reset_peaks(struct allocator *allocator);
void allocator_read(struct allocator *allocator, struct allocator_statistics *statistics);
/* Asserts the allocator's invariants (blocks tile segments, free lists agree, sums agree). */
void allocator_check(const struct allocator *allocator);
/* Gives everything back. Blocks still handed out are a bug of the caller: returns their count. */
uint64_t allocator_close(struct allocator *allocator);

#endif
