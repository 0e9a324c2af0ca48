/* childline: a study's point as the words of highwater-workload's command line. */
#ifndef HIGHWATER_DRIVE_CHILDLINE_H
#define HIGHWATER_DRIVE_CHILDLINE_H

#include "harness/base/argv.h"
#include "harness/plan/plan.h"

/* What all ranks have in common; each rank adds its capacity, its fault and its device's UUID.
 */
void childline_add(struct words *words, const struct study *study, const struct plan_run *run);

#endif
