/* The caching allocator's rules one at a time. */
#include "harness/device/piece.h"
#include "tests/unit/allocator/caching_bed.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void max_split(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 4096 * MIB,
        &(struct allocator_setting){.max_split_size = reading_of(64 * MIB)});
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
    struct block more =
        take(&stage, 61 * MIB); /* ages 4 and 1, the mean is 2.5: only the 40 goes */
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

/* The invariants' check is one only if it can fail: each kind of damage, in a process of its
 * own. */
static void damage_is_seen(void **state)
{
    (void)state;
    for (int damage = 0; damage < 4; damage++) {
        struct stage stage;
        int status;
        set(&stage, 48 * MIB, &(struct allocator_setting){0});
        struct block block = take(&stage, 1000), other = take(&stage, 1000);
        const pid_t child = fork();
        if (child == 0) {
            fclose(stderr);
            if (damage == 0)
                block.piece->size += 512;
            else if (damage == 1)
                block.piece->allocated = false;
            else if (damage == 2)
                block.piece->requested++;
            else
                block.piece->next = NULL;
            allocator_check(stage.allocator);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        give(&stage, &other);
        give(&stage, &block);
        clear(&stage);
    }
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
        cmocka_unit_test(settings_out_of_range),   cmocka_unit_test(max_split),
        cmocka_unit_test(oversize_released_first), cmocka_unit_test(refusals_name_the_refuser),
        cmocka_unit_test(streams_are_apart),       cmocka_unit_test(garbage_collection),
        cmocka_unit_test(ties_by_segment_order),   cmocka_unit_test(random_requests),
        cmocka_unit_test(damage_is_seen),          cmocka_unit_test(leaks_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
