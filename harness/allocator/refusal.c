#include "harness/allocator/refusal.h"

#include <stdio.h>

void refusal_by_device(struct refusal *refusal, struct device *device, enum outcome outcome,
                       uint64_t bytes)
{
    uint64_t free_bytes, total_bytes;
    const bool host = outcome == OUTCOME_HOST_OOM;
    *refusal = (struct refusal){.bytes = bytes};
    snprintf(refusal->by, sizeof(refusal->by), "%s", host ? "host" : "device");
    if (!host && device->ops->usage(device, &free_bytes, &total_bytes) == 0)
        refusal->free = reading_of(free_bytes);
}

void refusal_by_limit(struct refusal *refusal, uint64_t bytes, uint64_t limit, uint64_t held)
{
    *refusal = (struct refusal){
        .by = "limit", .bytes = bytes, .free = reading_of(limit > held ? limit - held : 0)};
}
