#include "harness/allocator/expandable.h"
#include "harness/base/units.h"

#include <assert.h>
#include <stdlib.h>

uint64_t expandable_reach(const struct piece *piece)
{
    return piece->size + (piece->next && !piece->next->mapped ? piece->next->size : 0);
}

static uint64_t reservation_bytes(struct caching *c, const struct pool *pool)
{
    struct device_facts facts;
    c->base.device->ops->facts(c->base.device, &facts);
    return round_up(facts.total_bytes + facts.total_bytes / 8, pool->page);
}

/* A new segment: address space for the whole device and an eighth more, nothing mapped. */
static enum outcome reserve(struct caching *c, const struct want *want, struct piece **piece)
{
    struct device *device = c->base.device;
    struct shelf *shelf = want->shelf;
    const uint64_t bytes = reservation_bytes(c, shelf->pool);
    uint64_t address;
    enum outcome outcome = OUTCOME_OOM;
    if (want->size <= bytes)
        outcome = device->ops->paging->reserve(device, bytes, &address);
    if (outcome != OUTCOME_OK) {
        refusal_by_device(want->refusal, device, outcome, want->size);
        return outcome;
    }
    struct segment *segment = xmalloc(sizeof(*segment));
    *segment = (struct segment){
        .rank = {c->segments_made++}, .shelf = shelf, .address = address, .bytes = bytes};
    *piece = piece_new(&c->base.store, segment, address, bytes);
    (*piece)->mapped = false;
    piece_tree_insert(&shelf->unmapped, *piece);
    return OUTCOME_OK;
}

static bool has_room(const struct piece *piece, uint64_t size)
{
    uint64_t bytes = 0;
    for (; piece && !piece->allocated && bytes < size; piece = piece->next)
        bytes += piece->size;
    return bytes >= size;
}

/* The lowest place where free and unmapped pieces in a row are large enough; NULL: none. */
static struct piece *find_room(const struct shelf *shelf, uint64_t size)
{
    struct piece *p = piece_tree_first(&shelf->unmapped);
    for (; p; p = piece_tree_after(&shelf->unmapped, p)) {
        struct piece *start = p->prev && !p->prev->allocated ? p->prev : p;
        if (has_room(start, size))
            return start;
    }
    return NULL;
}

/* Pages are created one by one; when one is refused, those of this call are given back, and
 * what is free then is what was free for the request. */
static enum outcome map_pages(struct caching *c, const struct want *want, uint64_t address,
                              uint64_t bytes)
{
    struct device *device = c->base.device;
    const uint64_t page = want->shelf->pool->page;
    for (uint64_t done = 0; done < bytes; done += page) {
        const enum outcome outcome = device->ops->paging->map(device, address + done, page);
        if (outcome == OUTCOME_OK)
            continue;
        while (done) {
            done -= page;
            device->ops->paging->unmap(device, address + done, page);
        }
        refusal_by_device(want->refusal, device, outcome, bytes);
        return outcome;
    }
    return OUTCOME_OK;
}

/* Joins with a neighbour in the same state, if it is free. */
static void absorb(struct caching *c, struct shelf *shelf, struct piece *piece,
                   struct piece *neighbour)
{
    if (!neighbour || neighbour->allocated || neighbour->mapped != piece->mapped)
        return;
    if (neighbour->mapped)
        piece_bins_remove(&shelf->free, neighbour);
    else
        piece_tree_remove(&shelf->unmapped, neighbour);
    piece_join(&c->base.store, piece, neighbour);
}

/* Maps `bytes`, rounded up to pages, at the front of an unmapped piece. *piece becomes the free
 * piece that these bytes are part of, in its shelf. */
static enum outcome map(struct caching *c, const struct want *want, uint64_t bytes,
                        struct piece **piece)
{
    struct shelf *shelf = want->shelf;
    struct piece *p = *piece;
    const uint64_t address = p->address, length = round_up(bytes, shelf->pool->page);
    const enum outcome outcome = map_pages(c, want, address, length);
    if (outcome != OUTCOME_OK)
        return outcome;
    piece_tree_remove(&shelf->unmapped, p);
    if (length < p->size) {
        struct piece *rest = p;
        p = piece_split_front(&c->base.store, rest, length);
        piece_tree_insert(&shelf->unmapped, rest);
    }
    p->mapped = true;
    absorb(c, shelf, p, p->prev);
    absorb(c, shelf, p, p->next);
    shelf_put(p);
    caching_count_reserved(c, shelf->pool, length);
    allocator_tell(&c->base, SEGMENT_MAP, length, shelf->stream, address);
    *piece = p;
    return OUTCOME_OK;
}

/* What was mapped before a refusal stays mapped, reserved and free. */
enum outcome expandable_grow(struct caching *c, const struct want *want, struct piece **piece)
{
    const uint64_t size = want->size;
    struct piece *p = find_room(want->shelf, size);
    enum outcome outcome = OUTCOME_OK;
    if (!p)
        outcome = reserve(c, want, &p);
    if (outcome == OUTCOME_OK && !p->mapped)
        outcome = map(c, want, p->size < size ? p->size : size, &p);
    while (outcome == OUTCOME_OK && p->size < size) {
        const uint64_t missing = size - p->size;
        p = p->next;
        outcome = map(c, want, p->size < missing ? p->size : missing, &p);
    }
    if (outcome != OUTCOME_OK)
        return outcome;
    piece_bins_remove(&want->shelf->free, p);
    *piece = p;
    return OUTCOME_OK;
}

static void destroy(struct caching *c, struct piece *piece)
{
    struct segment *segment = piece->segment;
    struct device *device = c->base.device;
    piece_tree_remove(&segment->shelf->unmapped, piece);
    device->ops->paging->unreserve(device, segment->address, segment->bytes);
    piece_drop(&c->base.store, piece);
    free(segment);
}

/* A reservation whose first mapping was refused has nothing that a release walk would meet. */
void expandable_forget(struct caching *c, struct shelf *shelf)
{
    for (struct piece *p; (p = piece_tree_first(&shelf->unmapped));) {
        assert(!piece_is_split(p));
        destroy(c, p);
    }
}

void expandable_unmap(struct caching *c, struct piece *piece)
{
    struct shelf *shelf = piece->segment->shelf;
    struct device *device = c->base.device;
    const uint64_t page = shelf->pool->page, base = piece->segment->address;
    const uint64_t end = piece->address + piece->size;
    const uint64_t first = base + round_up(piece->address - base, page);
    const uint64_t last = base + (end - base) / page * page;
    if (first >= last)
        return;
    piece_bins_remove(&shelf->free, piece);
    if (first > piece->address)
        shelf_put(piece_split_front(&c->base.store, piece, first - piece->address));
    if (last < end) {
        struct piece *back = piece;
        piece = piece_split_front(&c->base.store, back, last - first);
        shelf_put(back);
    }
    device->ops->synchronise(device);
    for (uint64_t at = first; at < last; at += page)
        device->ops->paging->unmap(device, at, page);
    piece->mapped = false;
    absorb(c, shelf, piece, piece->prev);
    absorb(c, shelf, piece, piece->next);
    piece_tree_insert(&shelf->unmapped, piece);
    caching_uncount_reserved(c, shelf->pool, last - first);
    allocator_tell(&c->base, SEGMENT_UNMAP, last - first, shelf->stream, first);
    if (!piece_is_split(piece))
        destroy(c, piece);
}

int expandable_check_device(struct device *device, struct text *why)
{
    if (!device->ops->paging)
        return text_fail(why, "the %s device cannot map pages into a segment",
                         device->ops->name);
    const uint64_t granularity = device->ops->paging->granularity(device);
    if (granularity == 0 || SMALL_SEGMENT % granularity)
        return text_fail(why,
                         "the device maps %llu bytes at a time; expandable segments need 2 MiB",
                         (unsigned long long)granularity);
    return 0;
}
