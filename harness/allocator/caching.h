/* caching: PyTorch's caching allocator, of the release 2.11 (with another tie-break if asked);
 * for harness/allocator only. `expandable` is the same allocator on segments that are mapped by
 * pages.
 */
#ifndef HIGHWATER_ALLOCATOR_CACHING_H
#define HIGHWATER_ALLOCATOR_CACHING_H

#include "harness/allocator/allocator_parts.h"
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

/* caching.c */
void shelf_put(struct piece *piece); /* a free mapped piece */
void caching_count_reserved(struct caching *caching, struct pool *pool, uint64_t bytes);
void caching_uncount_reserved(struct caching *caching, struct pool *pool, uint64_t bytes);
int caching_open(struct allocator *allocator, const struct allocator_setting *setting,
                 struct text *why);
bool caching_has_room(struct allocator *allocator, uint64_t bytes, uint64_t stream);
enum outcome caching_alloc(struct allocator *allocator, uint64_t bytes, uint64_t stream,
                           struct piece **piece, struct refusal *refusal);
void caching_free(struct allocator *allocator, struct piece *piece);
void caching_close(struct allocator *allocator);

/* caching_segment.c: one try to get memory from the device. OUTCOME_OK: *piece is mapped, free
 * and in no set. */
enum outcome caching_try(struct caching *caching, const struct want *want,
                         struct piece **piece) MUST_CHECK;
/* Gives a whole segment back; the piece is in its shelf. */
void caching_release_segment(struct caching *caching, struct piece *piece);

/* caching_release.c */
void caching_collect_garbage(struct caching *caching);
bool caching_release_oversize(struct caching *caching, const struct want *want);
void caching_release_all(struct caching *caching);
void caching_empty_cache(struct allocator *allocator);

/* expandable.c */
enum outcome expandable_grow(struct caching *caching, const struct want *want,
                             struct piece **piece) MUST_CHECK;
/* Unmaps the whole pages of a free piece that lies in its shelf. */
void expandable_unmap(struct caching *caching, struct piece *piece);
/* Gives back the reservations in which nothing is mapped, at the end. */
void expandable_forget(struct caching *caching, struct shelf *shelf);
/* What the piece can grow to: its size and that of an unmapped right neighbour. */
uint64_t expandable_reach(const struct piece *piece);

/* allocator_check.c */
void caching_check(const struct allocator *allocator);

#endif
