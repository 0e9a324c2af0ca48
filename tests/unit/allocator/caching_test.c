/* The caching allocator against the worked example of its specification and single requests. */
#include "tests/unit/allocator/caching_bed.h"

/* --- the worked example: every row and the final table --- */

enum { FREE = 0, EMPTY = -1 };
struct example_row {
    char name;      /* of the block */
    int64_t bytes;  /* to allocate; FREE; EMPTY: empty_cache */
    uint64_t block; /* bytes handed out; 0: refused (an allocation) or not asked */
    uint64_t requested, allocated, reserved, segments, inactive, inactive_count;
};
static const struct example_row example[] = {
    {'A', 1000, 1024, 1000, 1024, 2097152, 1, 2096128, 1},
    {'B', 700000, 700416, 701000, 701440, 2097152, 1, 1395712, 1},
    {'C', 3000000, 3000320, 3701000, 3701760, 23068672, 2, 19366912, 2},
    {'D', 17000000, 17971200, 20701000, 21672960, 23068672, 2, 1395712, 1},
    {'E', 10485760, 10485760, 31186760, 32158720, 33554432, 3, 1395712, 1},
    {'F', 12000000, 12582912, 43186760, 44741632, 46137344, 4, 1395712, 1},
    {'C', FREE, 0, 40186760, 41741312, 46137344, 4, 4396032, 2},
    {'G', 2500000, 3000320, 42686760, 44741632, 46137344, 4, 1395712, 1},
    {'F', FREE, 0, 30686760, 32158720, 46137344, 4, 1395712, 1},
    {'H', 1100000, 1100288, 31786760, 33259008, 46137344, 4, 12878336, 2},
    {'B', FREE, 0, 31086760, 32558592, 46137344, 4, 13578752, 2},
    {'A', FREE, 0, 31085760, 32557568, 46137344, 4, 11482624, 1},
    {' ', EMPTY, 0, 31085760, 32557568, 44040192, 3, 11482624, 1},
    {'I', 8000000, 8000000, 39085760, 40557568, 44040192, 3, 3482624, 1},
    {'E', FREE, 0, 28600000, 30071808, 44040192, 3, 3482624, 1},
    {'J', 15000000, 15000064, 43600000, 45071872, 50331648, 3, 5259776, 2},
    {'x', 400, 0, 43600000, 45071872, 50331648, 3, 5259776, 2},
    {'x', 20971520, 0, 43600000, 45071872, 50331648, 3, 5259776, 2},
    {'D', FREE, 0, 26600000, 27100672, 50331648, 3, 23230976, 3},
    {'G', FREE, 0, 24100000, 24100352, 50331648, 3, 5259776, 2},
    {'H', FREE, 0, 23000000, 23000064, 50331648, 3, 6360064, 3},
    {'I', FREE, 0, 15000000, 15000064, 50331648, 3, 1777152, 1},
    {'J', FREE, 0, 0, 0, 50331648, 3, 0, 0},
    {' ', EMPTY, 0, 0, 0, 0, 0, 0, 0},
};

static void compare(const struct statistic *s, uint64_t peak, uint64_t total)
{
    assert_int_equal(s->current, 0);
    assert_int_equal(s->peak, peak);
    assert_int_equal(s->allocated, total);
    assert_int_equal(s->freed, total);
}

static void compare_final(const struct allocator_statistics *s)
{
    compare(&s->all.allocations, 6, 10);
    compare(&s->small.allocations, 2, 2);
    compare(&s->large.allocations, 5, 8);
    compare(&s->all.segments, 4, 5);
    compare(&s->small.segments, 1, 1);
    compare(&s->large.segments, 3, 4);
    compare(&s->all.inactive_splits, 3, 7);
    compare(&s->small.inactive_splits, 1, 1);
    compare(&s->large.inactive_splits, 3, 6);
    compare(&s->all.allocated, 45071872, 71842304);
    compare(&s->all.active, 45071872, 71842304);
    compare(&s->small.allocated, 701440, 701440);
    compare(&s->large.allocated, 45071872, 71140864);
    compare(&s->large.active, 45071872, 71140864);
    compare(&s->all.reserved, 50331648, 62914560);
    compare(&s->small.reserved, 2097152, 2097152);
    compare(&s->large.reserved, 50331648, 60817408);
    compare(&s->all.inactive_split, 23230976, 56099328);
    compare(&s->small.inactive_split, 2096128, 2796544);
    compare(&s->large.inactive_split, 23230976, 53302784);
    compare(&s->all.requested, 43600000, 69786760);
    compare(&s->small.requested, 701000, 701000);
    compare(&s->large.requested, 43600000, 69085760);
    assert_int_equal(s->alloc_retries, 3);
    assert_int_equal(s->ooms, 2);
    assert_int_equal(s->device_allocs, 5);
    assert_int_equal(s->device_frees, 5);
    assert_int_equal(s->syncs, 5);
}

static void run_example(struct stage *stage, struct heard *heard)
{
    struct block blocks[128] = {{0}};
    allocator_listen(stage->allocator, hear, heard);
    for (size_t i = 0; i < sizeof(example) / sizeof(example[0]); i++) {
        const struct example_row *row = &example[i];
        struct block *block = &blocks[(int)row->name];
        if (row->bytes == EMPTY) {
            heard->count = 0;
            allocator_empty_cache(stage->allocator);
        } else if (row->bytes == FREE) {
            give(stage, block);
        } else if (row->block) {
            *block = take(stage, (uint64_t)row->bytes);
            assert_int_equal(block->size, row->block);
        } else {
            refused(stage, (uint64_t)row->bytes);
        }
        const struct pool_statistics *all = &now(stage)->all;
        assert_int_equal(all->requested.current, row->requested);
        assert_int_equal(all->allocated.current, row->allocated);
        assert_int_equal(all->reserved.current, row->reserved);
        assert_int_equal(all->segments.current, row->segments);
        assert_int_equal(all->inactive_split.current, row->inactive);
        assert_int_equal(all->inactive_splits.current, row->inactive_count);
    }
    /* the last empty_cache walks by size */
    assert_int_equal(heard->count, 3);
    assert_int_equal(heard->freed[0], 12582912);
    assert_int_equal(heard->freed[1], 16777216);
    assert_int_equal(heard->freed[2], 20971520);
}

static void worked_example(void **state)
{
    (void)state;
    struct stage stage;
    struct heard heard = {{0}, 0};
    set(&stage, 48 * MIB, &(struct allocator_setting){0});
    run_example(&stage, &heard);
    compare_final(now(&stage));
    clear(&stage);
}

/* The limit does what the device's end did. */
static void worked_example_with_limit(void **state)
{
    (void)state;
    struct stage stage;
    struct heard heard = {{0}, 0};
    set(&stage, 1024 * MIB, &(struct allocator_setting){.limit = reading_of(48 * MIB)});
    run_example(&stage, &heard);
    compare_final(now(&stage));
    clear(&stage);
}

static void worked_example_by_address(void **state)
{
    (void)state;
    struct stage stage;
    struct heard heard = {{0}, 0};
    set(&stage, 48 * MIB, &(struct allocator_setting){.tie_break = TIE_ADDRESS});
    run_example(&stage, &heard);
    compare_final(now(&stage));
    clear(&stage);
}

/* --- single requests --- */

static void single_requests(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, allocated, reserved;
        bool small;
    } rows[] = {
        {1, 512, 2097152, true},
        {511, 512, 2097152, true},
        {512, 512, 2097152, true},
        {513, 1024, 2097152, true},
        {1048576, 1048576, 2097152, true},
        {1048577, 1049088, 20971520, false},
        {8519680, 8519680, 20971520, false},
        {10485248, 10485248, 20971520, false},
        {10485249, 10485760, 10485760, false},
        {10485760, 10485760, 10485760, false},
        {10485761, 10486272, 12582912, false},
        {12058624, 12582912, 12582912, false},
        {33554432, 33554432, 33554432, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct stage stage;
        set(&stage, 1024 * MIB, &(struct allocator_setting){0});
        struct block block = take(&stage, rows[i].bytes);
        const struct allocator_statistics *s = now(&stage);
        const struct pool_statistics *pool = rows[i].small ? &s->small : &s->large;
        assert_int_equal(s->all.allocated.current, rows[i].allocated);
        assert_int_equal(s->all.requested.current, rows[i].bytes);
        assert_int_equal(s->all.reserved.current, rows[i].reserved);
        assert_int_equal(pool->reserved.current, rows[i].reserved);
        assert_int_equal(s->all.inactive_split.current, rows[i].reserved - rows[i].allocated);
        give(&stage, &block);
        s = now(&stage);
        assert_int_equal(s->all.allocated.current, 0);
        assert_int_equal(s->all.reserved.current, rows[i].reserved);
        assert_int_equal(s->all.allocated.peak, rows[i].allocated);
        assert_int_equal(s->reserved_at_allocated_peak, rows[i].reserved);
        allocator_reset_peaks(stage.allocator);
        s = now(&stage);
        assert_int_equal(s->all.allocated.peak, 0);
        assert_int_equal(s->all.reserved.peak, rows[i].reserved);
        clear(&stage);
    }
}

static void no_bytes_and_too_many(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 48 * MIB, &(struct allocator_setting){0});
    struct block block = take(&stage, 0);
    assert_int_equal(block.address, 0);
    give(&stage, &block);
    assert_int_equal(now(&stage)->all.allocations.allocated, 0);
    const struct refusal far = refused(&stage, (uint64_t)1 << 60);
    assert_string_equal(far.by, "device");
    refused(&stage, UINT64_MAX);
    assert_int_equal(now(&stage)->ooms, 0);
    refused(&stage, ((uint64_t)1 << 60) - 1);
    assert_int_equal(now(&stage)->ooms, 1);
    clear(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(worked_example_with_limit),
        cmocka_unit_test(worked_example_by_address),
        cmocka_unit_test(single_requests),
        cmocka_unit_test(no_bytes_and_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
