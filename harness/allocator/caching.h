/* caching: PyTorch's caching allocator, of the release 2.11 (with another tie-break if asked);
 * for harness/allocator only. `expandable` is the same allocator on segments that are mapped by
 * pages.
 */
#ifndef HIGHWATER_ALLOCATOR_CACHING_H
#define HIGHWATER_ALLOCATOR_CACHING_H

#include "harness/allocator/ops.h"
#include "harness/allocator/rounding.h"

#define MIB ((uint64_t)1 << 20)
#define SMALL_LIMIT MIB          /* rounded requests up to this go to the small pool */
#define SMALL_SEGMENT (2 * MIB)  /* what the small pool asks the device for */
#define LARGE_SEGMENT (20 * MIB) /* what a large request below MID_LIMIT asks for */
#define MID_LIMIT (10 * MIB)     /* from here on a request gets its own segment, */
#define LARGE_ROUND (2 * MIB)    /* rounded up to this */

/* One range from the device: a segment_alloc, or a reservation whose pages are mapped. */
struct segment {
    struct segment_rank rank; /* first: piece.c reads it */
    struct shelf *shelf;
    uint64_t address, bytes;
};

/* The free blocks of one stream in one pool: streams never share. */
struct shelf {
    uint64_t stream;
    struct pool *pool;
    struct piece_bins free;
    struct piece_tree unmapped; /* by address */
    struct shelf *next;         /* ascending stream handles */
};

struct pool {
    bool small;
    uint64_t page;     /* of expandable segments */
    uint32_t searches; /* for the ages of garbage collection */
    struct shelf *shelves;
    struct shelf *latest; /* the shelf used last, or NULL */
    struct pool_statistics *statistics;
};

struct caching {
    struct allocator base;
    struct rounding rounding;
    uint64_t max_split, max_non_split_rounding; /* UINT64_MAX: off */
    double gc_threshold;
    struct reading limit;
    bool expandable;
    enum piece_order order;
    uint64_t segments_made;
    struct pool large, small;
};

/* A request on its way through the ladder. */
struct want {
    uint64_t size;    /* rounded */
    uint64_t segment; /* what the device would be asked for */
    struct shelf *shelf;
    struct refusal *refusal;
};

static inline bool piece_is_split(const struct piece *piece)
{
    return piece->prev || piece->next;
}
static inline bool piece_is_free(const struct piece *piece)
{
    return piece->mapped && !piece->allocated;
}

void shelf_put(struct piece *piece); /* a free mapped piece */
void caching_count_reserved(struct caching *caching, struct pool *pool, uint64_t bytes);
void caching_uncount_reserved(struct caching *caching, struct pool *pool, uint64_t bytes);

#endif
