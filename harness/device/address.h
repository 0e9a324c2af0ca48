/* address: where a simulated device puts segments. Absolute values mean nothing; only their
 * order does, and only to an allocator that breaks ties by address.
 */
#ifndef HIGHWATER_DEVICE_ADDRESS_H
#define HIGHWATER_DEVICE_ADDRESS_H

#include "harness/device/device.h"

/* A policy embeds this first. Capacity is the device's business; a policy refuses (OUTCOME_OOM)
 * only what a recording says was refused. */
struct address_policy {
    bool refuses; /* everything: a refusal is being replayed */
    enum outcome (*place)(struct address_policy *policy, uint64_t bytes, uint64_t *address);
    /* NULL: an address is never used again. */
    void (*give_back)(struct address_policy *policy, uint64_t address, uint64_t bytes);
    /* Ranges for expandable segments; `map` is asked page by page. NULL: never refused. */
    enum outcome (*reserve)(struct address_policy *policy, uint64_t bytes, uint64_t *address);
    enum outcome (*map)(struct address_policy *policy, uint64_t address, uint64_t bytes);
};

/* Segments at ever higher addresses, none used twice. */
struct ascending {
    struct address_policy policy;
    uint64_t next, next_range;
};
void ascending_init(struct ascending *ascending);

#endif
