/* skip: after_oom = skip-larger. Depends on nothing but the runs in the table, so that a
 * resumed study skips what the uninterrupted one does.
 */
#ifndef HIGHWATER_PLAN_SKIP_H
#define HIGHWATER_PLAN_SKIP_H

#include "harness/record/runs.h"
#include "harness/plan/plan.h"

struct skip {
    struct reading limit[DIMENSIONS]; /* smallest value at which every run ran out of memory */
};
/* To be asked for each run of a plan in listed order, of runs that are made already too: is it
 * above the limit of its sweep? *limit says which value that is. */
bool skip_says(struct skip *skip, const struct plan *plan, size_t index,
               const struct run_set *done, uint64_t *limit);

#endif
