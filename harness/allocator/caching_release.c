#include "harness/allocator/caching.h"

#include <stdlib.h>

/* Age of a free piece: searches of its pool since it became free. */
static uint32_t age_of(const struct piece *piece)
{
    return piece->segment->shelf->pool->searches - piece->birth;
}

struct ages {
    double total;
    uint64_t count, reclaimed;
};

static void sum_ages(const struct pool *pool, struct ages *ages)
{
    for (struct shelf *shelf = pool->shelves; shelf; shelf = shelf->next) {
        struct piece *p = piece_bins_first(&shelf->free);
        for (; p; p = piece_bins_after(&shelf->free, p)) {
            if (!piece_is_split(p)) {
                ages->total += age_of(p);
                ages->count++;
            }
        }
    }
}

/* One round over the whole pool; it is not cut short when enough was reclaimed. */
static bool collect_round(struct caching *c, struct pool *pool, struct ages *ages)
{
    const double cut = ages->total / (double)ages->count;
    bool freed = false;
    for (struct shelf *shelf = pool->shelves; shelf; shelf = shelf->next) {
        struct piece *next;
        for (struct piece *p = piece_bins_first(&shelf->free); p; p = next) {
            next = piece_bins_after(&shelf->free, p);
            if (piece_is_split(p) || c->expandable || age_of(p) < cut)
                continue;
            ages->total -= age_of(p);
            ages->count--;
            ages->reclaimed += p->size;
            freed = true;
            caching_release_segment(c, p);
        }
    }
    return freed;
}

void caching_collect_garbage(struct caching *c)
{
    const uint64_t held = c->base.statistics.all.reserved.current;
    const uint64_t most = (uint64_t)(c->gc_threshold * (double)c->limit.value);
    if (held <= most)
        return;
    struct ages ages = {0};
    sum_ages(&c->large, &ages);
    bool freed = true;
    while (ages.reclaimed < held - most && freed && ages.count > 0)
        freed = collect_round(c, &c->large, &ages);
}

/* One block that is large enough, or else several, largest first. What was freed before a
 * failure stays freed. */
bool caching_release_oversize(struct caching *c, const struct want *want)
{
    struct piece_bins *set = &want->shelf->free;
    const uint64_t key = want->size > c->max_split ? want->size : c->max_split;
    struct piece *piece = piece_bins_at_least(set, key);
    if (piece && !c->expandable) {
        caching_release_segment(c, piece);
        return true;
    }
    uint64_t released = 0;
    struct piece *before;
    piece = piece ? piece_bins_before(set, piece) : piece_bins_last(set);
    for (; piece && released < key && piece->size >= c->max_split; piece = before) {
        before = piece_bins_before(set, piece);
        if (c->expandable)
            continue;
        released += piece->size;
        caching_release_segment(c, piece);
    }
    return released >= key;
}

/* Segments are given back while walking; pages of expandable ones after the walk, in its order.
 */
static void release_pool(struct caching *c, struct pool *pool)
{
    struct piece **collected = NULL;
    size_t count = 0, capacity = 0;
    for (struct shelf *shelf = pool->shelves; shelf; shelf = shelf->next) {
        struct piece *next;
        for (struct piece *p = piece_bins_first(&shelf->free); p; p = next) {
            next = piece_bins_after(&shelf->free, p);
            if (!c->expandable && !piece_is_split(p)) {
                caching_release_segment(c, p);
            } else if (c->expandable) {
                if (count == capacity) {
                    capacity = capacity ? 2 * capacity : 64;
                    collected = xrealloc(collected, capacity * sizeof(struct piece *));
                }
                collected[count++] = p;
            }
        }
    }
    for (size_t i = 0; i < count; i++)
        expandable_unmap(c, collected[i]);
    free(collected);
}

void caching_release_all(struct caching *c)
{
    c->base.statistics.syncs++;
    release_pool(c, &c->large);
    release_pool(c, &c->small);
}

void caching_empty_cache(struct allocator *allocator)
{
    caching_release_all((struct caching *)allocator);
}
