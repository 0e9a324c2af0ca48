/* A caching allocator on a simulated device, its invariants checked after every operation. */
#ifndef HIGHWATER_TESTS_CACHING_BED_H
#define HIGHWATER_TESTS_CACHING_BED_H

#include "harness/allocator/allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

struct stage {
    struct device device;
    struct allocator *allocator;
};

static inline void set(struct stage *stage, uint64_t capacity,
                       const struct allocator_setting *setting)
{
    const struct device_setting device = {.capacity = reading_of(capacity)};
    assert_int_equal(device_open(&stage->device, &device_simulated, &device), OUTCOME_OK);
    struct allocator_setting checked = *setting;
    checked.check = true;
    struct text why = TEXT_INIT;
    if (allocator_open(&stage->allocator, "caching", &stage->device, &checked, &why))
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

static inline void clear(struct stage *stage)
{
    assert_int_equal(allocator_close(stage->allocator), 0);
    uint64_t free_bytes, total_bytes;
    assert_int_equal(stage->device.ops->usage(&stage->device, &free_bytes, &total_bytes), 0);
    assert_int_equal(free_bytes, total_bytes);
    device_close(&stage->device);
}

static inline const struct allocator_statistics *now(struct stage *stage)
{
    return allocator_read(stage->allocator);
}

static inline struct block take_on(struct stage *stage, uint64_t bytes, uint64_t stream)
{
    struct block block;
    struct refusal refusal;
    assert_int_equal(allocator_alloc(stage->allocator, bytes, stream, &block, &refusal),
                     OUTCOME_OK);
    return block;
}

static inline struct block take(struct stage *stage, uint64_t bytes)
{
    return take_on(stage, bytes, 0);
}

static inline struct refusal refused(struct stage *stage, uint64_t bytes)
{
    struct block block;
    struct refusal refusal;
    assert_int_equal(allocator_alloc(stage->allocator, bytes, 0, &block, &refusal),
                     OUTCOME_OOM);
    return refusal;
}

static inline void give(struct stage *stage, struct block *block)
{
    allocator_free(stage->allocator, block);
}

struct heard {
    uint64_t freed[8];
    size_t count;
};

static inline void hear(void *user, const struct segment_event *event)
{
    struct heard *heard = user;
    if (event->action == SEGMENT_FREE)
        heard->freed[heard->count++ % 8] = event->bytes;
}

#endif
