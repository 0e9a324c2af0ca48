#include "harness/allocator/statistics.h"

#include <stddef.h>

void statistics_hand_out(struct pool_statistics *pool, uint64_t size, uint64_t requested)
{
    statistic_add(&pool->allocations, 1);
    statistic_add(&pool->allocated, size);
    statistic_add(&pool->actives, 1);
    statistic_add(&pool->active, size);
    statistic_add(&pool->requested, requested);
}

void statistics_take_back(struct pool_statistics *pool, uint64_t size, uint64_t requested)
{
    statistic_sub(&pool->allocations, 1);
    statistic_sub(&pool->allocated, size);
    statistic_sub(&pool->actives, 1);
    statistic_sub(&pool->active, size);
    statistic_sub(&pool->requested, requested);
}

void statistics_mark_peak(struct allocator_statistics *statistics, uint64_t peak_before)
{
    if (statistics->all.allocated.peak > peak_before)
        statistics->reserved_at_allocated_peak = statistics->all.reserved.current;
}

static void reset(struct statistic *first, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(*first); i++)
        first[i].peak = first[i].current;
}

void statistics_reset_peaks(struct allocator_statistics *s)
{
    reset(&s->all.allocated, sizeof(s->all));
    reset(&s->small.allocated, sizeof(s->small));
    reset(&s->large.allocated, sizeof(s->large));
    reset(&s->oversize_allocations, sizeof(s->oversize_allocations));
    reset(&s->oversize_segments, sizeof(s->oversize_segments));
    s->reserved_at_allocated_peak = s->all.reserved.current;
}
