#include "harness/drive/sweep_runs.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/study/until.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* The files that the study names, against those that it began with; says how they differ: then
 * nothing that is predicted or estimated now belongs to it. */
static bool files_changed(const struct sweep *sweep, struct text *how)
{
    const char *then = text_string(&sweep->files);
    struct text now = TEXT_INIT, why = TEXT_INIT;
    int read = study_fingerprint(sweep->request->study, &now, &why);
    bool changed = read != 0 || strcmp(text_string(&now), then) != 0;
    if (changed)
        text_addf(how, "files changed while the study ran: %s is now %s", then,
                  text_string(read != 0 ? &why : &now));
    text_release(&now);
    text_release(&why);
    return changed;
}

/* --- messages and events --- */

static int note(struct sweep *sweep, struct text *why, const char *what, const char *detail)
{
    if (!sweep->recording)
        return 0;
    return results_event(&sweep->results, why, "%s%s%s", what, *detail != '\0' ? " " : "",
                         detail);
}

/* Notes why the study ends. If that cannot be written any more, the exit code still tells
 * it. */
static void note_end(struct sweep *sweep, const char *what, const struct text *why)
{
    may_fail(note(sweep, NULL, what, text_string(why)));
}

int sweep_tell(struct sweep *sweep, struct text *why, const char *format, ...)
{
    struct text message = TEXT_INIT;
    va_list arguments;
    va_start(arguments, format);
    text_addv(&message, format, arguments);
    va_end(arguments);
    if (sweep->request->say != NULL)
        sweep->request->say(sweep->request->user, text_string(&message));
    int result = note(sweep, why, text_string(&message), "");
    text_release(&message);
    return result;
}

/* Each line of a text is a message. */
static int tell_lines(struct sweep *sweep, const struct text *lines, struct text *why)
{
    int result = 0;
    const char *line;
    size_t at = 0, length;
    while (result == 0 && (line = text_line(lines, &at, &length)) != NULL)
        result = sweep_tell(sweep, why, "%.*s", (int)length, line);
    return result;
}

/* --- what is to be made --- */

enum decision { IS_DONE, IS_SKIPPED, IS_MISSING };

/* A run that was skipped stays skipped as long as every run at a smaller value ran out of
 * memory. */
static enum decision decide(const struct sweep *sweep, struct skip *skip, size_t index,
                            struct plan_run *run, uint64_t *limit)
{
    const struct study *study = sweep->request->study;
    const struct run_set *done = &sweep->resume.done;
    plan_run_at(&sweep->plan, index, run);
    const struct run_record *record = run_set_find(done, run->name);
    bool above = study->after_oom == AFTER_OOM_SKIP_LARGER &&
                 skip_says(skip, &sweep->plan, index, done, limit);
    bool was_skipped = record != NULL && run_counts_as(record->statuses) == COUNTS_AS_SKIPPED;
    if (was_skipped)
        return above ? IS_DONE : IS_MISSING;
    if (resume_is_done(&sweep->resume, run->name))
        return IS_DONE;
    return above ? IS_SKIPPED : IS_MISSING;
}

bool sweep_has_work(struct sweep *sweep)
{
    struct skip skip = {.limit = {{false, 0}}};
    struct plan_run run;
    uint64_t limit = 0;
    for (size_t i = 0; i < sweep->plan.count; i++)
        if (decide(sweep, &skip, i, &run, &limit) != IS_DONE)
            return true;
    return probes_next(&sweep->probes, &sweep->resume.done, &run);
}

void sweep_count(struct sweep *sweep, uint32_t statuses)
{
    sweep->progress.done++;
    enum run_count as = run_counts_as(statuses);
    sweep->progress.fitted += as == COUNTS_AS_FITTED;
    sweep->progress.skipped += as == COUNTS_AS_SKIPPED;
    sweep->progress.failed += as == COUNTS_AS_FAILED;
}

/* --- one run --- */

static void show(struct sweep *sweep, const struct plan_run *run, const struct row *closing)
{
    struct sweep_progress *progress = &sweep->progress;
    progress->run = run;
    progress->closing = closing;
    progress->elapsed_ns = clock_monotonic_ns() - sweep->began_ns;
    progress->total = progress->planned_left + progress->done + probes_left(&sweep->probes);
    if (sweep->request->progress != NULL)
        sweep->request->progress(sweep->request->user, progress);
    progress->run = NULL; /* borrowed for the call */
    progress->closing = NULL;
}

static bool warns(const struct run_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        if (row_is_closing(&rows->rows[i]) && row_text(&rows->rows[i], COLUMN_warning) != NULL)
            return true;
    return false;
}

/* The files of a run that ended well and without a warning of any rank are removed, those that
 * explain a failure or a warning are kept. */
static int tidy(struct sweep *sweep, const struct run_rows *rows, const char *folder,
                struct text *why)
{
    int trace = sweep->request->study->trace;
    bool clean = rows->ok && !warns(rows);
    if (folder != NULL && rows->ok && trace == TRACE_ON_FAILURE)
        driver_drop_traces(&sweep->driver, folder);
    if (folder == NULL || !clean || sweep->request->keep_runs || trace == TRACE_ALWAYS)
        return 0;
    return folder_remove(folder, why);
}

/* Remembers a run that was made: what is skipped, searched for and counted from here on depends
 * on it. */
static int remember(struct sweep *sweep, const struct plan_run *run,
                    const struct run_rows *rows, uint64_t order, struct text *why)
{
    struct row *closing = xcalloc(rows->count, sizeof *closing); /* borrowed cells */
    struct text said = TEXT_INIT;
    uint32_t statuses = 0;
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (row_is_closing(&rows->rows[i])) {
            closing[count++] = rows->rows[i];
            statuses |= 1u << row_status(&rows->rows[i]);
        }
    run_set_put(&sweep->resume.done, run->name, order, statuses);
    probes_feed(&sweep->probes, closing, count, &said);
    sweep_count(sweep, statuses);
    int result = tell_lines(sweep, &said, why);
    text_release(&said);
    free(closing);
    return result;
}

static int record(struct sweep *sweep, const struct plan_run *run, const struct run_rows *rows,
                  uint64_t order, const char *folder, struct text *why)
{
    const struct row *closing = &rows->rows[rows->worst];
    struct text detail = TEXT_INIT;
    if (sweep->request->rows != NULL)
        sweep->request->rows(sweep->request->user, rows->rows, rows->count);
    if (sweep->recording && results_append(&sweep->results, rows->rows, rows->count, why) != 0)
        return -1;
    text_addf(&detail, "%s %s", run->name, row_text(closing, COLUMN_status));
    int result = note(sweep, why, "end", text_string(&detail));
    text_release(&detail);
    if (result != 0 || remember(sweep, run, rows, order, why) != 0 ||
        tidy(sweep, rows, folder, why) != 0)
        return -1;
    show(sweep, run, closing);
    if (sweep->request->stop_on_failure && !rows->ok) {
        text_addf(why, "stopped at the first failure, %s: the rest is left for --resume",
                  run->name);
        sweep->ended_early = true;
        return -1;
    }
    return 0;
}

static enum sweep_outcome from_signal(int signal)
{
    return signal == SIGHUP ? SWEEP_SIGHUP : signal == SIGTERM ? SWEEP_SIGTERM : SWEEP_SIGINT;
}

static int note_signal(struct sweep *sweep, struct text *why, int signal)
{
    const char *name = sigabbrev_np(signal);
    char *by = xasprintf("by signal %d (SIG%s)", signal, name ? name : "?");
    int result = note(sweep, why, "interrupted", by);
    free(by);
    return result;
}

static enum sweep_outcome launch(struct sweep *sweep, const struct plan_run *run,
                                 const char *folder, struct text *why)
{
    struct run_rows rows = {.rows = NULL};
    struct text changed = TEXT_INIT;
    int signal = 0;
    uint64_t order = sweep->last_order + 1;
    enum sweep_outcome outcome = SWEEP_FAILED;
    switch (driver_run(&sweep->driver, run, order, folder, &rows, &signal, why)) {
    case RUN_DONE:
        if (files_changed(sweep, &changed))
            run_rows_disown(&rows, text_string(&changed));
        sweep->last_order = order;
        sweep->progress.made++;
        if (record(sweep, run, &rows, order, folder, why) == 0)
            outcome = rows.device_lost ? SWEEP_DEVICE_LOST : SWEEP_DONE;
        run_rows_release(&rows);
        break;
    case RUN_INTERRUPTED:
        if (note_signal(sweep, why, signal) == 0)
            outcome = from_signal(signal);
        break;
    case RUN_FAILED:
        note_end(sweep, "stopped:", why);
        break;
    }
    text_release(&changed);
    return outcome;
}

static enum sweep_outcome run_one(struct sweep *sweep, const struct plan_run *run,
                                  struct text *why)
{
    if (admission_check(&sweep->driver.placement, why) != 0) {
        note_end(sweep, "device lost:", why);
        return SWEEP_DEVICE_LOST;
    }
    char *folder = NULL;
    enum sweep_outcome outcome = SWEEP_FAILED;
    if (sweep->recording) {
        folder = results_run_folder(&sweep->results, run->name, why);
        if (folder == NULL || note(sweep, why, "begin", run->name) != 0)
            goto done;
    }
    outcome = launch(sweep, run, folder, why);
done:
    free(folder);
    return outcome;
}

/* If an earlier driver died between a run's end and its rows, the shards are all there and the
 * run is not made again. 1: its rows were taken over. */
static int import(struct sweep *sweep, const struct plan_run *run, struct text *why)
{
    struct run_rows rows = {.rows = NULL};
    if (!sweep->request->resume || run_set_find(&sweep->resume.done, run->name) != NULL)
        return 0;
    char *folder = xasprintf("%s/runs/%s", sweep->results.folder, run->name);
    uint64_t order = sweep->last_order + 1;
    int result =
        driver_import(&sweep->driver, run, order, sweep->resume.retry, folder, &rows, why);
    if (result == 1) {
        sweep->last_order = order;
        if (sweep_tell(sweep, why, "taken over: %s had ended, its rows were not written yet",
                       run->name) != 0 ||
            record(sweep, run, &rows, order, folder, why) != 0)
            result = -1;
        run_rows_release(&rows);
    }
    free(folder);
    return result;
}

static enum sweep_outcome skip_one(struct sweep *sweep, const struct plan_run *run,
                                   uint64_t limit, struct text *why)
{
    struct run_rows rows = {.rows = NULL};
    char *reason = xasprintf("every run at %s %llu ran out of memory",
                             dimension_facts[run->dimension].name, (unsigned long long)limit);
    enum sweep_outcome outcome = SWEEP_FAILED;
    if (driver_skip(&sweep->driver, run, reason, &rows, why) == 0) {
        rows.ok = true; /* a skipped run has not failed */
        if (record(sweep, run, &rows, 0, NULL, why) == 0)
            outcome = SWEEP_DONE;
        run_rows_release(&rows);
    }
    free(reason);
    return outcome;
}

/* --- all of them --- */

uint64_t sweep_now(const struct sweep *sweep)
{
    bool time_of_day = until_is_time_of_day(sweep->request->study->until);
    return time_of_day ? clock_realtime_ns() : clock_monotonic_ns();
}

/* A signal that came between two runs. */
static int pending_signal(const struct sweep *sweep)
{
    int signal = 0;
    return watch_wait(&sweep->driver.watch, 0, -1, 0, &signal) == WATCH_SIGNAL ? signal : 0;
}

/* May another run be started? Otherwise *outcome says what the end is. */
static bool goes_on(struct sweep *sweep, enum sweep_outcome *outcome, struct text *why)
{
    int signal = pending_signal(sweep);
    if (*outcome != SWEEP_DONE)
        return false;
    if (signal != 0) {
        *outcome = from_signal(signal);
        return false;
    }
    if (files_changed(sweep, why)) {
        text_add(why, ": no further run is started, the rest is left for --resume");
        note_end(sweep, "stopped:", why);
        *outcome = SWEEP_FAILED;
        return false;
    }
    if (sweep_now(sweep) < sweep->until_ns)
        return true;
    sweep->ended_early = true;
    if (sweep_tell(sweep, why,
                   "until %s: no further run is started, the rest is left for "
                   "--resume",
                   sweep->request->study->until) != 0)
        *outcome = SWEEP_FAILED;
    return false;
}

static enum sweep_outcome make_one(struct sweep *sweep, const struct plan_run *run,
                                   struct text *why)
{
    int imported = import(sweep, run, why);
    if (imported != 0)
        return imported == 1 ? SWEEP_DONE : SWEEP_FAILED;
    return run_one(sweep, run, why);
}

static enum sweep_outcome make_planned(struct sweep *sweep, struct text *why)
{
    enum sweep_outcome outcome = SWEEP_DONE;
    struct plan_run run;
    for (size_t i = 0; outcome == SWEEP_DONE && i < sweep->plan.count; i++) {
        uint64_t limit = 0;
        enum decision decision = decide(sweep, &sweep->skip, i, &run, &limit);
        if (decision == IS_DONE)
            continue;
        if (!goes_on(sweep, &outcome, why))
            break;
        sweep->progress.planned_left--;
        outcome = decision == IS_SKIPPED ? skip_one(sweep, &run, limit, why)
                                         : make_one(sweep, &run, why);
    }
    return outcome;
}

static enum sweep_outcome make_probes(struct sweep *sweep, struct text *why)
{
    enum sweep_outcome outcome = SWEEP_DONE;
    struct plan_run run;
    while (outcome == SWEEP_DONE && probes_next(&sweep->probes, &sweep->resume.done, &run) &&
           goes_on(sweep, &outcome, why))
        outcome = make_one(sweep, &run, why);
    struct text answers = TEXT_INIT;
    if (outcome == SWEEP_DONE && sweep->request->study->boundary_count > 0) {
        probes_add_text(&sweep->probes, &answers);
        if (tell_lines(sweep, &answers, why) != 0)
            outcome = SWEEP_FAILED;
    }
    text_release(&answers);
    return outcome;
}

/* Notes the capacities that the predictions are for: a card may change before the last run. */
static int note_rooms(struct sweep *sweep, struct text *why)
{
    const struct placement *placement = &sweep->driver.placement;
    struct text rooms = TEXT_INIT;
    for (uint64_t rank = 0; rank < placement->ranks; rank++)
        if (placement->seats[rank].capacity.known)
            text_addf(&rooms, "%s%llu bytes on rank %llu", rooms.length > 0 ? ", " : "",
                      (unsigned long long)placement->seats[rank].capacity.value,
                      (unsigned long long)rank);
    text_addf(&rooms, ", %llu of them for context and libraries",
              (unsigned long long)placement->seats[0].overhead);
    int result = note(sweep, why, "predictions are for", text_string(&rooms));
    text_release(&rooms);
    return result;
}

enum sweep_outcome sweep_make_runs(struct sweep *sweep, struct text *why)
{
    struct skip counted = {.limit = {{false, 0}}};
    struct plan_run run;
    uint64_t limit = 0;
    for (size_t i = 0; i < sweep->plan.count; i++)
        sweep->progress.planned_left += decide(sweep, &counted, i, &run, &limit) != IS_DONE;
    show(sweep, NULL, NULL);
    if (note_rooms(sweep, why) != 0)
        return SWEEP_FAILED;
    enum sweep_outcome outcome = make_planned(sweep, why);
    if (outcome == SWEEP_DONE && !sweep->ended_early)
        outcome = make_probes(sweep, why);
    if (outcome != SWEEP_DONE || sweep->ended_early)
        return outcome;
    if (note(sweep, why, "finished", "") != 0)
        return SWEEP_FAILED;
    return sweep->progress.fitted == 0 ? SWEEP_ALL_FAILED : SWEEP_DONE;
}
