/* predict: what a run will need, computed by the workload's own code on a simulated device. */
#ifndef HIGHWATER_PLAN_PREDICT_H
#define HIGHWATER_PLAN_PREDICT_H

#include "harness/nvml/seat.h"
#include "harness/study/study.h"

/* The phases of a run with their predicted counters (rows as a child would report them: phase,
 * pass, repeat, status, counters), under PHASES_SPLIT or PHASES_WHOLE. A phase that would not
 * fit has status oom, the request that was refused and what was free; the following ones are
 * not_reached and have no counters. Of the seat capacity, overhead and limit count. */
struct prediction {
    struct row *rows;
    size_t count;
    bool fits;
    struct text failed_phase; /* "" when it fits */
};
int plan_predict(const struct study *study, const struct point *point, int phases,
                 const struct seat *seat, struct prediction *prediction,
                 struct text *why) MUST_CHECK;
void prediction_release(struct prediction *prediction);

/* The largest value of a boundary that is predicted to fit, or its first when none is; missing
 * when the capacity is. Larger points are taken not to fit where smaller ones do not. */
int plan_guess_boundary(const struct study *study, const struct study_boundary *boundary,
                        const struct seat *seat, struct reading *guess,
                        struct text *why) MUST_CHECK;

#endif
