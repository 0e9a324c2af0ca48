#include "harness/memory/heap.h"
#include "harness/memory/rounding.h"

#include <assert.h>

void heap_init(struct heap *heap, struct device *device, uint64_t unit, bool keeps,
               enum outcome (*get)(struct device *device, uint64_t bytes, uint64_t *address),
               void (*put)(struct device *device, uint64_t address, uint64_t bytes))
{
    *heap = (struct heap){.unit = unit,
                          .keeps = keeps,
                          .device = device,
                          .get = get,
                          .put = put,
                          .free = {.order = BY_SIZE_THEN_ADDRESS},
                          .live = {.order = BY_ADDRESS}};
}

static void raise_high(uint64_t *high, uint64_t current)
{
    if (current > *high)
        *high = current;
}

static enum outcome grow(struct heap *heap, uint64_t size, struct piece **piece)
{
    const uint64_t bytes = round_up(size, heap->unit);
    uint64_t address;
    const enum outcome outcome = heap->get(heap->device, bytes, &address);
    if (outcome != OUTCOME_OK)
        return outcome;
    heap->counts.reserved_current += bytes;
    raise_high(&heap->counts.reserved_high, heap->counts.reserved_current);
    /* The segment only marks the piece as being in use: sets by address never look into it. */
    *piece = piece_new(&heap->store, (struct segment *)(void *)heap, address, bytes);
    return OUTCOME_OK;
}

static void give_back(struct heap *heap, struct piece *piece)
{
    assert(!piece->prev && !piece->next);
    heap->put(heap->device, piece->address, piece->size);
    heap->counts.reserved_current -= piece->size;
    piece_drop(&heap->store, piece);
}

enum outcome heap_alloc(struct heap *heap, uint64_t bytes, uint64_t *address)
{
    const uint64_t size = round_up(bytes, ROUNDING_MINIMUM);
    struct piece *piece = piece_bins_at_least(&heap->free, size);
    if (piece) {
        piece_bins_remove(&heap->free, piece);
    } else {
        const enum outcome outcome = grow(heap, size, &piece);
        if (outcome != OUTCOME_OK)
            return outcome;
    }
    if (piece->size > size) {
        struct piece *rest = piece;
        piece = piece_split_front(&heap->store, rest, size);
        piece_bins_insert(&heap->free, rest);
    }
    piece->allocated = true;
    piece_tree_insert(&heap->live, piece);
    heap->counts.used_current += size;
    raise_high(&heap->counts.used_high, heap->counts.used_current);
    *address = piece->address;
    return OUTCOME_OK;
}

static void join_free(struct heap *heap, struct piece *piece, struct piece *neighbour)
{
    if (!neighbour || neighbour->allocated)
        return;
    piece_bins_remove(&heap->free, neighbour);
    piece_join(&heap->store, piece, neighbour);
}

void heap_free(struct heap *heap, uint64_t address)
{
    struct piece *piece = piece_tree_at(&heap->live, address);
    assert(piece);
    piece_tree_remove(&heap->live, piece);
    piece->allocated = false;
    heap->counts.used_current -= piece->size;
    join_free(heap, piece, piece->prev);
    join_free(heap, piece, piece->next);
    if (!heap->keeps && !piece->prev && !piece->next)
        give_back(heap, piece);
    else
        piece_bins_insert(&heap->free, piece);
}

void heap_reset_high(struct heap *heap)
{
    heap->counts.used_high = heap->counts.used_current;
    heap->counts.reserved_high = heap->counts.reserved_current;
}

void heap_trim(struct heap *heap)
{
    struct piece *next;
    for (struct piece *p = piece_bins_first(&heap->free); p; p = next) {
        next = piece_bins_after(&heap->free, p);
        if (p->prev || p->next)
            continue;
        piece_bins_remove(&heap->free, p);
        give_back(heap, p);
    }
}

void heap_release(struct heap *heap)
{
    while (heap->live.root)
        heap_free(heap, heap->live.root->address);
    heap_trim(heap);
    piece_bins_release(&heap->free);
    piece_store_release(&heap->store);
}
