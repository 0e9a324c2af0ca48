#include "harness/device/driver_pool.h"
#include "harness/device/piece.h"
#include "harness/base/units.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((uint64_t)32 << 20)
#define MOST ((uint64_t)1 << 60) /* bytes of a device, as far as its range follows them */

/* One page of the range: is memory behind it, and how many pieces that are live or waiting lie
 * on it, wholly or in part. */
struct page {
    bool mapped;
    uint32_t pieces;
};

/* Pieces tile [0, end) of the range; `mapped` of a piece means: a hole, not waiting. */
struct driver_pool {
    struct device *device;
    uint64_t base, range; /* range 0: nothing reserved yet */
    uint64_t end;
    struct piece *last;
    struct piece_bins waiting, holes;
    struct piece_tree live; /* by address */
    struct piece_store store;
    uint32_t births;
    struct page *pages;
    size_t page_count; /* that were ever touched */
    size_t idle_pages; /* with memory behind them and nothing on them */
    struct device_pool_reading counts;
};

struct driver_pool *driver_pool_open(struct device *device)
{
    struct driver_pool *pool = xcalloc(1, sizeof(*pool));
    *pool = (struct driver_pool){.device = device,
                                 .waiting = {.order = BY_SIZE_THEN_BIRTH},
                                 .holes = {.order = BY_SIZE_THEN_BIRTH},
                                 .live = {.order = BY_ADDRESS}};
    return pool;
}

static void raise_high(uint64_t *high, uint64_t current)
{
    if (current > *high)
        *high = current;
}

/* --- pages --- */

static void touch_pages(struct driver_pool *pool, size_t count)
{
    if (count <= pool->page_count)
        return;
    pool->pages = xrealloc(pool->pages, count * sizeof(*pool->pages));
    memset(pool->pages + pool->page_count, 0,
           (count - pool->page_count) * sizeof(*pool->pages));
    pool->page_count = count;
}

static bool is_idle(const struct driver_pool *pool, size_t page)
{
    return pool->pages[page].mapped && !pool->pages[page].pieces;
}

static void set_mapped(struct driver_pool *pool, size_t page, bool mapped)
{
    pool->idle_pages -= is_idle(pool, page);
    pool->pages[page].mapped = mapped;
    pool->idle_pages += is_idle(pool, page);
}

static void count_on_page(struct driver_pool *pool, uint64_t address, int change)
{
    const size_t page = address / PAGE;
    pool->idle_pages -= is_idle(pool, page);
    pool->pages[page].pieces += (uint32_t)change;
    pool->idle_pages += is_idle(pool, page);
}

static void unmap_page(struct driver_pool *pool, size_t page)
{
    pool->device->ops->paging->unmap(pool->device, pool->base + page * PAGE, PAGE);
    set_mapped(pool, page, false);
    pool->counts.reserved_current -= PAGE;
}

/* Frees the memory of the highest page on which nothing lies, outside [first, last]. */
static void steal_page(struct driver_pool *pool, size_t first, size_t last)
{
    for (size_t i = pool->page_count; i-- > 0;) {
        if (is_idle(pool, i) && (i < first || i > last)) {
            unmap_page(pool, i);
            return;
        }
    }
}

/* Sees to it that all pages of the range have memory: idle pages elsewhere are taken before the
 * device is asked for more. */
static enum outcome map_pages(struct driver_pool *pool, uint64_t start, uint64_t size)
{
    const size_t first = start / PAGE, last = (start + size - 1) / PAGE;
    size_t own = 0; /* idle pages that are not to be stolen */
    touch_pages(pool, last + 1);
    for (size_t i = first; i <= last; i++)
        own += is_idle(pool, i);
    for (size_t i = first; i <= last; i++) {
        if (pool->pages[i].mapped)
            continue;
        if (pool->idle_pages > own)
            steal_page(pool, first, last);
        const enum outcome outcome =
            pool->device->ops->paging->map(pool->device, pool->base + i * PAGE, PAGE);
        if (outcome != OUTCOME_OK)
            return outcome;
        set_mapped(pool, i, true);
        own += is_idle(pool, i);
        pool->counts.reserved_current += PAGE;
        raise_high(&pool->counts.reserved_high, pool->counts.reserved_current);
    }
    return OUTCOME_OK;
}

static void count_on_pages(struct driver_pool *pool, const struct piece *piece, int change)
{
    for (size_t i = piece->address / PAGE; i <= (piece->address + piece->size - 1) / PAGE; i++)
        count_on_page(pool, i * PAGE, change);
}

static bool has_all_pages(const struct driver_pool *pool, const struct piece *hole)
{
    size_t i = hole->address / PAGE;
    while (i <= (hole->address + hole->size - 1) / PAGE && pool->pages[i].mapped)
        i++;
    return i > (hole->address + hole->size - 1) / PAGE;
}

/* --- pieces --- */

static void put(struct driver_pool *pool, struct piece *piece)
{
    piece->birth = pool->births++;
    piece_bins_insert(piece->mapped ? &pool->holes : &pool->waiting, piece);
}

static void take(struct driver_pool *pool, struct piece *piece)
{
    piece_bins_remove(piece->mapped ? &pool->holes : &pool->waiting, piece);
}

/* Joins with a neighbour of the same kind. */
static void join(struct driver_pool *pool, struct piece *piece, struct piece *neighbour)
{
    if (!neighbour || neighbour->allocated || neighbour->mapped != piece->mapped)
        return;
    take(pool, neighbour);
    if (!piece->mapped) { /* two pieces on the page where they met become one */
        const struct piece *upper = neighbour == piece->next ? neighbour : piece;
        if (upper->address % PAGE)
            count_on_page(pool, upper->address, -1);
    }
    if (neighbour == pool->last)
        pool->last = piece;
    piece_join(&pool->store, piece, neighbour);
}

/* Best fit, but a hole that needs no page comes before one that does. */
static struct piece *find_hole(const struct driver_pool *pool, uint64_t size)
{
    struct piece *first = piece_bins_at_least(&pool->holes, size);
    for (struct piece *p = first; p; p = piece_bins_after(&pool->holes, p)) {
        if (has_all_pages(pool, p))
            return p;
    }
    return first;
}

/* What lies at the end of the range is no hole: the range gets shorter. */
static void settle(struct driver_pool *pool, struct piece *piece)
{
    join(pool, piece, piece->prev);
    join(pool, piece, piece->next);
    if (piece != pool->last) {
        put(pool, piece);
        return;
    }
    pool->end = piece->address;
    pool->last = piece->prev;
    if (pool->last)
        pool->last->next = NULL;
    piece_drop(&pool->store, piece);
}

static enum outcome extend(struct driver_pool *pool, uint64_t size, struct piece **piece)
{
    if (size > pool->range - pool->end)
        return OUTCOME_OOM;
    const enum outcome outcome = map_pages(pool, pool->end, size);
    if (outcome != OUTCOME_OK)
        return outcome;
    struct piece *p = piece_new(&pool->store, piece_no_segment, pool->end, size);
    p->prev = pool->last;
    if (pool->last)
        pool->last->next = p;
    pool->last = p;
    pool->end += size;
    count_on_pages(pool, p, 1);
    *piece = p;
    return OUTCOME_OK;
}

/* The front of a waiting piece or a hole. */
static enum outcome reuse(struct driver_pool *pool, struct piece *from, uint64_t size,
                          struct piece **piece)
{
    const enum outcome outcome = map_pages(pool, from->address, size);
    if (outcome != OUTCOME_OK)
        return outcome;
    struct piece *p = from;
    take(pool, from);
    if (from->size > size) {
        p = piece_split_front(&pool->store, from, size);
        if (!from->mapped && from->address % PAGE)
            count_on_page(pool, from->address, 1);
        put(pool, from);
    }
    if (from->mapped)
        count_on_pages(pool, p, 1);
    *piece = p;
    return OUTCOME_OK;
}

static enum outcome reserve(struct driver_pool *pool)
{
    struct device_facts facts;
    if (pool->range)
        return OUTCOME_OK;
    pool->device->ops->facts(pool->device, &facts);
    const uint64_t total = facts.total_bytes < MOST ? facts.total_bytes : MOST;
    const uint64_t range = round_up(4 * total, PAGE) + PAGE;
    const enum outcome outcome =
        pool->device->ops->paging->reserve(pool->device, range, &pool->base);
    if (outcome == OUTCOME_OK)
        pool->range = range;
    return outcome;
}

static struct driver_pool *pool_of(const struct device *device)
{
    return *(struct driver_pool *const *)device->state;
}

static enum outcome pool_alloc(struct device *device, uint64_t bytes, uint64_t *address)
{
    struct driver_pool *pool = pool_of(device);
    const uint64_t size = round_up(bytes, DEVICE_UNIT);
    enum outcome outcome = reserve(pool);
    if (outcome != OUTCOME_OK)
        return outcome;
    struct piece *from = piece_bins_at_least(&pool->waiting, size), *piece;
    if (!from)
        from = find_hole(pool, size);
    outcome = from ? reuse(pool, from, size, &piece) : extend(pool, size, &piece);
    if (outcome != OUTCOME_OK)
        return outcome;
    piece->mapped = false;
    piece->allocated = true;
    piece->birth = (uint32_t)(size - bytes); /* for the sum in use, which is not rounded */
    piece_tree_insert(&pool->live, piece);
    pool->counts.used_current += bytes;
    raise_high(&pool->counts.used_high, pool->counts.used_current);
    *address = pool->base + piece->address;
    return OUTCOME_OK;
}

static void free_block(struct driver_pool *pool, uint64_t address)
{
    struct piece *piece = piece_tree_at(&pool->live, address - pool->base);
    assert(piece);
    piece_tree_remove(&pool->live, piece);
    pool->counts.used_current -= piece->size - piece->birth;
    piece->allocated = false;
    join(pool, piece, piece->prev);
    join(pool, piece, piece->next);
    put(pool, piece);
}

static void pool_free(struct device *device, uint64_t address)
{
    free_block(pool_of(device), address);
}

/* By address: that order decides which of equal holes is the older. */
void driver_pool_synchronise(struct driver_pool *pool)
{
    struct piece *first = pool->last, *next;
    if (!piece_bins_first(&pool->waiting))
        return;
    while (first->prev)
        first = first->prev;
    for (struct piece *p = first; p; p = next) {
        next = p->next;
        if (p->allocated || p->mapped)
            continue;
        if (next && !next->allocated)
            next = next->next; /* a hole: it is swallowed */
        take(pool, p);
        count_on_pages(pool, p, -1);
        p->mapped = true;
        settle(pool, p);
    }
}

/* From the top: holes that lose pages become young again, the highest first. */
static void trim(struct driver_pool *pool)
{
    for (size_t i = pool->page_count; i-- > 0;) {
        if (is_idle(pool, i))
            unmap_page(pool, i);
    }
    for (struct piece *p = pool->last; p; p = p->prev) {
        if (p->allocated || !p->mapped || has_all_pages(pool, p))
            continue;
        take(pool, p);
        put(pool, p);
    }
}

static void pool_trim(struct device *device)
{
    trim(pool_of(device));
}

static int pool_read(struct device *device, struct device_pool_reading *reading)
{
    *reading = pool_of(device)->counts;
    return 0;
}

static void pool_reset_high(struct device *device)
{
    struct driver_pool *pool = pool_of(device);
    pool->counts.used_high = pool->counts.used_current;
    pool->counts.reserved_high = pool->counts.reserved_current;
}

void driver_pool_close(struct driver_pool *pool)
{
    while (pool->live.root)
        free_block(pool, pool->base + pool->live.root->address);
    driver_pool_synchronise(pool);
    trim(pool);
    if (pool->range)
        pool->device->ops->paging->unreserve(pool->device, pool->base, pool->range);
    piece_bins_release(&pool->waiting);
    piece_bins_release(&pool->holes);
    piece_store_release(&pool->store);
    free(pool->pages);
    free(pool);
}

const struct device_pool driver_pool_ops = {
    .alloc = pool_alloc,
    .free = pool_free,
    .read = pool_read,
    .reset_high = pool_reset_high,
    .trim = pool_trim,
};
