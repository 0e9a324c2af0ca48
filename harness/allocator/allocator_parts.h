/* allocator_parts: what the rows of allocator.c's table share; for harness/allocator only. */
#ifndef HIGHWATER_ALLOCATOR_ALLOCATOR_PARTS_H
#define HIGHWATER_ALLOCATOR_ALLOCATOR_PARTS_H

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

static inline void statistic_add(struct statistic *statistic, uint64_t x)
{
    statistic->current += x;
    statistic->allocated += x;
    if (statistic->current > statistic->peak)
        statistic->peak = statistic->current;
}

static inline void statistic_sub(struct statistic *statistic, uint64_t x)
{
    statistic->current -= x;
    statistic->freed += x;
}

static inline void statistic_change(struct statistic *statistic, int64_t x)
{
    if (x > 0)
        statistic_add(statistic, (uint64_t)x);
    else if (x < 0)
        statistic_sub(statistic, (uint64_t)-x);
}

static inline void allocator_tell(const struct allocator *allocator, enum segment_action action,
                                  uint64_t bytes, uint64_t stream, uint64_t address)
{
    if (allocator->heard)
        allocator->heard(allocator->user,
                         &(struct segment_event){action, bytes, stream, address});
}

/* Counts one block into `pool`, and out of it. */
void statistics_hand_out(struct pool_statistics *pool, uint64_t size, uint64_t requested);
void statistics_take_back(struct pool_statistics *pool, uint64_t size, uint64_t requested);
/* To be called after a block was counted into `all`: was that a new allocated peak? */
void statistics_mark_peak(struct allocator_statistics *statistics, uint64_t peak_before);

/* A handed-out piece of an allocator that has no segments of its own. */
struct piece *piece_of_device(struct allocator *allocator, uint64_t address, uint64_t bytes);

/* The check of an allocator whose pieces are all handed out (allocator_check.c). */
void plain_check(const struct allocator *allocator);

/* Fills a refusal: by the device (its free bytes are asked), the limit, or the host. */
void refusal_by_device(struct refusal *refusal, struct device *device, enum outcome outcome,
                       uint64_t bytes);
void refusal_by_limit(struct refusal *refusal, uint64_t bytes, uint64_t limit, uint64_t held);

#endif
