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

static void give_back(struct address_policy *policy, uint64_t address, uint64_t bytes)
{
    (void)policy;
    (void)address;
    (void)bytes;
}

static enum outcome reserve(struct address_policy *policy, uint64_t bytes, uint64_t *address)
{
    struct ascending *ascending = (struct ascending *)policy;
    *address = ascending->next_range;
    ascending->next_range = round_up(ascending->next_range + bytes, RANGE_UNIT);
    return OUTCOME_OK;
}

static enum outcome map(struct address_policy *policy, uint64_t address, uint64_t bytes)
{
    (void)policy;
    (void)address;
    (void)bytes;
    return OUTCOME_OK;
}

void ascending_init(struct ascending *ascending)
{
    *ascending = (struct ascending){
        .policy = {.place = place, .give_back = give_back, .reserve = reserve, .map = map},
        .next = (uint64_t)1 << 46,
        .next_range = (uint64_t)1 << 40,
    };
}
