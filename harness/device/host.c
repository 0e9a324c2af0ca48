/* The host device: real memory under a byte budget, so that the reference arithmetic has
 * something to work on and a refusal can come from the budget (the device) or from the host
 * itself.
 *
 * Segments come from the C library, so that the address sanitizer sees their ends.
 */
#include "harness/device/driver_pool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((uint64_t)2 << 20)
#define ALIGNMENT 512u

/* The books are a simulated device's: what fits there fits here, to the byte. */
struct host {
    struct driver_pool *pool; /* first: driver_pool_ops looks for it here */
    struct device books;
};

static struct device *books_of(struct device *device)
{
    return &((struct host *)device->state)->books;
}

static void *pointer_of(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* Before each segment stands the address that it has in the books. */
static enum outcome host_alloc(struct device *device, uint64_t bytes, uint64_t *address)
{
    struct device *books = books_of(device);
    uint64_t booked;
    enum outcome outcome = books->ops->segment_alloc(books, bytes, &booked);
    if (outcome != OUTCOME_OK)
        return outcome;
    void *pointer;
    if (posix_memalign(&pointer, ALIGNMENT, ALIGNMENT + bytes)) {
        books->ops->segment_free(books, booked, bytes);
        return OUTCOME_HOST_OOM;
    }
    memcpy(pointer, &booked, sizeof(booked));
    *address = (uint64_t)(uintptr_t)pointer + ALIGNMENT;
    return OUTCOME_OK;
}

static void host_free(struct device *device, uint64_t address, uint64_t bytes)
{
    struct device *books = books_of(device);
    void *pointer = pointer_of(address - ALIGNMENT);
    uint64_t booked;
    memcpy(&booked, pointer, sizeof(booked));
    books->ops->segment_free(books, booked, bytes);
    free(pointer);
}

static enum outcome host_open(struct device *device, const struct device_setting *setting)
{
    struct host *h = xcalloc(1, sizeof(*h));
    const struct device_setting same = {.capacity = setting->capacity};
    h->books.ops = &device_simulated;
    enum outcome outcome = h->books.ops->open(&h->books, &same);
    assert(outcome == OUTCOME_OK); /* nothing is taken beforehand */
    (void)outcome;
    h->pool = driver_pool_open(device);
    device->state = h;
    return OUTCOME_OK;
}

static void host_close(struct device *device)
{
    struct host *h = device->state;
    driver_pool_close(h->pool);
    h->books.ops->close(&h->books);
    free(h);
}

static void host_facts(struct device *device, struct device_facts *facts)
{
    struct device *books = books_of(device);
    books->ops->facts(books, facts);
    snprintf(facts->name, sizeof(facts->name), "host");
}

static int host_usage(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct device *books = books_of(device);
    return books->ops->usage(books, free_bytes, total_bytes);
}

static enum outcome host_synchronise(struct device *device)
{
    driver_pool_synchronise(((struct host *)device->state)->pool);
    return OUTCOME_OK;
}

static enum outcome host_to_host(struct device *device, void *to, uint64_t from, uint64_t bytes)
{
    (void)device;
    memcpy(to, pointer_of(from), bytes);
    return OUTCOME_OK;
}

static enum outcome host_from_host(struct device *device, uint64_t to, const void *from,
                                   uint64_t bytes)
{
    (void)device;
    memcpy(pointer_of(to), from, bytes);
    return OUTCOME_OK;
}

static uint64_t host_granularity(struct device *device)
{
    (void)device;
    return PAGE;
}

static enum outcome host_reserve(struct device *device, uint64_t bytes, uint64_t *address)
{
    (void)device;
    void *pointer =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pointer == MAP_FAILED)
        return OUTCOME_HOST_OOM;
    *address = (uint64_t)(uintptr_t)pointer;
    return OUTCOME_OK;
}

static void host_unreserve(struct device *device, uint64_t address, uint64_t bytes)
{
    (void)device;
    munmap(pointer_of(address), bytes);
}

/* Pages change their kind inside the reservation, so that no address is ever lost. */
static bool remap(uint64_t address, uint64_t bytes, int protection, int flags)
{
    return mmap(pointer_of(address), bytes, protection,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | flags, -1, 0) != MAP_FAILED;
}

static enum outcome host_map(struct device *device, uint64_t address, uint64_t bytes)
{
    struct device *books = books_of(device);
    enum outcome outcome = books->ops->paging->map(books, address, bytes);
    if (outcome == OUTCOME_OK && !remap(address, bytes, PROT_READ | PROT_WRITE, 0)) {
        books->ops->paging->unmap(books, address, bytes);
        outcome = OUTCOME_HOST_OOM;
    }
    return outcome;
}

static void host_unmap(struct device *device, uint64_t address, uint64_t bytes)
{
    struct device *books = books_of(device);
    books->ops->paging->unmap(books, address, bytes);
    if (!remap(address, bytes, PROT_NONE, MAP_NORESERVE))
        madvise(pointer_of(address), bytes, MADV_DONTNEED);
}

static const struct device_paging paging = {
    .granularity = host_granularity,
    .reserve = host_reserve,
    .unreserve = host_unreserve,
    .map = host_map,
    .unmap = host_unmap,
};
const struct device_ops device_host = {
    .name = "host",
    .open = host_open,
    .close = host_close,
    .facts = host_facts,
    .segment_alloc = host_alloc,
    .segment_free = host_free,
    .usage = host_usage,
    .synchronise = host_synchronise,
    .to_host = host_to_host,
    .from_host = host_from_host,
    .paging = &paging,
    .pool = &driver_pool_ops,
};
