/* plan: the ordered list of runs, and what each will need, computed by the workload's own code
 * on a simulated device.
 *
 * Listed order: inputs first (the ordinary load is the first answer wanted), then the sweeps,
 * both as they stand in the file; the trials of a point directly after each other, so that a
 * value is judged before a larger one is started; with placement = alone on one device after
 * the other. Shuffled order: Fisher-Yates over that list
 * with SplitMix64 from `seed`, bounded without bias: the same on any machine.
 */
#ifndef HIGHWATER_PLAN_PLAN_H
#define HIGHWATER_PLAN_PLAN_H

#include "harness/plan/predict.h"

enum plan_role { ROLE_SWEEP, ROLE_BOUNDARY, ROLE_INPUT };
extern const char *const plan_role_names[];

struct plan_run {
    enum plan_role role;
    int dimension;     /* enum dimension, or -1 for an input */
    uint64_t value;    /* of that dimension */
    const char *input; /* borrowed from the study; NULL unless an input */
    struct point point;
    uint64_t trial; /* from 1 */
    int phases;     /* PHASES_SPLIT or PHASES_WHOLE */
    uint64_t place; /* placement = alone: of its device in the list, from 1; else 0, all */
    /* Stable: r-batch-8-t1, r-input-limit-t2, r-boundary-batch-8-t1; alone on the second
     * device: r-batch-8-t1-d2; of a whole run under phases = both: r-batch-8-t1-whole. */
    char name[96];
};
/* Runs are computed when they are asked for: a plan of a million takes no more room than one of
 * ten, save the order of a shuffled one. */
struct plan {
    const struct study *study; /* borrowed */
    uint64_t devices;          /* that each point has a run on: 1 unless alone */
    size_t count;
    uint32_t *shuffled; /* which of the listed runs comes when; NULL: as listed */
};
/* Sweeps and inputs (boundary probes are decided while running). `devices`: how many there are,
 * of interest with placement = alone only. -1: more runs than STUDY_RUNS_LIMIT. */
int plan_make(const struct study *study, uint64_t devices, struct plan *plan,
              struct text *why) MUST_CHECK;
void plan_release(struct plan *plan);
/* The run that is launched at this place of the plan, from 0. */
void plan_run_at(const struct plan *plan, size_t index, struct plan_run *run);
/* One run of a boundary search. */
void plan_probe(const struct study *study, const struct study_boundary *boundary,
                uint64_t value, uint64_t trial, int phases, uint64_t place,
                struct plan_run *run);
/* The run that a row is of, also one that no plan has (a value that was taken out, a probe), by
 * its cells role, dimension and value or input, trial and phases; the name is the one that the
 * study gives it, the row's own may be another. False: they are of no run of the study. */
bool plan_run_told(const struct study *study, const struct row *row,
                   struct plan_run *run) MUST_CHECK;
/* The place of a row's device, from 1; 0: none, a run of all, or one whose name is not what its
 * cells say. */
uint64_t plan_place(const struct row *row);

/* What a run at this point is told, of its device what all ranks have in common; borrows from
 * the study. */
struct setting plan_setting(const struct study *study, const struct point *point, int phases);

/* The cells of group "what", dimensions, settings and identity that are decided before a run:
 * those of all runs of a study, and those of one run, which empties what it does not have. */
void plan_describe_study(const struct study *study, struct row *row);
void plan_describe_run(const struct plan_run *run, struct row *row);
/* Puts what was decided over what a row says: the cells of `ours`, and of the run unless NULL.
 * `otherwise`, while empty, gets the first cell that said something else: "batch is 16, should
 * be 8". An empty cell says nothing. */
void plan_correct(const struct row *ours, const struct plan_run *run, struct row *row,
                  struct text *otherwise);

#endif
