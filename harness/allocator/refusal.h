/* refusal: who refused a request, and what there was. */
#ifndef HIGHWATER_ALLOCATOR_REFUSAL_H
#define HIGHWATER_ALLOCATOR_REFUSAL_H

#include "harness/device/device.h"

/* What the last refusal was about. */
struct refusal {
    char by[8];          /* device, limit, host */
    uint64_t bytes;      /* of the request made to the refuser */
    struct reading free; /* at the refuser at that moment */
};

/* By the device (its free bytes are asked), or by the host when the outcome says so. */
void refusal_by_device(struct refusal *refusal, struct device *device, enum outcome outcome,
                       uint64_t bytes);
void refusal_by_limit(struct refusal *refusal, uint64_t bytes, uint64_t limit, uint64_t held);

#endif
