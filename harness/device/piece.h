/* piece: a contiguous range inside a segment, and ordered sets of such ranges.
 *
 * A tree is a treap whose priorities are hashes of the addresses: no balance data to store, and
 * the same shape for the same content. 64 bytes a piece on 64-bit machines.
 */
#ifndef HIGHWATER_DEVICE_PIECE_H
#define HIGHWATER_DEVICE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment; /* the owner's own; NULL marks a piece that is not in use */
extern struct segment *const piece_no_segment; /* for owners without; never looked into */

struct piece {
    uint64_t address, size;
    struct piece *prev, *next; /* neighbours inside the segment, by address */
    struct segment *segment;
    union {
        struct piece *left; /* in a set */
        uint64_t requested; /* handed out */
    };
    struct piece *right;
    uint32_t birth; /* the owner's counter when it entered its set */
    bool allocated;
    bool mapped; /* false: an unmapped range of an expandable segment */
};

enum piece_order { BY_ADDRESS, BY_SIZE_THEN_ADDRESS, BY_SIZE_THEN_SEGMENT, BY_SIZE_THEN_BIRTH };
struct piece_tree {
    struct piece *root;
    enum piece_order order;
};

/* A piece may be in one tree; address, size and segment stay fixed while it is. */
void piece_tree_insert(struct piece_tree *set, struct piece *piece);
void piece_tree_remove(struct piece_tree *set, struct piece *piece);
struct piece *piece_tree_first(const struct piece_tree *set);
/* The next in the tree's order; `piece` itself need not be in it. NULL: none. */
struct piece *piece_tree_after(const struct piece_tree *set, const struct piece *piece);
/* The piece that begins at this address (a tree by address). */
struct piece *piece_tree_at(const struct piece_tree *set, uint64_t address);
bool piece_before(enum piece_order order, const struct piece *a, const struct piece *b);

/* A large set by size: a tree per size class. The same order throughout as one tree has. */
struct piece_bins {
    enum piece_order order;    /* one by size */
    struct piece_table *table; /* NULL until the first is inserted */
};
void piece_bins_insert(struct piece_bins *bins, struct piece *piece);
void piece_bins_remove(struct piece_bins *bins, struct piece *piece);
struct piece *piece_bins_at_least(const struct piece_bins *bins, uint64_t size);
struct piece *piece_bins_first(const struct piece_bins *bins);
struct piece *piece_bins_last(const struct piece_bins *bins);
struct piece *piece_bins_after(const struct piece_bins *bins, const struct piece *piece);
struct piece *piece_bins_before(const struct piece_bins *bins, const struct piece *piece);
void piece_bins_release(struct piece_bins *bins);

/* Memory for pieces: slabs that only grow. A zeroed store is ready. */
struct piece_store {
    struct piece_slab *slabs;
    struct piece *unused;
};
struct piece *piece_new(struct piece_store *store, struct segment *segment, uint64_t address,
                        uint64_t size);
void piece_drop(struct piece_store *store, struct piece *piece);
/* Walks all pieces in use, in no useful order: NULL before the first, NULL after the last. */
struct piece *piece_store_next(const struct piece_store *store, struct piece *piece);
void piece_store_release(struct piece_store *store);

/* Splits `size` bytes off the front as a new piece; the rest keeps the object. Not in a set. */
struct piece *piece_split_front(struct piece_store *store, struct piece *piece, uint64_t size);
/* Joins `piece` with a neighbour of it and drops the neighbour. Neither in a set. */
void piece_join(struct piece_store *store, struct piece *piece, struct piece *neighbour);

/* Segment order for BY_SIZE_THEN_SEGMENT: the first member of every struct segment. */
struct segment_rank {
    uint64_t order;
};

#endif
