/* What a driver does with the files of a run without launching it. */
#include "harness/launch/driver.h"

#include "harness/base/file.h"
#include "harness/launch/shard.h"

#include <stdlib.h>

static int all_whole(const char *run_folder, uint64_t ranks, bool *whole, struct text *why)
{
    *whole = true;
    for (uint64_t rank = 0; *whole && rank < ranks; rank++) {
        struct shard shard;
        char *path = shard_path(run_folder, rank);
        int result = file_exists(path) ? shard_read(path, &shard, why) : 1;
        free(path);
        if (result < 0)
            return -1;
        *whole = result == 0 && shard.complete &&
                 row_status(&shard.rows[shard.count - 1]) != STATUS_stopped;
        if (result == 0)
            shard_release(&shard);
    }
    return 0;
}

int driver_import(struct driver *driver, const struct plan_run *run, uint64_t order,
                  const char *run_folder, struct run_rows *rows, struct text *why)
{
    const struct launch_end end = {.started = true};
    const struct placement placement = placement_of_run(&driver->placement, run->place);
    const struct run_facts facts = {.study = driver->study,
                                    .run = run,
                                    .placement = &placement,
                                    .order = order,
                                    .run_folder = run_folder,
                                    .live_folder = run_folder,
                                    .end = &end};
    bool whole = false;
    if (all_whole(run_folder, placement.ranks, &whole, why) != 0)
        return -1;
    if (!whole)
        return 0;
    return complete_run(&facts, rows, why) == 0 ? 1 : -1;
}

int driver_skip(struct driver *driver, const struct plan_run *run, const char *reason,
                struct run_rows *rows, struct text *why)
{
    const struct launch_end end = {.started = false};
    const struct placement placement = placement_of_run(&driver->placement, run->place);
    const struct run_facts facts = {.study = driver->study,
                                    .run = run,
                                    .placement = &placement,
                                    .run_folder = "",
                                    .live_folder = "",
                                    .end = &end,
                                    .skipped = reason};
    return complete_run(&facts, rows, why);
}

void driver_drop_traces(const struct driver *driver, const char *run_folder)
{
    for (uint64_t rank = 0; rank < driver->placement.ranks; rank++)
        shard_drop_trace(run_folder, rank);
}
