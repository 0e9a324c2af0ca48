/* rules: one ordered table of what decides how a run ended (rules.def), used by the rank and by
 * the driver.
 */
#ifndef HIGHWATER_VERDICT_RULES_H
#define HIGHWATER_VERDICT_RULES_H

#include "harness/record/row.h"

enum rule {
#define RULE(name, status, over) RULE_##name,
#include "harness/verdict/rules.def"
#undef RULE
    RULES
};

/* A set of rules is a bit for each. */
#define RULE_IF(name, condition) ((uint64_t)((condition) ? 1 : 0) << RULE_##name)
static inline bool rules_have(uint64_t rules, enum rule rule)
{
    return (rules >> rule & 1) != 0;
}

/* The first of them in the table; RULES: none. */
static inline enum rule rules_first(uint64_t rules)
{
    return rules != 0 ? (enum rule)__builtin_ctzll(rules) : RULES;
}

#define UNDECIDED STATUSES /* in place of a status, while no rule has held */
/* Goes through the rules that hold, in the order of the table, each over what is decided so
 * far. Returns those that decided. */
uint64_t rules_apply(uint64_t holding, int *status) MUST_CHECK;

#endif
