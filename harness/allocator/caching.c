/* A request is rounded, which decides its pool; the pool's shelf for the stream is searched for
 * the best fit; when there is none, the device is asked, and when it refuses, cached memory is
 * given back step by step and the device is asked again (the failure ladder, `obtain`). What is
 * got may be split. A free joins the block with its free neighbours and puts it in the shelf:
 * nothing goes back to the device before memory is short or the cache is emptied.
 */
#include "harness/allocator/caching.h"
#include "harness/allocator/check.h"
#include "harness/allocator/expandable.h"
#include "harness/base/units.h"

#include <assert.h>
#include <stdlib.h>

static struct shelf *shelf_of(struct caching *c, struct pool *pool, uint64_t stream)
{
    if (pool->latest && pool->latest->stream == stream)
        return pool->latest;
    struct shelf **place = &pool->shelves;
    while (*place && (*place)->stream < stream)
        place = &(*place)->next;
    if (!*place || (*place)->stream != stream) {
        struct shelf *shelf = xcalloc(1, sizeof(*shelf));
        *shelf = (struct shelf){.stream = stream,
                                .pool = pool,
                                .free = {.order = c->order},
                                .unmapped = {.order = BY_ADDRESS},
                                .next = *place};
        *place = shelf;
    }
    pool->latest = *place;
    return *place;
}

void shelf_put(struct piece *piece)
{
    struct shelf *shelf = piece->segment->shelf;
    piece->birth = shelf->pool->searches;
    piece_bins_insert(&shelf->free, piece);
}

void caching_count_reserved(struct caching *c, struct pool *pool, uint64_t bytes)
{
    c->base.statistics.device_allocs++;
    statistic_add(&c->base.statistics.all.reserved, bytes);
    statistic_add(&pool->statistics->reserved, bytes);
}

void caching_uncount_reserved(struct caching *c, struct pool *pool, uint64_t bytes)
{
    c->base.statistics.device_frees++;
    statistic_sub(&c->base.statistics.all.reserved, bytes);
    statistic_sub(&pool->statistics->reserved, bytes);
}

/* --- segments from the device and back --- */

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

static enum outcome try_device(struct caching *c, const struct want *want, struct piece **piece)
{
    /* The limit is checked with the segment's size, also where pages would be mapped. */
    const uint64_t held = c->base.statistics.all.reserved.current;
    if (c->limit.known && held + want->segment > c->limit.value) {
        refusal_by_limit(want->refusal, want->segment, c->limit.value, held);
        return OUTCOME_OOM;
    }
    return c->expandable ? expandable_grow(c, want, piece) : segment_obtain(c, want, piece);
}

static void release_segment(struct caching *c, struct piece *piece)
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

/* --- giving back what is cached --- */

/* Age of a free piece: searches of its pool since it became free. */
static uint32_t age_of(const struct piece *piece)
{
    return piece->segment->shelf->pool->searches - piece->birth;
}

struct ages {
    double total;
    uint64_t count, reclaimed;
};

/* Only whole segments can be given back, so only they have an age that matters. */
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
            release_segment(c, p);
        }
    }
    return freed;
}

/* Gives back what is at least of average age, round by round, until what is reserved is below
 * the threshold or a round finds nothing. The small pool is left alone, as in the original. */
static void collect_garbage(struct caching *c)
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
static bool release_oversize(struct caching *c, const struct want *want)
{
    struct piece_bins *set = &want->shelf->free;
    const uint64_t key = want->size > c->max_split ? want->size : c->max_split;
    struct piece *piece = piece_bins_at_least(set, key);
    if (piece && !c->expandable) {
        release_segment(c, piece);
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
        release_segment(c, piece);
    }
    return released >= key;
}

/* Segments are given back while walking; pages of expandable ones after the walk, in its
 * order. */
static void release_pool(struct caching *c, struct pool *pool)
{
    struct piece **collected = NULL;
    size_t count = 0;
    for (struct shelf *shelf = pool->shelves; shelf; shelf = shelf->next) {
        struct piece *next;
        for (struct piece *p = piece_bins_first(&shelf->free); p; p = next) {
            next = piece_bins_after(&shelf->free, p);
            if (!c->expandable && !piece_is_split(p)) {
                release_segment(c, p);
            } else if (c->expandable) {
                *GROW(collected, count) = p;
            }
        }
    }
    for (size_t i = 0; i < count; i++)
        expandable_unmap(c, collected[i]);
    free(collected);
}

static void release_all(struct caching *c)
{
    c->base.statistics.syncs++;
    release_pool(c, &c->large);
    release_pool(c, &c->small);
}

/* --- from a request to a block --- */

static bool collects_garbage(const struct caching *c)
{
    return c->limit.known && c->gc_threshold > 0;
}

/* A free block before an unmapped range can grow into it: it is passed over for a larger one
 * that reaches less far, so that room to grow is kept for large requests. */
static struct piece *prefer_hole(const struct shelf *shelf, struct piece *piece)
{
    for (;;) {
        struct piece *next = piece_bins_after(&shelf->free, piece);
        if (!next || expandable_reach(next) >= expandable_reach(piece))
            return piece;
        piece = next;
    }
}

/* Best fit. The oversize rules judge the one candidate; later ones are not tried. */
static struct piece *find(const struct caching *c, const struct want *want)
{
    const struct shelf *shelf = want->shelf;
    struct piece *piece = piece_bins_at_least(&shelf->free, want->size);
    if (piece && c->expandable)
        piece = prefer_hole(shelf, piece);
    if (!piece)
        return NULL;
    if (want->size < c->max_split && piece->size >= c->max_split)
        return NULL;
    if (want->size >= c->max_split && piece->size - want->size >= c->max_non_split_rounding)
        return NULL;
    return piece;
}

static struct piece *search(struct caching *c, const struct want *want)
{
    if (collects_garbage(c))
        want->shelf->pool->searches++;
    struct piece *piece = find(c, want);
    if (piece)
        piece_bins_remove(&want->shelf->free, piece);
    return piece;
}

/* The failure ladder: old segments beyond the threshold, the device, large blocks of this
 * stream, the device, everything that is cached, the device. After everything was released the
 * free lists are not searched again: a known defect of the original, kept. */
static enum outcome obtain(struct caching *c, const struct want *want, struct piece **piece)
{
    if (collects_garbage(c))
        collect_garbage(c);
    enum outcome outcome = try_device(c, want, piece);
    if (outcome == OUTCOME_OOM && c->max_split != UINT64_MAX && release_oversize(c, want))
        outcome = try_device(c, want, piece);
    if (outcome == OUTCOME_OOM) {
        release_all(c);
        c->base.statistics.alloc_retries++;
        outcome = try_device(c, want, piece);
    }
    if (outcome == OUTCOME_OOM)
        c->base.statistics.ooms++;
    return outcome;
}

static bool should_split(const struct caching *c, const struct pool *pool,
                         const struct piece *piece, uint64_t size)
{
    const uint64_t rest = piece->size - size;
    if (pool->small || c->expandable)
        return rest >= ROUNDING_MINIMUM;
    return size < c->max_split && rest > SMALL_LIMIT;
}

static void count_inactive(struct caching *c, struct pool *pool, int64_t count, int64_t bytes)
{
    struct pool_statistics *const both[] = {&c->base.statistics.all, pool->statistics};
    for (size_t i = 0; i < 2; i++) {
        statistic_change(&both[i]->inactive_splits, count);
        statistic_change(&both[i]->inactive_split, bytes);
    }
}

/* Takes a free piece that is in no set, splits it if the rules say so, and counts it. */
static struct piece *hand_out(struct caching *c, const struct want *want, struct piece *piece,
                              uint64_t requested)
{
    struct pool *pool = want->shelf->pool;
    const bool was_split = piece_is_split(piece);
    const bool splits = should_split(c, pool, piece, want->size);
    const int64_t whole = (int64_t)piece->size;
    if (splits) {
        struct piece *rest = piece;
        piece = piece_split_front(&c->base.store, rest, want->size);
        shelf_put(rest);
    }
    if (!c->expandable && was_split)
        count_inactive(c, pool, splits ? 0 : -1, -(int64_t)piece->size);
    else if (!c->expandable && splits)
        count_inactive(c, pool, 1, whole - (int64_t)piece->size);
    piece->allocated = true;
    piece->requested = requested;
    struct allocator_statistics *s = &c->base.statistics;
    const uint64_t peak_before = s->all.allocated.peak;
    statistics_hand_out(&s->all, piece->size, requested);
    statistics_hand_out(pool->statistics, piece->size, requested);
    statistics_mark_peak(s, peak_before);
    if (piece->size >= c->max_split)
        statistic_add(&s->oversize_allocations, 1);
    return piece;
}

static struct want want_of(struct caching *c, uint64_t bytes, uint64_t stream,
                           struct refusal *refusal)
{
    const uint64_t size = rounding_apply(&c->rounding, bytes);
    struct pool *pool = size <= SMALL_LIMIT ? &c->small : &c->large;
    const uint64_t segment = pool->small        ? SMALL_SEGMENT
                             : size < MID_LIMIT ? LARGE_SEGMENT
                                                : round_up(size, LARGE_ROUND);
    return (struct want){size, segment, shelf_of(c, pool, stream), refusal};
}

static bool caching_has_room(struct allocator *allocator, uint64_t bytes, uint64_t stream)
{
    struct caching *c = (struct caching *)allocator;
    const struct want want = want_of(c, bytes, stream, NULL);
    return find(c, &want) != NULL;
}

static enum outcome caching_alloc(struct allocator *allocator, uint64_t bytes, uint64_t stream,
                                  struct piece **out, struct refusal *refusal)
{
    struct caching *c = (struct caching *)allocator;
    const struct want want = want_of(c, bytes, stream, refusal);
    struct piece *piece = search(c, &want);
    if (!piece) {
        const enum outcome outcome = obtain(c, &want, &piece);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    *out = hand_out(c, &want, piece, bytes);
    return OUTCOME_OK;
}

/* Joins with a free or unmapped neighbour in the same state; returns the bytes swallowed. */
static uint64_t swallow(struct caching *c, struct shelf *shelf, struct piece *piece,
                        struct piece *neighbour)
{
    if (!neighbour || !piece_is_free(neighbour))
        return 0;
    const uint64_t size = neighbour->size;
    piece_bins_remove(&shelf->free, neighbour);
    piece_join(&c->base.store, piece, neighbour);
    return size;
}

static void caching_free(struct allocator *allocator, struct piece *piece)
{
    struct caching *c = (struct caching *)allocator;
    struct shelf *shelf = piece->segment->shelf;
    struct pool *pool = shelf->pool;
    const uint64_t size = piece->size, requested = piece->requested;
    piece->allocated = false;
    if (size >= c->max_split)
        statistic_sub(&c->base.statistics.oversize_allocations, 1);
    const uint64_t left = swallow(c, shelf, piece, piece->prev);
    const uint64_t right = swallow(c, shelf, piece, piece->next);
    shelf_put(piece);
    if (!c->expandable) {
        /* only the net change counts, so that the peak does not see the steps */
        const bool split = piece_is_split(piece);
        count_inactive(c, pool, (split ? 1 : 0) - (left ? 1 : 0) - (right ? 1 : 0),
                       (split ? (int64_t)piece->size : 0) - (int64_t)(left + right));
    }
    statistics_take_back(&c->base.statistics.all, size, requested);
    statistics_take_back(pool->statistics, size, requested);
}

static void read_setting(struct caching *c, const struct allocator_setting *setting)
{
    const int result = rounding_parse(setting->roundup_power2_divisions, &c->rounding, NULL);
    assert(result == 0); /* allocator_open has checked it */
    (void)result;
    c->max_split = setting->max_split_size.known ? setting->max_split_size.value : UINT64_MAX;
    c->max_non_split_rounding = setting->max_non_split_rounding.known
                                    ? setting->max_non_split_rounding.value
                                    : LARGE_SEGMENT;
    c->gc_threshold = setting->garbage_collection_threshold;
    c->limit = setting->limit;
    c->order = setting->tie_break == TIE_ADDRESS ? BY_SIZE_THEN_ADDRESS : BY_SIZE_THEN_SEGMENT;
}

static int caching_open(struct allocator *allocator, const struct allocator_setting *setting,
                        struct text *why)
{
    (void)why;
    struct caching *c = (struct caching *)allocator;
    read_setting(c, setting);
    c->large = (struct pool){.page = LARGE_SEGMENT, .statistics = &allocator->statistics.large};
    c->small = (struct pool){
        .small = true, .page = SMALL_SEGMENT, .statistics = &allocator->statistics.small};
    return 0;
}

static void caching_empty_cache(struct allocator *allocator)
{
    release_all((struct caching *)allocator);
}

static void close_pool(struct caching *c, struct pool *pool)
{
    while (pool->shelves) {
        expandable_forget(c, pool->shelves);
        struct shelf *next = pool->shelves->next;
        piece_bins_release(&pool->shelves->free);
        free(pool->shelves);
        pool->shelves = next;
    }
}

static void caching_close(struct allocator *allocator)
{
    struct caching *c = (struct caching *)allocator;
    release_all(c);
    close_pool(c, &c->large);
    close_pool(c, &c->small);
}

#define OPS(source, open_)                                                                     \
    {                                                                                          \
        .counter_source = source, .size = sizeof(struct caching), .reserved_known = true,      \
        .open = open_, .has_room = caching_has_room, .alloc = caching_alloc,                   \
        .free = caching_free, .empty_cache = caching_empty_cache, .check = check_caching,      \
        .close = caching_close                                                                 \
    }
const struct allocator_ops allocator_caching = OPS("highwater.caching", caching_open);

/* The same allocator on segments that are mapped page by page. */
static int expandable_open(struct allocator *allocator, const struct allocator_setting *setting,
                           struct text *why)
{
    if (expandable_check_device(allocator->device, why))
        return -1;
    ((struct caching *)allocator)->expandable = true;
    return caching_open(allocator, setting, why);
}

const struct allocator_ops allocator_expandable = OPS("highwater.expandable", expandable_open);
