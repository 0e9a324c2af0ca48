/* The simulated device: addresses and a count of bytes. Small segments are packed into pages as
 * CUDA's driver does it, larger ones take whole pages; the pool is a model of the driver's.
 */
#include "harness/device/address.h"
#include "harness/device/driver_pool.h"
#include "harness/device/packed.h"
#include "harness/base/units.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE PACKED_PAGE

struct simulated {
    struct driver_pool *pool; /* first: driver_pool_ops looks for it here */
    uint64_t capacity, used;
    struct address_policy *addresses;
    struct ascending ascending;
    struct packed packed;
};

static enum outcome take_pages(struct device *device, uint64_t bytes, uint64_t *address)
{
    struct simulated *s = device->state;
    if (s->addresses->refuses || bytes > s->capacity - s->used)
        return OUTCOME_OOM;
    const enum outcome outcome = s->addresses->place(s->addresses, bytes, address);
    if (outcome == OUTCOME_OK)
        s->used += bytes;
    return outcome;
}

static void give_pages(struct device *device, uint64_t address, uint64_t bytes)
{
    struct simulated *s = device->state;
    assert(bytes <= s->used);
    if (s->addresses->give_back)
        s->addresses->give_back(s->addresses, address, bytes);
    s->used -= bytes;
}

static enum outcome simulated_open(struct device *device, const struct device_setting *setting)
{
    assert(setting->capacity.known);
    if (setting->overhead > setting->capacity.value)
        return OUTCOME_OOM;
    struct simulated *s = xcalloc(1, sizeof(*s));
    s->capacity = setting->capacity.value;
    s->used = setting->overhead;
    ascending_init(&s->ascending);
    s->addresses = setting->addresses ? setting->addresses : &s->ascending.policy;
    packed_init(&s->packed, device, take_pages, give_pages);
    s->pool = driver_pool_open(device);
    device->state = s;
    return OUTCOME_OK;
}

static void simulated_close(struct device *device)
{
    struct simulated *s = device->state;
    packed_release(&s->packed);
    driver_pool_close(s->pool);
    free(s);
}

static void simulated_facts(struct device *device, struct device_facts *facts)
{
    const struct simulated *s = device->state;
    *facts = (struct device_facts){.total_bytes = s->capacity};
    snprintf(facts->name, sizeof(facts->name), "simulated");
}

static enum outcome simulated_alloc(struct device *device, uint64_t bytes, uint64_t *address)
{
    struct simulated *s = device->state;
    if (bytes <= PACKED_LIMIT)
        return packed_alloc(&s->packed, bytes, address);
    return take_pages(device, round_up(bytes, PAGE), address);
}

static void simulated_free(struct device *device, uint64_t address, uint64_t bytes)
{
    struct simulated *s = device->state;
    if (bytes <= PACKED_LIMIT)
        packed_free(&s->packed, address);
    else
        give_pages(device, address, round_up(bytes, PAGE));
}

static int simulated_usage(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const struct simulated *s = device->state;
    *free_bytes = s->capacity - s->used;
    *total_bytes = s->capacity;
    return 0;
}

static enum outcome simulated_synchronise(struct device *device)
{
    driver_pool_synchronise(((struct simulated *)device->state)->pool);
    return OUTCOME_OK;
}

static uint64_t simulated_granularity(struct device *device)
{
    (void)device;
    return PAGE;
}

static enum outcome simulated_reserve(struct device *device, uint64_t bytes, uint64_t *address)
{
    struct simulated *s = device->state;
    return s->addresses->reserve(s->addresses, bytes, address);
}

static void simulated_unreserve(struct device *device, uint64_t address, uint64_t bytes)
{
    (void)device;
    (void)address;
    (void)bytes;
}

static enum outcome simulated_map(struct device *device, uint64_t address, uint64_t bytes)
{
    struct simulated *s = device->state;
    if (s->addresses->refuses || bytes > s->capacity - s->used)
        return OUTCOME_OOM;
    enum outcome outcome = OUTCOME_OK;
    if (s->addresses->map)
        outcome = s->addresses->map(s->addresses, address, bytes);
    if (outcome == OUTCOME_OK)
        s->used += bytes;
    return outcome;
}

static void simulated_unmap(struct device *device, uint64_t address, uint64_t bytes)
{
    struct simulated *s = device->state;
    (void)address;
    assert(bytes <= s->used);
    s->used -= bytes;
}

static const struct device_paging paging = {
    .granularity = simulated_granularity,
    .reserve = simulated_reserve,
    .unreserve = simulated_unreserve,
    .map = simulated_map,
    .unmap = simulated_unmap,
};
const struct device_ops device_simulated = {
    .name = "simulated",
    .open = simulated_open,
    .close = simulated_close,
    .facts = simulated_facts,
    .segment_alloc = simulated_alloc,
    .segment_free = simulated_free,
    .usage = simulated_usage,
    .synchronise = simulated_synchronise,
    .paging = &paging,
    .pool = &driver_pool_ops,
};
