#include "harness/verdict/rules.h"

#define BIT(status) (UINT32_C(1) << (status))
#define NOTHING BIT(UNDECIDED)
#define OVER(name) BIT(STATUS_##name)
#define ALL_BUT(name) ((BIT(STATUSES) - 1) & ~OVER(name))
#define ALL_BUT_AGAIN ((BIT(STATUSES) - 1) & ~(uint32_t)RUNS_MADE_AGAIN)

static const struct {
    enum status status;
    uint32_t over; /* bits of what it replaces */
} rules[RULES] = {
#define RULE(name, status, over) {STATUS_##status, over},
#include "harness/verdict/rules.def"
#undef RULE
};
_Static_assert(RULES <= 64, "a set of rules is 64 bits");

uint64_t rules_apply(uint64_t holding, int *status)
{
    uint64_t decided = 0;
    for (int i = 0; i < RULES; i++) {
        if (!rules_have(holding, (enum rule)i) || (rules[i].over & BIT(*status)) == 0)
            continue;
        *status = (int)rules[i].status;
        decided |= UINT64_C(1) << i;
    }
    return decided;
}
