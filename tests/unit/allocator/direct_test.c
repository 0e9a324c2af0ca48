/* direct: no pool; and how the simulated device packs what is small. */
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
    if (allocator_open(&allocator, "direct", &device,
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

static void clear(uint64_t left)
{
    assert_int_equal(allocator_close(allocator), left);
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

static void counts_what_was_asked(void **state)
{
    (void)state;
    set(&device_simulated, 64 * MIB, reading_missing());
    struct block a = take(1000), b = take(3 * MIB + 1);
    const struct allocator_statistics *s = allocator_read(allocator);
    assert_int_equal(a.size, 1000);
    assert_int_equal(s->all.allocated.current, 3 * MIB + 1001);
    assert_int_equal(s->all.requested.peak, 3 * MIB + 1001);
    assert_false(s->reserved_known);
    allocator_free(allocator, &b);
    assert_int_equal(allocator_read(allocator)->all.allocated.current, 1000);
    allocator_free(allocator, &a);
    clear(0);
}

/* Small ones share 2 MiB pages; above 2 MiB whole pages are taken. */
static void share_pages(const struct device_ops *ops)
{
    set(ops, 64 * MIB, reading_missing());
    struct block blocks[4];
    blocks[0] = take(MIB);
    assert_int_equal(used(), 2 * MIB);
    blocks[1] = take(MIB);
    assert_int_equal(used(), 2 * MIB);
    blocks[2] = take(1);
    assert_int_equal(used(), 4 * MIB);
    blocks[3] = take(2 * MIB + 1);
    assert_int_equal(used(), 8 * MIB);
    assert_int_not_equal(blocks[0].address, blocks[1].address);
    allocator_free(allocator, &blocks[2]);
    assert_int_equal(used(), 6 * MIB);
    allocator_free(allocator, &blocks[0]);
    assert_int_equal(used(), 6 * MIB);
    allocator_free(allocator, &blocks[1]);
    allocator_free(allocator, &blocks[3]);
    clear(0);
}

/* The host device keeps the books that the plan is made with. */
static void pages_are_shared(void **state)
{
    (void)state;
    share_pages(&device_simulated);
    share_pages(&device_host);
}

static void refusals(void **state)
{
    (void)state;
    struct block block;
    struct refusal refusal;
    set(&device_simulated, 10 * MIB, reading_missing());
    struct block a = take(7 * MIB);
    assert_int_equal(allocator_alloc(allocator, 3 * MIB, 0, &block, &refusal), OUTCOME_OOM);
    assert_string_equal(refusal.by, "device");
    assert_int_equal(refusal.bytes, 3 * MIB);
    assert_int_equal(refusal.free.value, 2 * MIB);
    assert_int_equal(allocator_read(allocator)->ooms, 1);
    allocator_free(allocator, &a);
    clear(0);
    set(&device_simulated, 10 * MIB, reading_of(5 * MIB));
    a = take(4 * MIB);
    assert_int_equal(allocator_alloc(allocator, MIB + 1, 0, &block, &refusal), OUTCOME_OOM);
    assert_string_equal(refusal.by, "limit");
    assert_int_equal(refusal.free.value, MIB);
    allocator_free(allocator, &a);
    clear(0);
}

static void leaks_are_given_back(void **state)
{
    (void)state;
    set(&device_host, 10 * MIB, reading_missing());
    take(5 * MIB);
    take(77);
    clear(2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_was_asked),
        cmocka_unit_test(pages_are_shared),
        cmocka_unit_test(refusals),
        cmocka_unit_test(leaks_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
