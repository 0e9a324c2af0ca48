#include "harness/drive/driver.h"
#include "harness/base/clock.h"
#include "harness/base/process.h"
#include "harness/drive/childline.h"
#include "harness/protocol/rank_setting.h"
#include "harness/protocol/shard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SAMPLE_NS 100000000u /* between two readings of a card */

#ifndef HIGHWATER_TEST_HOOKS
static bool stand_in_is_asked_for(void)
{
    return false;
}

static int stand_in(const struct run_facts *facts, struct text *why)
{
    (void)facts, (void)why;
    return -1;
}
#endif

enum admission driver_check(struct driver *driver, const struct study *study, bool measure,
                            struct text *why)
{
    struct driver checked = {.study = study};
    enum admission admission = admission_open(&checked.placement, study, measure, why);
    if (admission != ADMISSION_OK)
        return admission;
    if (!stand_in_is_asked_for() &&
        launcher_open(&checked.launcher, study->allow_root, why) != 0) {
        placement_close(&checked.placement);
        return ADMISSION_REFUSED;
    }
    *driver = checked;
    return ADMISSION_OK;
}

int driver_open(struct driver *driver, const char *fallback, struct text *why)
{
    if (rundir_open(&driver->rundir, fallback, why) != 0)
        return -1;
    process_become_reaper();
    driver->watching = watch_open(&driver->watch, why) == 0;
    return driver->watching ? 0 : -1;
}

void driver_close(struct driver *driver)
{
    if (driver->rundir.path != NULL)
        may_fail(rundir_close(&driver->rundir, NULL)); /* the next driver removes leftovers */
    if (driver->watching)
        watch_close(&driver->watch);
    launcher_close(&driver->launcher);
    placement_close(&driver->placement);
}

/* A fault names the device of a rank: alone, that rank is a run of its own. */
static char *fault_of_run(const struct study *study, const struct plan_run *run)
{
    const char *fault = study->fault != NULL ? study->fault : "";
    char *own = run->place > 0 ? rank_fault(fault, run->place - 1) : xstrdup(fault);
    return own != NULL ? own : xstrdup("");
}

static void add_rank_words(const struct driver *driver, const struct run_facts *facts,
                           struct words *words)
{
    const struct study *study = driver->study;
    struct rank_setting setting = {.timeout = study->timeout_ns,
                                   .settle = study->settle_ns,
                                   .sample = SAMPLE_NS,
                                   .run_folder = xstrdup(facts->run_folder),
                                   .live_folder = xstrdup(facts->live_folder),
                                   .fault = fault_of_run(study, facts->run),
                                   .trace = study->trace != TRACE_NEVER,
                                   .stops_others = study->on_rank_failure == RANK_FAILURE_STOP,
                                   .speaks_phases = true,
                                   .ranks = facts->placement->ranks};
    size_t bytes = (size_t)setting.ranks * sizeof *setting.seats;
    setting.seats = memcpy(xcalloc(1, bytes), facts->placement->seats, bytes);
    rank_setting_add_words(&setting, words);
    words_add(words, "--");
    childline_add(words, study, facts->run);
    rank_setting_release(&setting);
}

static int launch_it(const struct driver *driver, const struct launch *launch,
                     const struct run_facts *facts, struct launch_end *end, struct text *reason,
                     struct text *why)
{
    if (stand_in_is_asked_for()) {
        *end = (struct launch_end){.started = true};
        return stand_in(facts, why);
    }
    if (launcher_write_command(&driver->launcher, launch, why) != 0)
        return -1;
    if (launcher_run(&driver->launcher, launch, &driver->watch, end, reason) == 0)
        return 0;
    return text_fail(why, "%s was not started: %s", facts->run->name, text_string(reason));
}

static enum run_outcome launch_and_collect(struct driver *driver, const struct launch *launch,
                                            struct run_facts *facts, struct run_rows *rows,
                                            int *signal, struct text *why)
{
    struct launch_end end;
    struct text reason = TEXT_INIT;
    enum run_outcome outcome = RUN_DONE;
    facts->started_ns = clock_realtime_ns();
    int launched = launch_it(driver, launch, facts, &end, &reason, why);
    facts->end = &end;
    facts->reason = text_string(&reason);
    if (launched != 0) {
        outcome = RUN_FAILED;
    } else if (end.interrupted) {
        *signal = end.signal;
        outcome = RUN_INTERRUPTED;
    } else if (collect_run(facts, rows, why) != 0) {
        outcome = RUN_FAILED;
    }
    text_release(&reason);
    return outcome;
}

enum run_outcome driver_run(struct driver *driver, const struct plan_run *run, uint64_t order,
                            const char *run_folder, struct run_rows *rows, int *signal,
                            struct text *why)
{
    char *live = rundir_for_run(&driver->rundir, order, why);
    if (live == NULL)
        return RUN_FAILED;
    struct words words = WORDS_INIT;
    const char *shards = run_folder != NULL ? run_folder : live;
    const struct placement placement = placement_of_run(&driver->placement, run->place);
    struct run_facts facts = {.study = driver->study,
                              .run = run,
                              .placement = &placement,
                              .order = order,
                              .run_folder = shards,
                              .live_folder = live};
    add_rank_words(driver, &facts, &words);
    const struct launch launch = {.ranks = placement.ranks,
                                  .run_folder = shards,
                                  .live_folder = live,
                                  .rank_words = &words,
                                  .timeout_ns = driver->study->timeout_ns,
                                  .settle_ns = driver->study->settle_ns};
    enum run_outcome outcome = launch_and_collect(driver, &launch, &facts, rows, signal, why);
    rundir_end_run(live);
    words_release(&words);
    return outcome;
}

/* --- what is made of a run without launching it --- */

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
    if (collect_run(&facts, &made, why) != 0)
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
    return collect_run(&facts, rows, why);
}

void driver_drop_traces(const struct driver *driver, const char *run_folder)
{
    for (uint64_t rank = 0; rank < driver->placement.ranks; rank++)
        shard_drop_trace(run_folder, rank);
}
