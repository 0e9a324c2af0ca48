#include "harness/device/packed.h"
#include "harness/base/units.h"

#include <assert.h>

void packed_init(struct packed *packed, struct device *device,
                 enum outcome (*get)(struct device *device, uint64_t bytes, uint64_t *address),
                 void (*put)(struct device *device, uint64_t address, uint64_t bytes))
{
    *packed = (struct packed){.device = device,
                              .get = get,
                              .put = put,
                              .free = {.order = BY_SIZE_THEN_BIRTH},
                              .live = {.order = BY_ADDRESS}};
}

static void put_hole(struct packed *packed, struct piece *piece)
{
    piece->birth = packed->births++;
    piece_bins_insert(&packed->free, piece);
}

enum outcome packed_alloc(struct packed *packed, uint64_t bytes, uint64_t *address)
{
    const uint64_t size = round_up(bytes, DEVICE_UNIT);
    struct piece *piece = piece_bins_at_least(&packed->free, size);
    if (piece) {
        piece_bins_remove(&packed->free, piece);
    } else {
        uint64_t page;
        const enum outcome outcome = packed->get(packed->device, PACKED_PAGE, &page);
        if (outcome != OUTCOME_OK)
            return outcome;
        piece = piece_new(&packed->store, piece_no_segment, page, PACKED_PAGE);
    }
    if (piece->size > size) {
        struct piece *rest = piece;
        piece = piece_split_front(&packed->store, rest, size);
        put_hole(packed, rest);
    }
    piece->allocated = true;
    piece_tree_insert(&packed->live, piece);
    *address = piece->address;
    return OUTCOME_OK;
}

static void join_hole(struct packed *packed, struct piece *piece, struct piece *neighbour)
{
    if (!neighbour || neighbour->allocated)
        return;
    piece_bins_remove(&packed->free, neighbour);
    piece_join(&packed->store, piece, neighbour);
}

void packed_free(struct packed *packed, uint64_t address)
{
    struct piece *piece = piece_tree_at(&packed->live, address);
    assert(piece);
    piece_tree_remove(&packed->live, piece);
    piece->allocated = false;
    join_hole(packed, piece, piece->prev);
    join_hole(packed, piece, piece->next);
    if (piece->prev || piece->next) {
        put_hole(packed, piece);
        return;
    }
    packed->put(packed->device, piece->address, piece->size);
    piece_drop(&packed->store, piece);
}

void packed_release(struct packed *packed)
{
    while (packed->live.root)
        packed_free(packed, packed->live.root->address);
    piece_bins_release(&packed->free);
    piece_store_release(&packed->store);
}
