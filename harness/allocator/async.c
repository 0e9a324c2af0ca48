/* async: the device's own stream-ordered pool, its attributes read as they are. What the pool
 * reserves depends on when frees reach the device, and it takes more than it needs: the peak of
 * reserved is an upper bound of the need. Simulated and host devices have driver_pool.h's
 * model.
 */
#include "harness/allocator/check.h"
#include "harness/allocator/ops.h"

struct async {
    struct allocator base;
    struct reading limit;
    uint64_t asked; /* sum of unrounded live sizes, what the limit is compared with */
};

static void async_refresh(struct allocator *allocator)
{
    struct allocator_statistics *s = &allocator->statistics;
    struct device_pool_reading now;
    if (allocator->device->ops->pool->read(allocator->device, &now))
        return;
    s->all.allocated.current = s->all.active.current = now.used_current;
    s->all.allocated.peak = s->all.active.peak = now.used_high;
    s->all.reserved.current = now.reserved_current;
    s->all.reserved.peak = now.reserved_high;
}

static int async_open(struct allocator *allocator, const struct allocator_setting *setting,
                      struct text *why)
{
    if (!allocator->device->ops->pool)
        return text_fail(why, "the %s device has no stream-ordered pool",
                         allocator->device->ops->name);
    ((struct async *)allocator)->limit = setting->limit;
    return 0;
}

static enum outcome async_alloc(struct allocator *allocator, uint64_t bytes, uint64_t stream,
                                struct piece **piece, struct refusal *refusal)
{
    (void)stream;
    struct async *async = (struct async *)allocator;
    struct allocator_statistics *s = &allocator->statistics;
    struct device *device = allocator->device;
    if (async->limit.known && async->asked + bytes > async->limit.value) {
        refusal_by_limit(refusal, bytes, async->limit.value, async->asked);
        s->ooms++;
        return OUTCOME_OOM;
    }
    uint64_t address;
    const enum outcome outcome = device->ops->pool->alloc(device, bytes, &address);
    if (outcome != OUTCOME_OK) {
        refusal_by_device(refusal, device, outcome, bytes);
        s->ooms += outcome == OUTCOME_OOM;
        return outcome;
    }
    async->asked += bytes;
    statistic_add(&s->all.allocations, 1);
    statistic_add(&s->all.actives, 1);
    statistic_add(&s->all.requested, bytes);
    const uint64_t peak_before = s->all.allocated.peak;
    async_refresh(allocator);
    statistics_mark_peak(s, peak_before);
    *piece = piece_of_device(allocator, address, bytes);
    return OUTCOME_OK;
}

static void async_free(struct allocator *allocator, struct piece *piece)
{
    struct async *async = (struct async *)allocator;
    struct allocator_statistics *s = &allocator->statistics;
    allocator->device->ops->pool->free(allocator->device, piece->address);
    async->asked -= piece->requested;
    statistic_sub(&s->all.allocations, 1);
    statistic_sub(&s->all.actives, 1);
    statistic_sub(&s->all.requested, piece->requested);
    piece_drop(&allocator->store, piece);
    async_refresh(allocator);
}

static void async_empty_cache(struct allocator *allocator)
{
    struct device *device = allocator->device;
    if (device->ops->synchronise(device) == OUTCOME_OK)
        device->ops->pool->trim(device);
    allocator->statistics.syncs++;
    async_refresh(allocator);
}

static void async_reset_peaks(struct allocator *allocator)
{
    allocator->device->ops->pool->reset_high(allocator->device);
    async_refresh(allocator);
}

const struct allocator_ops allocator_async = {
    .counter_source = "highwater.async",
    .size = sizeof(struct async),
    .reserved_known = true,
    .reserved_is_upper_bound = true,
    .open = async_open,
    .alloc = async_alloc,
    .free = async_free,
    .empty_cache = async_empty_cache,
    .refresh = async_refresh,
    .reset_peaks = async_reset_peaks,
    .check = check_plain,
    .close = async_empty_cache,
};
