/* statistics: what an allocator counts, as PyTorch's memory_stats do. */
#ifndef HIGHWATER_ALLOCATOR_STATISTICS_H
#define HIGHWATER_ALLOCATOR_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

/* One statistic as PyTorch keeps it: the peak since the last reset, and the sums of all
 * increases and decreases. */
struct statistic {
    uint64_t current, peak, allocated, freed;
};
struct pool_statistics {
    struct statistic allocated, reserved, active, requested, inactive_split; /* bytes */
    struct statistic allocations, segments, actives, inactive_splits;        /* counts */
};
struct allocator_statistics {
    struct pool_statistics all, small, large;                 /* direct and async: only `all` */
    struct statistic oversize_allocations, oversize_segments; /* counts */
    uint64_t alloc_retries, ooms, device_allocs, device_frees, syncs;
    uint64_t reserved_at_allocated_peak;
    bool reserved_known;          /* false for direct: no pool, reserved is missing */
    bool reserved_is_upper_bound; /* async */
};

static inline void statistic_add(struct statistic *statistic, uint64_t x)
{
    statistic->current += x;
    statistic->allocated += x;
    if (statistic->current > statistic->peak)
        statistic->peak = statistic->current;
}

static inline void statistic_sub(struct statistic *statistic, uint64_t x)
{
    statistic->current -= x;
    statistic->freed += x;
}

static inline void statistic_change(struct statistic *statistic, int64_t x)
{
    if (x > 0)
        statistic_add(statistic, (uint64_t)x);
    else if (x < 0)
        statistic_sub(statistic, (uint64_t)-x);
}

/* Counts one block into `pool`, and out of it. */
void statistics_hand_out(struct pool_statistics *pool, uint64_t size, uint64_t requested);
void statistics_take_back(struct pool_statistics *pool, uint64_t size, uint64_t requested);
/* To be called after a block was counted into `all`: was that a new allocated peak? */
void statistics_mark_peak(struct allocator_statistics *statistics, uint64_t peak_before);
void statistics_reset_peaks(struct allocator_statistics *statistics);

#endif
