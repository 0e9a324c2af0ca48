/* complete: the rows of one run, whatever became of it: what the ranks said, what the driver
 * knows of those that said nothing, the plan's predictions beside it, phases not reached.
 */
#ifndef HIGHWATER_DRIVE_COMPLETE_H
#define HIGHWATER_DRIVE_COMPLETE_H

#include "harness/drive/launcher.h"
#include "harness/plan/placement.h"
#include "harness/plan/plan.h"

struct run_facts {
    const struct study *study;
    const struct plan_run *run;
    const struct placement *placement;
    uint64_t order;      /* of this launch, from 1; 0: it was not launched */
    uint64_t started_ns; /* realtime; 0: unknown */
    const char *skipped; /* why there was no launch; NULL: there was */
    const char *run_folder, *live_folder;
    const struct launch_end *end;
    const char *reason; /* why the launcher could not be started; "" otherwise */
};
struct run_rows {
    struct row *rows; /* rank by rank in plan order, each with its closing row last */
    size_t count;
    size_t worst; /* index of the closing row that says most about the run */
    bool ok;      /* every rank ended as asked */
    bool device_lost;
    bool launched; /* at least one rank ran its child */
};
/* -1: a shard cannot be read, or the point cannot be predicted. */
int complete_run(const struct run_facts *facts, struct run_rows *rows,
                 struct text *why) MUST_CHECK;
/* The files of the study changed meanwhile: nothing predicted or estimated stands beside what
 * was seen, and it proves nothing of those that the study began with. */
void run_rows_disown(struct run_rows *rows, const char *reason);
void run_rows_release(struct run_rows *rows);

#endif
