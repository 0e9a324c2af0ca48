#include "harness/allocator/caching.h"

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

static bool collects_garbage(const struct caching *c)
{
    return c->limit.known && c->gc_threshold > 0;
}

/* The growable tail of an expandable segment is passed over for a closed hole that fits. */
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

/* The failure ladder. After everything was released the free lists are not searched again: a
 * known defect of the original, kept. */
static enum outcome obtain(struct caching *c, const struct want *want, struct piece **piece)
{
    if (collects_garbage(c))
        caching_collect_garbage(c);
    enum outcome outcome = caching_try(c, want, piece);
    if (outcome == OUTCOME_OOM && c->max_split != UINT64_MAX &&
        caching_release_oversize(c, want))
        outcome = caching_try(c, want, piece);
    if (outcome == OUTCOME_OOM) {
        caching_release_all(c);
        c->base.statistics.alloc_retries++;
        outcome = caching_try(c, want, piece);
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

bool caching_has_room(struct allocator *allocator, uint64_t bytes, uint64_t stream)
{
    struct caching *c = (struct caching *)allocator;
    const struct want want = want_of(c, bytes, stream, NULL);
    return find(c, &want) != NULL;
}

enum outcome caching_alloc(struct allocator *allocator, uint64_t bytes, uint64_t stream,
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

void caching_free(struct allocator *allocator, struct piece *piece)
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
    struct text ignored = TEXT_INIT;
    const int result =
        rounding_parse(setting->roundup_power2_divisions, &c->rounding, &ignored);
    assert(result == 0); /* allocator_open has checked it */
    (void)result;
    text_release(&ignored);
    c->max_split = setting->max_split_size.known ? setting->max_split_size.value : UINT64_MAX;
    c->max_non_split_rounding = setting->max_non_split_rounding.known
                                    ? setting->max_non_split_rounding.value
                                    : LARGE_SEGMENT;
    c->gc_threshold = setting->garbage_collection_threshold;
    c->limit = setting->limit;
    c->order = setting->tie_break == TIE_ADDRESS ? BY_SIZE_THEN_ADDRESS : BY_SIZE_THEN_SEGMENT;
}

int caching_open(struct allocator *allocator, const struct allocator_setting *setting,
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

void caching_close(struct allocator *allocator)
{
    struct caching *c = (struct caching *)allocator;
    caching_release_all(c);
    close_pool(c, &c->large);
    close_pool(c, &c->small);
}

const struct allocator_ops allocator_caching = {
    .counter_source = "highwater.caching",
    .size = sizeof(struct caching),
    .reserved_known = true,
    .open = caching_open,
    .has_room = caching_has_room,
    .alloc = caching_alloc,
    .free = caching_free,
    .empty_cache = caching_empty_cache,
    .check = caching_check,
    .close = caching_close,
};
