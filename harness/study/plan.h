/* plan: the ordered list of runs, and what each will need, computed by the workload's own code on
 * a simulated device.
 */
#ifndef HIGHWATER_STUDY_PLAN_H
#define HIGHWATER_STUDY_PLAN_H

#include "harness/study/study.h"

enum plan_role { ROLE_SWEEP, ROLE_BOUNDARY, ROLE_INPUT };
extern const char *const plan_role_names[];

struct plan_run {
    enum plan_role role;
    int dimension;        /* enum dimension, or -1 for an input */
    uint64_t value;       /* of that dimension */
    const char *input;    /* borrowed from the study; NULL unless an input */
    struct point point;
    uint64_t trial;       /* from 1 */
    char name[80];        /* stable: r-batch-8-t1, r-input-limit-t2 */
};
struct plan {
    struct plan_run *runs; /* in launch order */
    size_t count;
};
/* Sweeps and inputs (boundary probes are decided while running). */
int plan_make(const struct study *study, struct plan *plan, struct text *why) MUST_CHECK;
void plan_release(struct plan *plan);

/* The phases of a run with their predicted counters (rows as a child would report them: phase,
 * pass, repeat, status, counters), on a device of this capacity with this overhead. A phase that
 * would not fit has status oom and the following ones not_reached. */
struct prediction {
    struct row *rows;
    size_t count;
    bool fits;
    struct text failed_phase; /* "" when it fits */
};
int plan_predict(const struct study *study, const struct point *point, struct reading capacity,
                 uint64_t overhead, struct prediction *prediction, struct text *why) MUST_CHECK;
void prediction_release(struct prediction *prediction);

/* Fills the cells of group "what", dimensions, settings and identity that the study and the run
 * decide (not rank, phase, counters or placement). */
void plan_describe(const struct study *study, const struct plan_run *run, struct row *row);

#endif
