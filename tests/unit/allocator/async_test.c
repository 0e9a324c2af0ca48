/* async: figures are those of the device's pool; on simulated and host devices a model of
 * it. */
#include "harness/allocator/allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MIB ((uint64_t)1 << 20)

static struct device device;
static struct allocator *allocator;

static void set(const struct device_ops *ops, uint64_t capacity, struct reading limit)
{
    const struct device_setting setting = {.capacity = reading_of(capacity)};
    struct text why = TEXT_INIT;
    assert_int_equal(device_open(&device, ops, &setting), OUTCOME_OK);
    if (allocator_open(&allocator, "async", &device,
                       &(struct allocator_setting){.limit = limit, .check = true}, &why))
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

static uint64_t used(void)
{
    uint64_t free_bytes, total_bytes;
    assert_int_equal(device.ops->usage(&device, &free_bytes, &total_bytes), 0);
    return total_bytes - free_bytes;
}

static void clear(void)
{
    assert_int_equal(allocator_close(allocator), 0);
    assert_int_equal(used(), 0);
    device_close(&device);
}

static struct block take(uint64_t bytes)
{
    struct block block;
    struct refusal refusal;
    assert_int_equal(allocator_alloc(allocator, bytes, 0, &block, &refusal), OUTCOME_OK);
    return block;
}

/* Pages of 32 MiB, kept until the cache is emptied; sums of what was asked for, not rounded;
 * the peaks are the pool's high marks. */
static void pool_figures(void **state)
{
    (void)state;
    set(&device_simulated, 256 * MIB, reading_missing());
    struct block a = take(1000), b = take(40 * MIB);
    const struct allocator_statistics *s = allocator_read(allocator);
    assert_true(s->reserved_known && s->reserved_is_upper_bound);
    assert_int_equal(s->all.allocated.current, 40 * MIB + 1000);
    assert_int_equal(s->all.requested.current, 40 * MIB + 1000);
    assert_int_equal(s->all.reserved.current, 64 * MIB);
    allocator_free(allocator, &b);
    s = allocator_read(allocator);
    assert_int_equal(s->all.allocated.current, 1000);
    assert_int_equal(s->all.allocated.peak, 40 * MIB + 1000);
    assert_int_equal(s->all.reserved.current, 64 * MIB);
    assert_int_equal(s->reserved_at_allocated_peak, 64 * MIB);
    allocator_empty_cache(allocator);
    s = allocator_read(allocator);
    assert_int_equal(s->all.reserved.current, 32 * MIB);
    assert_int_equal(s->all.reserved.peak, 64 * MIB);
    allocator_reset_peaks(allocator);
    s = allocator_read(allocator);
    assert_int_equal(s->all.reserved.peak, 32 * MIB);
    assert_int_equal(s->all.allocated.peak, 1000);
    allocator_free(allocator, &a);
    clear();
}

/* The limit is compared with the sum of what was asked for. */
static void refusals(void **state)
{
    (void)state;
    struct block block;
    struct refusal refusal;
    set(&device_simulated, 256 * MIB, reading_of(2000));
    struct block a = take(1500);
    assert_int_equal(allocator_alloc(allocator, 501, 0, &block, &refusal), OUTCOME_OOM);
    assert_string_equal(refusal.by, "limit");
    assert_int_equal(refusal.free.value, 500);
    block = take(500);
    allocator_free(allocator, &a);
    allocator_free(allocator, &block);
    clear();
    set(&device_simulated, 40 * MIB, reading_missing());
    assert_int_equal(allocator_alloc(allocator, 33 * MIB, 0, &block, &refusal), OUTCOME_OOM);
    assert_string_equal(refusal.by, "device");
    assert_int_equal(refusal.bytes, 33 * MIB);
    assert_int_equal(refusal.free.value, 8 * MIB); /* the pool got a page before */
    clear();
}

static void random_requests_on_real_memory(void **state)
{
    (void)state;
    struct block blocks[32] = {{0}};
    uint64_t random = 3, live = 0;
    set(&device_host, 320 * MIB, reading_missing());
    for (int i = 0; i < 2000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        struct block *block = &blocks[(random >> 33) % 32];
        if (block->piece) {
            const volatile unsigned char *memory = (void *)(uintptr_t)block->address;
            assert_int_equal(memory[0], memory[block->requested - 1]);
            live -= block->requested;
            allocator_free(allocator, block);
        } else {
            *block = take(1 + ((random >> 40) % 4096 << ((random >> 20) % 11)));
            volatile unsigned char *memory = (void *)(uintptr_t)block->address;
            memory[0] = memory[block->requested - 1] = (unsigned char)i;
            live += block->requested;
        }
        assert_int_equal(allocator_read(allocator)->all.allocated.current, live);
    }
    for (size_t i = 0; i < 32; i++)
        allocator_free(allocator, &blocks[i]);
    clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_figures),
        cmocka_unit_test(refusals),
        cmocka_unit_test(random_requests_on_real_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
