/* The caching allocator against the worked example and the vectors of its specification. */
#include "harness/memory/allocator.h"
#include "harness/memory/rounding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

struct stage {
    struct device device;
    struct allocator *allocator;
};

static void set(struct stage *stage, uint64_t capacity, const struct allocator_setting *setting)
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

static void clear(struct stage *stage)
{
    assert_int_equal(allocator_close(stage->allocator), 0);
    uint64_t free_bytes, total_bytes;
    assert_int_equal(stage->device.ops->usage(&stage->device, &free_bytes, &total_bytes), 0);
    assert_int_equal(free_bytes, total_bytes);
    device_close(&stage->device);
}

static const struct allocator_statistics *now(struct stage *stage)
{
    return allocator_read(stage->allocator);
}

static struct block take_on(struct stage *stage, uint64_t bytes, uint64_t stream)
{
    struct block block;
    struct refusal refusal;
    assert_int_equal(allocator_alloc(stage->allocator, bytes, stream, &block, &refusal),
                     OUTCOME_OK);
    return block;
}

static struct block take(struct stage *stage, uint64_t bytes)
{
    return take_on(stage, bytes, 0);
}

static struct refusal refused(struct stage *stage, uint64_t bytes)
{
    struct block block;
    struct refusal refusal;
    assert_int_equal(allocator_alloc(stage->allocator, bytes, 0, &block, &refusal),
                     OUTCOME_OOM);
    return refusal;
}

static void give(struct stage *stage, struct block *block)
{
    allocator_free(stage->allocator, block);
}

/* --- the worked example: every row and the final table ------------------------------------ */

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

struct heard {
    uint64_t freed[8];
    size_t count;
};

static void hear(void *user, const struct segment_event *event)
{
    struct heard *heard = user;
    if (event->action == SEGMENT_FREE)
        heard->freed[heard->count++ % 8] = event->bytes;
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

/* --- single requests ----------------------------------------------------------------------- */

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

/* --- rounding -------------------------------------------------------------------------------- */

static uint64_t rounded(const char *divisions, uint64_t bytes)
{
    struct rounding rounding;
    struct text why = TEXT_INIT;
    if (rounding_parse(divisions, &rounding, &why))
        fail_msg("%s: %s", divisions, text_string(&why));
    text_release(&why);
    return rounding_apply(&rounding, bytes);
}

static void rounding_vectors(void **state)
{
    (void)state;
    assert_int_equal(rounded(NULL, 1200), 1536);
    assert_int_equal(rounded("4", 1200), 1536);
    assert_int_equal(rounded("4", 2049), 2560);
    assert_int_equal(rounded("4", 5000), 5120);
    assert_int_equal(rounded("2", 3000000), 3145728);
    assert_int_equal(rounded("4", 3000000), 3145728);
    assert_int_equal(rounded("8", 3000000), 3145728);
    assert_int_equal(rounded("1", 3000000), 3000320);
    assert_int_equal(rounded("8", 700000), 720896);
    assert_int_equal(rounded("8", 1050000), 1179648);
    assert_int_equal(rounded("8", 4194305), 4718592);
    assert_int_equal(rounded("4", 4194304), 4194304);
    assert_int_equal(rounded("9223372036854775808", 3000000), 3000320);
}

/* The first key fills below, later ones set one entry, ">" everything above the last. */
static void rounding_lists(void **state)
{
    (void)state;
    const char *list = "[64:8, 256:4,1024:2,>:1]";
    assert_int_equal(rounded(list, 5 * MIB + 1), 5 * MIB + MIB / 2);
    assert_int_equal(rounded(list, 65 * MIB), 72 * MIB);
    assert_int_equal(rounded(list, 129 * MIB + 1), 129 * MIB + 512);
    assert_int_equal(rounded(list, 257 * MIB), 320 * MIB);
    assert_int_equal(rounded(list, 1025 * MIB), 1536 * MIB);
    assert_int_equal(rounded(list, 2049 * MIB), 2049 * MIB);
    assert_int_equal(rounded("[1:2,>:4]", 40000 * MIB), 40960 * MIB);
    assert_int_equal(rounded("[65536:2]", 40000 * MIB), 49152 * MIB);
}

static void rounding_refusals(void **state)
{
    (void)state;
    static const char *const bad[] = {"3",       "-1",       "[",        "[]",        "[64:8",
                                      "[64]",    "[:8]",     "[64:3]",   "[63:8]",    "[>:4]",
                                      "[64:8,]", "[64:8,,]", "[64:8]x",  "[64:>]",    "x",
                                      "[64::8]", "[0:8]",    "[64:8:4]", "[64:8,>:]", " 4"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rounding rounding = {{77}};
        struct text why = TEXT_INIT;
        if (rounding_parse(bad[i], &rounding, &why) != -1)
            fail_msg("\"%s\" was taken", bad[i]);
        assert_true(why.length > 0);
        assert_int_equal(rounding.divisions[0], 77);
        text_release(&why);
    }
}

static void settings_out_of_range(void **state)
{
    (void)state;
    static char odd[] = "3";
    const struct allocator_setting bad[] = {
        {.max_split_size = reading_of(20 * MIB - 1)},
        {.max_non_split_rounding = reading_of(1)},
        {.garbage_collection_threshold = 1},
        {.garbage_collection_threshold = -0.5},
        {.roundup_power2_divisions = odd},
    };
    struct device device;
    const struct device_setting setting = {.capacity = reading_of(MIB)};
    assert_int_equal(device_open(&device, &device_simulated, &setting), OUTCOME_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct allocator *allocator = NULL;
        struct text why = TEXT_INIT;
        assert_int_equal(allocator_open(&allocator, "caching", &device, &bad[i], &why), -1);
        assert_null(allocator);
        assert_true(why.length > 0);
        text_release(&why);
    }
    device_close(&device);
}

/* --- rules one at a time ----------------------------------------------------------------------- */

static void max_split(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 4096 * MIB, &(struct allocator_setting){.max_split_size = reading_of(64 * MIB)});
    struct block hundred = take(&stage, 100 * MIB);
    give(&stage, &hundred);
    struct block fifty = take(&stage, 50 * MIB); /* must not break the large block */
    assert_int_equal(now(&stage)->all.reserved.current, 150 * MIB);
    struct block ninety = take(&stage, 90 * MIB); /* takes it whole */
    assert_int_equal(ninety.size, 100 * MIB);
    assert_int_equal(now(&stage)->oversize_allocations.current, 1);
    give(&stage, &ninety);
    struct block seventy_five = take(&stage, 75 * MIB); /* 100 >= 75 + 20 */
    assert_int_equal(seventy_five.size, 76 * MIB);
    assert_int_equal(now(&stage)->all.reserved.current, 226 * MIB);
    assert_int_equal(now(&stage)->oversize_segments.current, 2);
    give(&stage, &fifty);
    give(&stage, &seventy_five);
    clear(&stage);
}

/* Oversize blocks go first, one that is large enough, before everything else is given back. */
static void oversize_released_first(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 300 * MIB, &(struct allocator_setting){.max_split_size = reading_of(64 * MIB)});
    struct block a = take(&stage, 100 * MIB), b = take(&stage, 80 * MIB);
    struct block c = take(&stage, 40 * MIB);
    give(&stage, &a);
    give(&stage, &b);
    give(&stage, &c);
    struct block d = take(&stage, 130 * MIB); /* 100 + 80 are given back, 40 stays */
    assert_int_equal(now(&stage)->alloc_retries, 0);
    assert_int_equal(now(&stage)->syncs, 0);
    assert_int_equal(now(&stage)->all.reserved.current, 170 * MIB);
    give(&stage, &d);
    struct block e = take(&stage, 260 * MIB); /* not enough: everything goes, one retry */
    assert_int_equal(now(&stage)->alloc_retries, 1);
    assert_int_equal(now(&stage)->all.reserved.current, 260 * MIB);
    give(&stage, &e);
    clear(&stage);
}

/* A refusal of the limit is told apart from one of the device. */
static void refusals_name_the_refuser(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 64 * MIB, &(struct allocator_setting){.limit = reading_of(50 * MIB)});
    struct block a = take(&stage, 30 * MIB);
    struct refusal by_limit = refused(&stage, 21 * MIB);
    assert_string_equal(by_limit.by, "limit");
    assert_int_equal(by_limit.bytes, 22 * MIB);
    assert_int_equal(by_limit.free.value, 20 * MIB);
    give(&stage, &a);
    clear(&stage);
    set(&stage, 64 * MIB, &(struct allocator_setting){0});
    a = take(&stage, 30 * MIB);
    struct refusal by_device = refused(&stage, 35 * MIB);
    assert_string_equal(by_device.by, "device");
    assert_int_equal(by_device.bytes, 36 * MIB);
    assert_int_equal(by_device.free.value, 34 * MIB);
    assert_int_equal(now(&stage)->alloc_retries, 1);
    give(&stage, &a);
    clear(&stage);
}

/* Streams never share free blocks, and a walk takes them by handle. */
static void streams_are_apart(void **state)
{
    (void)state;
    struct stage stage;
    struct heard heard = {{0}, 0};
    set(&stage, 1024 * MIB, &(struct allocator_setting){0});
    allocator_listen(stage.allocator, hear, &heard);
    struct block a = take_on(&stage, 30 * MIB, 9);
    struct block b = take_on(&stage, 15 * MIB, 0);
    give(&stage, &a);
    give(&stage, &b);
    a = take_on(&stage, 15 * MIB, 9);
    b = take_on(&stage, 15 * MIB, 4);
    assert_int_equal(now(&stage)->all.reserved.current, 62 * MIB);
    give(&stage, &a);
    give(&stage, &b);
    b = take_on(&stage, 1, 4);
    give(&stage, &b);
    allocator_empty_cache(stage.allocator);
    assert_int_equal(heard.count, 4);
    assert_int_equal(heard.freed[0], 16 * MIB); /* stream 0 */
    assert_int_equal(heard.freed[1], 16 * MIB); /* stream 4 */
    assert_int_equal(heard.freed[2], 30 * MIB); /* stream 9 */
    assert_int_equal(heard.freed[3], 2 * MIB);  /* the small pool comes last */
    clear(&stage);
}

/* Garbage collection needs a limit, and frees what is older than the average. */
static void garbage_collection(void **state)
{
    (void)state;
    struct stage stage;
    struct heard heard = {{0}, 0};
    set(&stage, 1024 * MIB,
        &(struct allocator_setting){.garbage_collection_threshold = 0.5,
                                    .limit = reading_of(200 * MIB)});
    allocator_listen(stage.allocator, hear, &heard);
    struct block old = take(&stage, 40 * MIB);
    struct block young = take(&stage, 30 * MIB);
    struct block kept = take(&stage, 60 * MIB);
    give(&stage, &old);
    for (int i = 0; i < 3; i++) { /* searches that find their own block: the 40 grows old */
        give(&stage, &kept);
        kept = take(&stage, 60 * MIB);
    }
    give(&stage, &young);
    struct block more = take(&stage, 61 * MIB); /* ages 4 and 1, the mean is 2.5: only the 40 goes */
    assert_int_equal(heard.count, 1);
    assert_int_equal(heard.freed[0], 40 * MIB);
    assert_int_equal(now(&stage)->alloc_retries, 0);
    assert_int_equal(now(&stage)->all.reserved.current, 152 * MIB);
    give(&stage, &kept);
    give(&stage, &more);
    clear(&stage);
}

/* Of equal blocks the older segment's is taken, whatever its address. */
static void ties_by_segment_order(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 1024 * MIB, &(struct allocator_setting){0});
    struct block a = take(&stage, 32 * MIB), b = take(&stage, 32 * MIB);
    const uint64_t first = a.address;
    give(&stage, &b);
    give(&stage, &a);
    a = take(&stage, 32 * MIB);
    assert_int_equal(a.address, first);
    give(&stage, &a);
    clear(&stage);
}

/* Random requests: the invariants are checked after every one of them. */
static void random_requests(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 128 * MIB, &(struct allocator_setting){0});
    struct block blocks[64] = {{0}};
    uint64_t random = 12345, refusals = 0;
    for (int i = 0; i < 4000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        struct block *block = &blocks[(random >> 33) % 64];
        if (block->piece) {
            give(&stage, block);
        } else {
            const uint64_t bytes = ((random >> 40) % 4096 + 1) << ((random >> 20) % 14);
            struct refusal refusal;
            refusals += allocator_alloc(stage.allocator, bytes, (random >> 60) % 3, block,
                                        &refusal) != OUTCOME_OK;
        }
        if (i % 500 == 499)
            allocator_empty_cache(stage.allocator);
    }
    assert_true(refusals > 0 && refusals < 1000);
    for (size_t i = 0; i < 64; i++)
        give(&stage, &blocks[i]);
    clear(&stage);
}

static void leaks_are_counted(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 48 * MIB, &(struct allocator_setting){0});
    struct block block = take(&stage, 1000);
    (void)block;
    assert_int_equal(allocator_close(stage.allocator), 1);
    uint64_t free_bytes, total_bytes;
    assert_int_equal(stage.device.ops->usage(&stage.device, &free_bytes, &total_bytes), 0);
    assert_int_equal(free_bytes, total_bytes);
    device_close(&stage.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(worked_example_with_limit),
        cmocka_unit_test(worked_example_by_address),
        cmocka_unit_test(single_requests),
        cmocka_unit_test(no_bytes_and_too_many),
        cmocka_unit_test(rounding_vectors),
        cmocka_unit_test(rounding_lists),
        cmocka_unit_test(rounding_refusals),
        cmocka_unit_test(settings_out_of_range),
        cmocka_unit_test(max_split),
        cmocka_unit_test(oversize_released_first),
        cmocka_unit_test(refusals_name_the_refuser),
        cmocka_unit_test(streams_are_apart),
        cmocka_unit_test(garbage_collection),
        cmocka_unit_test(ties_by_segment_order),
        cmocka_unit_test(random_requests),
        cmocka_unit_test(leaks_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
