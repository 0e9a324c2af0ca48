/* These checks abort in every build: they run only when asked for. */
#undef NDEBUG
#include "harness/allocator/check.h"
#include "harness/allocator/caching.h"

#include <assert.h>
#include <stdlib.h>

/* Sums over all pieces, to be compared with what was counted along the way. */
struct sums {
    uint64_t allocated, requested, reserved, inactive_split;
    uint64_t allocations, segments, inactive_splits;
    uint64_t free_pieces, unmapped_pieces;
};

static void check_neighbours(const struct piece *p)
{
    const struct segment *segment = p->segment;
    assert(p->size > 0 && p->size % ROUNDING_MINIMUM == 0);
    assert(p->mapped || !p->allocated);
    if (p->prev)
        assert(p->prev->next == p && p->prev->address + p->prev->size == p->address);
    else
        assert(p->address == segment->address);
    if (p->next)
        assert(p->next->prev == p && p->next->segment == segment);
    else
        assert(p->address + p->size == segment->address + segment->bytes);
    /* two free neighbours of one kind would have been joined */
    if (p->next && !p->allocated && !p->next->allocated)
        assert(p->mapped != p->next->mapped);
}

static void add_piece(const struct caching *c, const struct piece *p, struct sums *sums)
{
    if (!p->prev)
        sums->segments++;
    if (!p->mapped) {
        sums->unmapped_pieces++;
        return;
    }
    sums->reserved += p->size;
    if (p->allocated) {
        sums->allocations++;
        sums->allocated += p->size;
        sums->requested += p->requested;
        return;
    }
    sums->free_pieces++;
    if (!c->expandable && piece_is_split(p)) {
        sums->inactive_splits++;
        sums->inactive_split += p->size;
    }
}

/* A member is what its set is for, and comes after the one before. */
static void check_member(const struct piece *p, const struct piece *before,
                         enum piece_order order, const struct shelf *shelf, bool mapped)
{
    assert(!p->allocated && p->mapped == mapped && p->segment->shelf == shelf);
    assert(!before || piece_before(order, before, p));
}

static uint64_t check_free(const struct shelf *shelf)
{
    uint64_t count = 0;
    const struct piece *before = NULL;
    struct piece *p = piece_bins_first(&shelf->free);
    for (; p; p = piece_bins_after(&shelf->free, p)) {
        check_member(p, before, shelf->free.order, shelf, true);
        before = p;
        count++;
    }
    return count;
}

static uint64_t check_unmapped(const struct shelf *shelf)
{
    uint64_t count = 0;
    const struct piece *before = NULL;
    struct piece *p = piece_tree_first(&shelf->unmapped);
    for (; p; p = piece_tree_after(&shelf->unmapped, p)) {
        check_member(p, before, BY_ADDRESS, shelf, false);
        before = p;
        count++;
    }
    return count;
}

static void check_pool(const struct caching *c, const struct pool *pool,
                       const struct sums *sums)
{
    uint64_t free_pieces = 0, unmapped_pieces = 0;
    for (const struct shelf *shelf = pool->shelves; shelf; shelf = shelf->next) {
        assert(!shelf->next || shelf->stream < shelf->next->stream);
        free_pieces += check_free(shelf);
        unmapped_pieces += check_unmapped(shelf);
    }
    const struct pool_statistics *s = pool->statistics;
    assert(sums->free_pieces == free_pieces && sums->unmapped_pieces == unmapped_pieces);
    assert(sums->allocated == s->allocated.current && sums->allocated == s->active.current);
    assert(sums->allocations == s->allocations.current);
    assert(sums->requested == s->requested.current);
    assert(sums->reserved == s->reserved.current);
    assert(sums->inactive_split == s->inactive_split.current);
    assert(sums->inactive_splits == s->inactive_splits.current);
    assert(c->expandable || sums->segments == s->segments.current);
}

static void check_sum(const struct statistic *all, const struct statistic *small,
                      const struct statistic *large)
{
    assert(all->current == small->current + large->current);
    assert(all->allocated == small->allocated + large->allocated);
    assert(all->current == all->allocated - all->freed);
    assert(all->peak >= all->current && all->peak <= small->peak + large->peak);
}

void check_caching(const struct allocator *allocator)
{
    const struct caching *c = (const struct caching *)allocator;
    const struct allocator_statistics *s = &allocator->statistics;
    struct sums small = {0}, large = {0};
    for (struct piece *p = piece_store_next(&c->base.store, NULL); p;
         p = piece_store_next(&c->base.store, p)) {
        check_neighbours(p);
        add_piece(c, p, p->segment->shelf->pool->small ? &small : &large);
    }
    check_pool(c, &c->small, &small);
    check_pool(c, &c->large, &large);
    check_sum(&s->all.allocated, &s->small.allocated, &s->large.allocated);
    check_sum(&s->all.reserved, &s->small.reserved, &s->large.reserved);
    check_sum(&s->all.requested, &s->small.requested, &s->large.requested);
    check_sum(&s->all.inactive_split, &s->small.inactive_split, &s->large.inactive_split);
    check_sum(&s->all.allocations, &s->small.allocations, &s->large.allocations);
    check_sum(&s->all.segments, &s->small.segments, &s->large.segments);
    assert(s->all.reserved.current >= s->all.allocated.current);
    assert(s->device_allocs >= s->device_frees);
}

void check_plain(const struct allocator *allocator)
{
    const struct pool_statistics *s = &allocator->statistics.all;
    uint64_t count = 0, requested = 0;
    for (struct piece *p = piece_store_next(&allocator->store, NULL); p;
         p = piece_store_next(&allocator->store, p)) {
        assert(p->allocated && p->size > 0);
        count++;
        requested += p->requested;
    }
    assert(count == s->allocations.current);
    assert(requested == s->requested.current);
    assert(s->requested.peak >= s->requested.current);
    assert(s->allocated.peak >= s->allocated.current);
    if (allocator->statistics.reserved_known)
        assert(s->reserved.current >= s->allocated.current);
    else
        assert(s->allocated.current == requested);
}
