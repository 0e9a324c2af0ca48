/* ops: what a row of allocator.c's table provides and what all rows share; for
 * harness/allocator only.
 */
#ifndef HIGHWATER_ALLOCATOR_OPS_H
#define HIGHWATER_ALLOCATOR_OPS_H

#include "harness/allocator/allocator.h"
#include "harness/device/piece.h"

#include <string.h>

struct allocator_ops {
    const char *counter_source; /* highwater.NAME */
    size_t size;                /* of the struct that embeds struct allocator first */
    bool reserved_known, reserved_is_upper_bound;
    /* The struct is zeroed but for its base. -1: reason; what was begun is undone. */
    int (*open)(struct allocator *allocator, const struct allocator_setting *setting,
                struct text *why);
    /* Would it be served without asking the device? NULL: never. */
    bool (*has_room)(struct allocator *allocator, uint64_t bytes, uint64_t stream);
    enum outcome (*alloc)(struct allocator *allocator, uint64_t bytes, uint64_t stream,
                          struct piece **piece, struct refusal *refusal);
    void (*free)(struct allocator *allocator, struct piece *piece);
    void (*empty_cache)(struct allocator *allocator); /* NULL: nothing is cached */
    void (*refresh)(struct allocator *allocator);     /* before statistics are read; NULL */
    void (*reset_peaks)(struct allocator *allocator); /* beside the statistics; NULL */
    void (*check)(const struct allocator *allocator);
    void (*close)(struct allocator *allocator); /* every block was freed before; NULL */
};
extern const struct allocator_ops allocator_caching, allocator_expandable, allocator_async,
    allocator_direct;

struct allocator {
    const struct allocator_ops *ops;
    struct device *device;
    struct allocator_statistics statistics;
    struct piece_store store; /* every piece, handed out or not */
    bool check;
    void (*heard)(void *user, const struct segment_event *event);
    void *user;
};

static inline void allocator_tell(const struct allocator *allocator, enum segment_action action,
                                  uint64_t bytes, uint64_t stream, uint64_t address)
{
    if (allocator->heard)
        allocator->heard(allocator->user,
                         &(struct segment_event){action, bytes, stream, address});
}

/* A handed-out piece of an allocator that has no segments of its own. */
static inline struct piece *piece_of_device(struct allocator *allocator, uint64_t address,
                                            uint64_t bytes)
{
    struct piece *piece = piece_new(&allocator->store, piece_no_segment, address, bytes);
    piece->allocated = true;
    piece->requested = bytes;
    return piece;
}

#endif
