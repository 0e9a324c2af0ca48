#include "harness/device/address.h"
#include "harness/base/units.h"

#define RANGE_UNIT ((uint64_t)32 << 20)

static enum outcome place(struct address_policy *policy, uint64_t bytes, uint64_t *address)
{
    struct ascending *ascending = (struct ascending *)policy;
    *address = ascending->next;
    ascending->next += bytes;
    return OUTCOME_OK;
}

static enum outcome reserve(struct address_policy *policy, uint64_t bytes, uint64_t *address)
{
    struct ascending *ascending = (struct ascending *)policy;
    *address = ascending->next_range;
    ascending->next_range = round_up(ascending->next_range + bytes, RANGE_UNIT);
    return OUTCOME_OK;
}

void ascending_init(struct ascending *ascending)
{
    *ascending = (struct ascending){
        .policy = {.place = place, .reserve = reserve},
        .next = (uint64_t)1 << 46,
        .next_range = (uint64_t)1 << 40,
    };
}
