/* The simulated device against what CUDA's driver did on an H200: how small cudaMallocs share
 * pages (bytes in use after each call), and the pool behind cudaMallocAsync (addresses and
 * reserved bytes after each call, with the device idle, and kept busy so that nothing completes
 * between two synchronisations). */
#include "harness/base/units.h"
#include "harness/device/device.h"
#include "harness/record/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define IDS 256

struct player {
    struct device device;
    const struct device_ops *ops;
    uint64_t address[IDS], bytes[IDS], base;
    uint64_t lines, compared;
};

static uint64_t number(const char *field)
{
    uint64_t value = 0;
    struct text why = TEXT_INIT;
    if (field[0] && parse_count(field, &value, &why))
        fail_msg("%s", text_string(&why));
    text_release(&why);
    return value;
}

static uint64_t used(struct player *p)
{
    uint64_t free_bytes, total_bytes;
    assert_int_equal(p->ops->usage(&p->device, &free_bytes, &total_bytes), 0);
    return total_bytes - free_bytes;
}

static int play_packed(void *user, char **fields, size_t count, uint64_t line)
{
    struct player *p = user;
    if (p->lines++ == 0)
        return 0;
    assert_int_equal(count, 4);
    const uint64_t id = number(fields[1]), bytes = number(fields[2]);
    if (strcmp(fields[0], "free") == 0)
        p->ops->segment_free(&p->device, p->address[id], bytes);
    else
        assert_int_equal(p->ops->segment_alloc(&p->device, bytes, &p->address[id]), OUTCOME_OK);
    if (used(p) != number(fields[3]))
        fail_msg("line %llu: %llu used, recorded %s", (unsigned long long)line,
                 (unsigned long long)used(p), fields[3]);
    p->compared++;
    return 0;
}

static void call_pool(struct player *p, char **fields, uint64_t line)
{
    const struct device_pool *pool = p->ops->pool;
    const uint64_t id = number(fields[1]);
    if (strcmp(fields[0], "alloc") == 0) {
        assert_int_equal(pool->alloc(&p->device, number(fields[2]), &p->address[id]),
                         OUTCOME_OK);
        if (!p->base)
            p->base = p->address[id];
        if (p->address[id] - p->base != number(fields[3]))
            fail_msg("line %llu: at %llu, recorded %s", (unsigned long long)line,
                     (unsigned long long)(p->address[id] - p->base), fields[3]);
    } else if (strcmp(fields[0], "free") == 0) {
        pool->free(&p->device, p->address[id]);
    } else if (strcmp(fields[0], "sync") == 0) {
        assert_int_equal(p->ops->synchronise(&p->device), OUTCOME_OK);
    } else {
        pool->trim(&p->device);
    }
}

static int play_pool(void *user, char **fields, size_t count, uint64_t line)
{
    struct player *p = user;
    struct device_pool_reading now;
    if (p->lines++ == 0)
        return 0;
    assert_int_equal(count, 6);
    call_pool(p, fields, line);
    assert_int_equal(p->ops->pool->read(&p->device, &now), 0);
    if (now.used_current != number(fields[4]) || now.reserved_current != number(fields[5]))
        fail_msg("line %llu: used %llu, reserved %llu; recorded %s and %s",
                 (unsigned long long)line, (unsigned long long)now.used_current,
                 (unsigned long long)now.reserved_current, fields[4], fields[5]);
    p->compared++;
    return 0;
}

static void play(const char *name, const struct device_ops *ops,
                 int (*each)(void *user, char **fields, size_t count, uint64_t line))
{
    char path[256];
    uint64_t line;
    struct text why = TEXT_INIT;
    struct player player = {.ops = ops};
    const struct device_setting setting = {.capacity = reading_of(16384 * MIB)};
    assert_int_equal(device_open(&player.device, ops, &setting), OUTCOME_OK);
    snprintf(path, sizeof(path), "%s/driver/%s.csv", TEST_DATA, name);
    if (csv_read(path, each, &player, &line, &why))
        fail_msg("%s: %s", path, text_string(&why));
    assert_true(player.compared > 20);
    device_close(&player.device);
    text_release(&why);
}

static void packing_of_small_requests(void **state)
{
    (void)state;
    play("packed_small", &device_simulated, play_packed);
    play("packed_mixed", &device_simulated, play_packed);
}

static void pool_of_an_idle_device(void **state)
{
    (void)state;
    play("pool_synchronised", &device_simulated, play_pool);
}

static void pool_of_a_busy_device(void **state)
{
    (void)state;
    play("pool_lagging_mixed", &device_simulated, play_pool);
    play("pool_lagging_large", &device_simulated, play_pool);
    play("pool_lagging_always", &device_simulated, play_pool);
}

static void trimming(void **state)
{
    (void)state;
    play("pool_trim_interior", &device_simulated, play_pool);
    play("pool_trim_small", &device_simulated, play_pool);
    play("pool_trim_twice", &device_simulated, play_pool);
}

/* The same figures where there is memory behind it. */
static void on_real_memory(void **state)
{
    (void)state;
    play("pool_lagging_large", &device_host, play_pool);
    play("pool_trim_twice", &device_host, play_pool);
}

/* Pages that were got before a refusal stay: seen when 30 GiB were asked for and 20 left. */
static void pages_before_a_refusal_stay(void **state)
{
    (void)state;
    struct device device;
    struct device_pool_reading now;
    uint64_t a, b;
    const struct device_setting setting = {.capacity = reading_of(170 * MIB)};
    assert_int_equal(device_open(&device, &device_simulated, &setting), OUTCOME_OK);
    assert_int_equal(device.ops->pool->alloc(&device, 64 * MIB, &a), OUTCOME_OK);
    assert_int_equal(device.ops->pool->alloc(&device, 128 * MIB, &b), OUTCOME_OOM);
    assert_int_equal(device.ops->pool->read(&device, &now), 0);
    assert_int_equal(now.used_current, 64 * MIB);
    assert_int_equal(now.reserved_current, 160 * MIB);
    assert_int_equal(device.ops->pool->alloc(&device, 96 * MIB, &b), OUTCOME_OK);
    device_close(&device); /* live blocks go with it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_of_small_requests),
        cmocka_unit_test(pool_of_an_idle_device),
        cmocka_unit_test(pool_of_a_busy_device),
        cmocka_unit_test(trimming),
        cmocka_unit_test(on_real_memory),
        cmocka_unit_test(pages_before_a_refusal_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
