#include "harness/allocator/caching.h"

#include <assert.h>
#include <stdlib.h>

static enum outcome segment_obtain(struct caching *c, const struct want *want,
                                   struct piece **piece)
{
    struct device *device = c->base.device;
    struct pool *pool = want->shelf->pool;
    uint64_t address;
    const enum outcome outcome = device->ops->segment_alloc(device, want->segment, &address);
    if (outcome != OUTCOME_OK) {
        refusal_by_device(want->refusal, device, outcome, want->segment);
        return outcome;
    }
    struct segment *segment = xmalloc(sizeof(*segment));
    *segment = (struct segment){.rank = {c->segments_made++},
                                .shelf = want->shelf,
                                .address = address,
                                .bytes = want->segment};
    caching_count_reserved(c, pool, want->segment);
    statistic_add(&c->base.statistics.all.segments, 1);
    statistic_add(&pool->statistics->segments, 1);
    if (want->segment >= c->max_split)
        statistic_add(&c->base.statistics.oversize_segments, 1);
    allocator_tell(&c->base, SEGMENT_ALLOC, want->segment, want->shelf->stream, address);
    *piece = piece_new(&c->base.store, segment, address, want->segment);
    return OUTCOME_OK;
}

enum outcome caching_try(struct caching *c, const struct want *want, struct piece **piece)
{
    /* The limit is checked with the segment's size, also where pages would be mapped. */
    const uint64_t held = c->base.statistics.all.reserved.current;
    if (c->limit.known && held + want->segment > c->limit.value) {
        refusal_by_limit(want->refusal, want->segment, c->limit.value, held);
        return OUTCOME_OOM;
    }
    return c->expandable ? expandable_grow(c, want, piece) : segment_obtain(c, want, piece);
}

void caching_release_segment(struct caching *c, struct piece *piece)
{
    struct segment *segment = piece->segment;
    struct shelf *shelf = segment->shelf;
    struct device *device = c->base.device;
    assert(!piece_is_split(piece) && piece_is_free(piece));
    piece_bins_remove(&shelf->free, piece);
    device->ops->segment_free(device, segment->address, segment->bytes);
    caching_uncount_reserved(c, shelf->pool, segment->bytes);
    statistic_sub(&c->base.statistics.all.segments, 1);
    statistic_sub(&shelf->pool->statistics->segments, 1);
    if (segment->bytes >= c->max_split)
        statistic_sub(&c->base.statistics.oversize_segments, 1);
    allocator_tell(&c->base, SEGMENT_FREE, segment->bytes, shelf->stream, segment->address);
    piece_drop(&c->base.store, piece);
    free(segment);
}
