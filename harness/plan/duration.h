/* duration: how long a run is assumed to take; what is assumed is said in words beside it. */
#ifndef HIGHWATER_PLAN_DURATION_H
#define HIGHWATER_PLAN_DURATION_H

#include "harness/plan/plan.h"

/* Nanoseconds of a run that is predicted to fit or not, with this allocated peak (missing: not
 * known, and none of it is counted). */
double duration_assumed_ns(const struct study *study, const struct plan_run *run, bool fits,
                           struct reading allocated_peak);
/* The rule behind it. */
const char *duration_rule(const struct study *study);

#endif
