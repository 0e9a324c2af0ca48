/* collect: reads what a run left behind (the ranks' shards, a lost child's phase file, the
 * launcher's words) and has its rows made of that.
 */
#ifndef HIGHWATER_DRIVE_COLLECT_H
#define HIGHWATER_DRIVE_COLLECT_H

#include "harness/plan/placement.h"
#include "harness/verdict/run_rows.h"

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
/* -1: a shard cannot be read, or a rank could not write its own. */
int collect_run(const struct run_facts *facts, struct run_rows *rows,
                struct text *why) MUST_CHECK;

#endif
