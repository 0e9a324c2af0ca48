/* pairing: which item of one take is which item of another, by the order of requests.
 *
 * The same program asks in the same order; sizes follow the values, and some dozens of requests
 * (library workspaces) may come or go. Two items match strongly when the sizes are equal or in
 * the ratio of the values or of their squares, weakly when only their kind and the short life
 * of their blocks agree. Where the takes have the same phases, phases pair with phases.
 */
#ifndef HIGHWATER_FORECAST_PAIRING_H
#define HIGHWATER_FORECAST_PAIRING_H

#include "harness/forecast/take.h"

#define PAIRING_NONE UINT32_MAX

struct pairing {
    uint32_t *of_base;  /* per item of the base: the other's, or PAIRING_NONE; rising */
    uint32_t *of_other; /* the same the other way */
    uint32_t strong, weak;
};
void pairing_find(const struct take *base, const struct take *other, struct pairing *pairing);
void pairing_release(struct pairing *pairing);

/* Have both the same phases in the same order? */
bool take_same_phases(const struct take *a, const struct take *b);
/* "step_12" and 12: the length of the name without its last digits. Without any: false. */
bool take_numbered(const char *name, size_t *prefix, uint64_t *number);

#endif
