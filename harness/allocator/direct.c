/* direct: every request goes to the device as it is. No pool, so there is nothing reserved: the
 * number is missing, not equal to allocated. */
#include "harness/allocator/check.h"
#include "harness/allocator/ops.h"

struct direct {
    struct allocator base;
    struct reading limit;
};

static int direct_open(struct allocator *allocator, const struct allocator_setting *setting,
                       struct text *why)
{
    (void)why;
    ((struct direct *)allocator)->limit = setting->limit;
    return 0;
}

static enum outcome direct_alloc(struct allocator *allocator, uint64_t bytes, uint64_t stream,
                                 struct piece **piece, struct refusal *refusal)
{
    (void)stream; /* the device itself knows none */
    struct direct *direct = (struct direct *)allocator;
    struct allocator_statistics *s = &allocator->statistics;
    struct device *device = allocator->device;
    const uint64_t held = s->all.allocated.current;
    if (direct->limit.known && held + bytes > direct->limit.value) {
        refusal_by_limit(refusal, bytes, direct->limit.value, held);
        s->ooms++;
        return OUTCOME_OOM;
    }
    uint64_t address;
    const enum outcome outcome = device->ops->segment_alloc(device, bytes, &address);
    if (outcome != OUTCOME_OK) {
        refusal_by_device(refusal, device, outcome, bytes);
        s->ooms += outcome == OUTCOME_OOM;
        return outcome;
    }
    s->device_allocs++;
    statistic_add(&s->all.segments, 1);
    statistics_hand_out(&s->all, bytes, bytes);
    allocator_tell(allocator, SEGMENT_ALLOC, bytes, 0, address);
    *piece = piece_of_device(allocator, address, bytes);
    return OUTCOME_OK;
}

static void direct_free(struct allocator *allocator, struct piece *piece)
{
    struct allocator_statistics *s = &allocator->statistics;
    allocator->device->ops->segment_free(allocator->device, piece->address, piece->size);
    s->device_frees++;
    statistic_sub(&s->all.segments, 1);
    statistics_take_back(&s->all, piece->size, piece->requested);
    allocator_tell(allocator, SEGMENT_FREE, piece->size, 0, piece->address);
    piece_drop(&allocator->store, piece);
}

const struct allocator_ops allocator_direct = {
    .counter_source = "highwater.direct",
    .size = sizeof(struct direct),
    .open = direct_open,
    .alloc = direct_alloc,
    .free = direct_free,
    .check = check_plain,
};
