/* What a driver does with the files of a run without launching it. */
#include "harness/drive/driver.h"

#include "harness/protocol/shard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Of this run, this rank and its card, in every cell. The rows are changed. */
static bool is_of(struct shard *shard, const struct run_facts *facts, uint64_t rank)
{
    struct row ours = ROW_INIT;
    struct text otherwise = TEXT_INIT;
    bool same = row_count(&shard->rows[shard->count - 1], COLUMN_rank).known;
    const struct seat *seat = &facts->placement->seats[rank];
    const char *uuid = row_text(&shard->rows[shard->count - 1], COLUMN_device_uuid);
    if (seat_has_card(seat) && (uuid == NULL || strcmp(uuid, seat->card.uuid) != 0))
        same = false; /* of a card that is not this study's any more */
    plan_describe_study(facts->study, &ours);
    row_set_count(&ours, COLUMN_rank, rank);
    for (size_t i = 0; i < shard->count; i++)
        plan_correct(&ours, facts->run, &shard->rows[i], &otherwise);
    same = same && otherwise.length == 0;
    row_release(&ours);
    text_release(&otherwise);
    return same;
}

static bool is_to_be_made_again(const struct row *closing, uint32_t retry)
{
    return ((retry | 1u << STATUS_stopped) >> row_status(closing) & 1u) != 0;
}

/* What became a pipe or a folder is no shard, and its run is made again; one that cannot be
 * read may be whole, and stops the study. */
static int all_whole(const struct run_facts *facts, uint32_t retry, bool *whole,
                     struct text *why)
{
    *whole = true;
    for (uint64_t rank = 0; *whole && rank < facts->placement->ranks; rank++) {
        struct shard shard;
        struct stat about;
        char *path = shard_path(facts->run_folder, rank);
        bool there = stat(path, &about) == 0 && S_ISREG(about.st_mode);
        int result = there ? shard_read(path, &shard, why) : 1;
        free(path);
        if (result < 0)
            return -1;
        *whole = result == 0 && shard.complete && is_of(&shard, facts, rank) &&
                 !is_to_be_made_again(&shard.rows[shard.count - 1], retry);
        if (result == 0)
            shard_release(&shard);
    }
    return 0;
}

int driver_import(struct driver *driver, const struct plan_run *run, uint64_t order,
                  uint32_t retry, const char *run_folder, struct run_rows *rows,
                  struct text *why)
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
    if (all_whole(&facts, retry, &whole, why) != 0)
        return -1;
    if (!whole)
        return 0;
    struct run_rows made = {.rows = NULL};
    if (complete_run(&facts, &made, why) != 0)
        return -1;
    for (size_t i = 0; whole && i < made.count; i++) /* judged beside the plan */
        whole = !row_is_closing(&made.rows[i]) || !is_to_be_made_again(&made.rows[i], retry);
    if (whole)
        *rows = made;
    else
        run_rows_release(&made);
    return whole ? 1 : 0;
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
