/* Expandable segments against the worked figures of their specification. */
#include "harness/allocator/allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

struct heard {
    struct segment_event events[64];
    size_t count;
};

struct stage {
    struct device device;
    struct allocator *allocator;
    struct heard heard;
};

static void hear(void *user, const struct segment_event *event)
{
    struct heard *heard = user;
    heard->events[heard->count++ % 64] = *event;
}

static void set_on(struct stage *stage, const struct device_ops *ops, uint64_t capacity,
                   struct allocator_setting setting)
{
    const struct device_setting device = {.capacity = reading_of(capacity)};
    struct text why = TEXT_INIT;
    setting.check = true;
    stage->heard.count = 0;
    assert_int_equal(device_open(&stage->device, ops, &device), OUTCOME_OK);
    if (allocator_open(&stage->allocator, "expandable", &stage->device, &setting, &why))
        fail_msg("%s", text_string(&why));
    allocator_listen(stage->allocator, hear, &stage->heard);
    text_release(&why);
}

static void set(struct stage *stage, uint64_t capacity)
{
    set_on(stage, &device_simulated, capacity, (struct allocator_setting){0});
}

static void clear(struct stage *stage)
{
    uint64_t free_bytes, total_bytes;
    assert_int_equal(allocator_close(stage->allocator), 0);
    assert_int_equal(stage->device.ops->usage(&stage->device, &free_bytes, &total_bytes), 0);
    assert_int_equal(free_bytes, total_bytes);
    device_close(&stage->device);
}

static enum outcome attempt(struct stage *stage, uint64_t bytes, uint64_t stream,
                            struct block *block, struct refusal *refusal)
{
    return allocator_alloc(stage->allocator, bytes, stream, block, refusal);
}

static struct block take(struct stage *stage, uint64_t bytes)
{
    struct block block;
    struct refusal refusal;
    assert_int_equal(attempt(stage, bytes, 0, &block, &refusal), OUTCOME_OK);
    return block;
}

static uint64_t reserved(struct stage *stage)
{
    return allocator_read(stage->allocator)->all.reserved.current;
}

/* Eight requests of 16 MiB grow one segment page by page; four of 32 MiB then fit into it. */
static void grows_by_pages(void **state)
{
    (void)state;
    static const uint64_t expected[] = {20, 40, 60, 80, 80, 100, 120, 140};
    struct stage stage;
    struct block blocks[8];
    set(&stage, 1024 * MIB);
    for (size_t i = 0; i < 8; i++) {
        blocks[i] = take(&stage, 16 * MIB);
        assert_int_equal(reserved(&stage), expected[i] * MIB);
    }
    for (size_t i = 0; i < 8; i++)
        allocator_free(stage.allocator, &blocks[i]);
    for (size_t i = 0; i < 4; i++)
        blocks[i] = take(&stage, 32 * MIB);
    assert_int_equal(reserved(&stage), 140 * MIB);
    const struct allocator_statistics *s = allocator_read(stage.allocator);
    assert_int_equal(s->all.segments.allocated, 0);
    assert_int_equal(s->all.inactive_split.peak, 0);
    assert_int_equal(s->device_allocs, 7);
    for (size_t i = 0; i < 4; i++)
        allocator_free(stage.allocator, &blocks[i]);
    clear(&stage);
}

/* 50 MiB: two pages in one call; a third does not fit; the rest of the second serves 10 MiB. */
static void refused_inside_a_page(void **state)
{
    (void)state;
    struct stage stage;
    struct block refused;
    struct refusal refusal;
    set(&stage, 50 * MIB);
    struct block a = take(&stage, 30 * MIB);
    assert_int_equal(stage.heard.count, 1);
    assert_int_equal(stage.heard.events[0].action, SEGMENT_MAP);
    assert_int_equal(stage.heard.events[0].bytes, 40 * MIB);
    assert_int_equal(attempt(&stage, 12 * MIB, 0, &refused, &refusal), OUTCOME_OOM);
    assert_string_equal(refusal.by, "device");
    assert_int_equal(refusal.bytes, 20 * MIB);
    assert_int_equal(refusal.free.value, 10 * MIB);
    assert_int_equal(allocator_read(stage.allocator)->alloc_retries, 1);
    assert_int_equal(allocator_read(stage.allocator)->ooms, 1);
    struct block b = take(&stage, 10 * MIB);
    assert_int_equal(reserved(&stage), 40 * MIB);
    struct block c = take(&stage, 100);
    assert_int_equal(reserved(&stage), 42 * MIB);
    allocator_free(stage.allocator, &a);
    allocator_free(stage.allocator, &b);
    allocator_free(stage.allocator, &c);
    clear(&stage);
}

/* Pages that were mapped before a refusal in the same request stay mapped until the ladder. */
static void earlier_maps_stay(void **state)
{
    (void)state;
    struct stage stage;
    struct block refused;
    struct refusal refusal;
    set(&stage, 90 * MIB);
    struct block a = take(&stage, 20 * MIB), b = take(&stage, 20 * MIB);
    struct block c = take(&stage, 20 * MIB), d = take(&stage, 20 * MIB);
    const uint64_t base = a.address;
    allocator_free(stage.allocator, &c);
    allocator_empty_cache(stage.allocator); /* a closed hole: [40, 60) */
    allocator_free(stage.allocator, &d);
    assert_int_equal(reserved(&stage), 60 * MIB);
    stage.heard.count = 0;
    /* the hole is mapped and joins [60, 80); the two pages behind it are refused; then the
     * ladder gives both back and fails again */
    assert_int_equal(attempt(&stage, 75 * MIB, 0, &refused, &refusal), OUTCOME_OOM);
    assert_int_equal(stage.heard.count, 2);
    assert_int_equal(stage.heard.events[0].action, SEGMENT_MAP);
    assert_int_equal(stage.heard.events[0].address, base + 40 * MIB);
    assert_int_equal(stage.heard.events[0].bytes, 20 * MIB);
    assert_int_equal(stage.heard.events[1].action, SEGMENT_UNMAP);
    assert_int_equal(stage.heard.events[1].address, base + 40 * MIB);
    assert_int_equal(stage.heard.events[1].bytes, 40 * MIB);
    assert_int_equal(reserved(&stage), 40 * MIB);
    /* two of the four pages could be had, and are no longer when it is asked what is free */
    assert_int_equal(refusal.bytes, 80 * MIB);
    assert_int_equal(refusal.free.value, 50 * MIB);
    allocator_free(stage.allocator, &a);
    allocator_free(stage.allocator, &b);
    clear(&stage);
}

/* A hole at a low address is mapped again before the tail grows; the growable tail is passed
 * over for a closed hole that fits. */
static void holes_before_the_tail(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 1024 * MIB);
    struct block a = take(&stage, 40 * MIB), b = take(&stage, 25 * MIB);
    const uint64_t first = a.address;
    allocator_free(stage.allocator, &a);
    struct block c = take(&stage, 12 * MIB); /* the tail of 15 MiB fits better, but can grow */
    assert_int_equal(c.address, first);
    allocator_free(stage.allocator, &c);
    allocator_empty_cache(stage.allocator);
    assert_int_equal(reserved(&stage), 40 * MIB);
    c = take(&stage, 30 * MIB); /* 40 MiB of hole, not the tail */
    assert_int_equal(c.address, first);
    assert_int_equal(reserved(&stage), 80 * MIB);
    allocator_free(stage.allocator, &b);
    allocator_free(stage.allocator, &c);
    clear(&stage);
}

/* When nothing is mapped any more the reservation itself is given back. */
static void reservation_destroyed(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 1024 * MIB);
    struct block a = take(&stage, 1000), b = take(&stage, 50 * MIB);
    allocator_free(stage.allocator, &a);
    allocator_free(stage.allocator, &b);
    stage.heard.count = 0;
    allocator_empty_cache(stage.allocator);
    assert_int_equal(reserved(&stage), 0);
    assert_int_equal(stage.heard.count, 2);
    assert_int_equal(stage.heard.events[0].bytes, 60 * MIB); /* the large pool first */
    assert_int_equal(stage.heard.events[1].bytes, 2 * MIB);
    a = take(&stage, 1000);
    assert_int_equal(reserved(&stage), 2 * MIB);
    allocator_free(stage.allocator, &a);
    clear(&stage);
}

/* The limit is compared with what a plain segment would have been. */
static void limit_uses_segment_size(void **state)
{
    (void)state;
    struct stage stage;
    struct block block;
    struct refusal refusal;
    set_on(&stage, &device_simulated, 1024 * MIB,
           (struct allocator_setting){.limit = reading_of(45 * MIB)});
    struct block a = take(&stage, 30 * MIB); /* maps 40 */
    assert_int_equal(attempt(&stage, 12 * MIB, 0, &block, &refusal), OUTCOME_OOM);
    assert_string_equal(refusal.by, "limit");
    assert_int_equal(refusal.bytes, 12 * MIB);
    allocator_free(stage.allocator, &a);
    clear(&stage);
}

static void larger_than_the_reservation(void **state)
{
    (void)state;
    struct stage stage;
    struct block block;
    struct refusal refusal;
    set(&stage, 100 * MIB);
    assert_int_equal(attempt(&stage, 200 * MIB, 0, &block, &refusal), OUTCOME_OOM);
    assert_string_equal(refusal.by, "device");
    assert_int_equal(reserved(&stage), 0);
    clear(&stage);
}

/* A reservation without a page is given back too (the leak checkers see the rest). */
static void nothing_was_mapped(void **state)
{
    (void)state;
    struct stage stage;
    struct block block;
    struct refusal refusal;
    set_on(&stage, &device_host, MIB, (struct allocator_setting){0});
    assert_int_equal(attempt(&stage, 1000, 0, &block, &refusal), OUTCOME_OOM);
    assert_int_equal(attempt(&stage, 2 * MIB, 3, &block, &refusal), OUTCOME_OOM);
    clear(&stage);
}

/* Streams have segments of their own; on real memory, written to from end to end. */
static void streams_on_real_memory(void **state)
{
    (void)state;
    struct stage stage;
    struct block blocks[6];
    struct refusal refusal;
    set_on(&stage, &device_host, 256 * MIB, (struct allocator_setting){0});
    for (size_t i = 0; i < 6; i++) {
        const uint64_t bytes = (i % 2 ? 700 : 3 * MIB) + i;
        assert_int_equal(attempt(&stage, bytes, i % 3, &blocks[i], &refusal), OUTCOME_OK);
        volatile unsigned char *memory = (void *)(uintptr_t)blocks[i].address;
        memory[0] = memory[bytes - 1] = (unsigned char)i;
    }
    for (size_t i = 0; i < 6; i++) {
        const volatile unsigned char *memory = (void *)(uintptr_t)blocks[i].address;
        assert_int_equal(memory[0], i);
        allocator_free(stage.allocator, &blocks[i]);
    }
    allocator_empty_cache(stage.allocator);
    assert_int_equal(reserved(&stage), 0);
    clear(&stage);
}

static void random_requests(void **state)
{
    (void)state;
    struct stage stage;
    struct block blocks[48] = {{0}};
    uint64_t random = 99, refusals = 0;
    set(&stage, 200 * MIB);
    for (int i = 0; i < 4000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        struct block *block = &blocks[(random >> 33) % 48];
        const uint64_t bytes = ((random >> 40) % 4096 + 1) << ((random >> 20) % 14);
        struct refusal refusal;
        if (block->piece)
            allocator_free(stage.allocator, block);
        else
            refusals +=
                attempt(&stage, bytes, (random >> 60) % 3, block, &refusal) != OUTCOME_OK;
        if (i % 300 == 299)
            allocator_empty_cache(stage.allocator);
    }
    assert_true(refusals > 0 && refusals < 1500);
    for (size_t i = 0; i < 48; i++)
        allocator_free(stage.allocator, &blocks[i]);
    clear(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_by_pages),
        cmocka_unit_test(refused_inside_a_page),
        cmocka_unit_test(earlier_maps_stay),
        cmocka_unit_test(holes_before_the_tail),
        cmocka_unit_test(reservation_destroyed),
        cmocka_unit_test(limit_uses_segment_size),
        cmocka_unit_test(larger_than_the_reservation),
        cmocka_unit_test(nothing_was_mapped),
        cmocka_unit_test(streams_on_real_memory),
        cmocka_unit_test(random_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
