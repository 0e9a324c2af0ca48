#include "harness/launch/sweep.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/json.h"
#include "harness/launch/driver.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct sweep {
    const struct sweep_request *request;
    struct plan plan;
    struct driver driver;
    struct results results;
    bool recording; /* there is a results folder */
    struct sweep_progress progress;
    uint64_t began_ns;
    size_t ok;
};

/* --- the folder
 * ------------------------------------------------------------------------------- */

static enum sweep_outcome create_folder(struct sweep *sweep, struct text *why)
{
    const struct sweep_request *request = sweep->request;
    struct text environment = TEXT_INIT;
    struct json *about = environment_gather(request->command_line);
    json_write(about, &environment);
    json_release(about);
    enum results_outcome made = results_create(&sweep->results, request->folder,
                                               &request->study->frozen, &environment, why);
    text_release(&environment);
    sweep->recording = made == RESULTS_OK;
    if (made == RESULTS_OK)
        return SWEEP_DONE;
    return made == RESULTS_FAILED ? SWEEP_FAILED : SWEEP_EXISTS;
}

static int note(struct sweep *sweep, struct text *why, const char *what, const char *detail)
{
    if (!sweep->recording)
        return 0;
    return results_event(&sweep->results, why, "%s%s%s", what, *detail != '\0' ? " " : "",
                         detail);
}

/* --- one run
 * ---------------------------------------------------------------------------------- */

static void show(struct sweep *sweep, const struct plan_run *run, const struct row *closing)
{
    sweep->progress.run = run;
    sweep->progress.closing = closing;
    sweep->progress.elapsed_ns = clock_monotonic_ns() - sweep->began_ns;
    if (sweep->request->progress != NULL)
        sweep->request->progress(sweep->request->user, &sweep->progress);
}

/* What proves nothing any more goes; what explains a failure stays. */
static int tidy(struct sweep *sweep, const struct run_rows *rows, const char *folder,
                struct text *why)
{
    bool spotless = rows->ok && row_text(&rows->rows[rows->worst], COLUMN_warning) == NULL;
    if (folder == NULL || !spotless || sweep->request->keep_runs)
        return 0;
    return folder_remove(folder, why);
}

static int record(struct sweep *sweep, const struct plan_run *run, const struct run_rows *rows,
                  const char *folder, struct text *why)
{
    const struct row *closing = &rows->rows[rows->worst];
    struct text detail = TEXT_INIT;
    if (sweep->request->rows != NULL)
        sweep->request->rows(sweep->request->user, rows->rows, rows->count);
    if (sweep->recording && results_append(&sweep->results, rows->rows, rows->count, why) != 0)
        return -1;
    sweep->ok += rows->ok;
    sweep->progress.done++;
    sweep->progress.fitted += rows->ok;
    sweep->progress.failed += !rows->ok;
    text_addf(&detail, "%s %s", run->name, row_text(closing, COLUMN_status));
    int result = note(sweep, why, "end", text_string(&detail));
    text_release(&detail);
    if (result != 0 || tidy(sweep, rows, folder, why) != 0)
        return -1;
    show(sweep, run, closing);
    return 0;
}

static enum sweep_outcome from_signal(int signal)
{
    return signal == SIGHUP ? SWEEP_SIGHUP : signal == SIGTERM ? SWEEP_SIGTERM : SWEEP_SIGINT;
}

static enum sweep_outcome run_one(struct sweep *sweep, size_t index, struct text *why)
{
    const struct plan_run *run = &sweep->plan.runs[index];
    struct run_rows rows = {.rows = NULL};
    char *folder = NULL;
    int signal = 0;
    enum sweep_outcome outcome = SWEEP_FAILED;
    if (placement_check(&sweep->driver.placement, why) != 0) {
        struct text ignored = TEXT_INIT; /* the exit code says it too */
        if (note(sweep, &ignored, "device lost:", text_string(why)) != 0)
            text_clear(&ignored);
        text_release(&ignored);
        return SWEEP_DEVICE_LOST;
    }
    if (sweep->recording) {
        folder = results_run_folder(&sweep->results, run->name, why);
        if (folder == NULL || note(sweep, why, "begin", run->name) != 0)
            goto done;
    }
    switch (driver_run(&sweep->driver, run, index + 1, folder, &rows, &signal, why)) {
    case RUN_DONE:
        if (record(sweep, run, &rows, folder, why) == 0)
            outcome = rows.device_lost ? SWEEP_DEVICE_LOST : SWEEP_DONE;
        run_rows_release(&rows);
        break;
    case RUN_INTERRUPTED:
        if (note(sweep, why, "interrupted", strsignal(signal)) == 0)
            outcome = from_signal(signal);
        break;
    case RUN_FAILED:
        break;
    }
done:
    free(folder);
    return outcome;
}

/* A signal that came between two runs. */
static int pending_signal(const struct sweep *sweep)
{
    int signal = 0;
    return watch_wait(&sweep->driver.watch, 0, -1, 0, &signal) == WATCH_SIGNAL ? signal : 0;
}

static enum sweep_outcome run_all(struct sweep *sweep, struct text *why)
{
    enum sweep_outcome outcome = SWEEP_DONE;
    show(sweep, NULL, NULL);
    for (size_t i = 0; outcome == SWEEP_DONE && i < sweep->plan.count; i++) {
        int signal = pending_signal(sweep);
        outcome = signal != 0 ? from_signal(signal) : run_one(sweep, i, why);
    }
    if (outcome == SWEEP_DONE && note(sweep, why, "finished", "") != 0)
        outcome = SWEEP_FAILED;
    if (outcome == SWEEP_DONE && sweep->ok == 0)
        outcome = SWEEP_ALL_FAILED;
    return outcome;
}

/* --- from nothing to the last row
 * -------------------------------------------------------------- */

static enum sweep_outcome open_and_run(struct sweep *sweep, struct text *why)
{
    const struct sweep_request *request = sweep->request;
    const char *fallback = request->folder != NULL ? request->folder : ".";
    enum sweep_outcome outcome = SWEEP_DONE;
    if (request->folder != NULL)
        outcome = create_folder(sweep, why);
    if (outcome != SWEEP_DONE)
        return outcome;
    outcome = SWEEP_FAILED;
    if (driver_open(&sweep->driver, fallback, why) == 0)
        outcome = run_all(sweep, why);
    if (sweep->recording)
        results_close(&sweep->results);
    return outcome;
}

enum sweep_outcome sweep_run(const struct sweep_request *request, struct text *why)
{
    struct sweep sweep = {.request = request, .began_ns = clock_monotonic_ns()};
    if (request->folder != NULL && file_exists(request->folder)) {
        text_addf(why, "%s exists already; nothing in it was touched", request->folder);
        return SWEEP_EXISTS;
    }
    if (plan_make(request->study, &sweep.plan, why) != 0)
        return SWEEP_FAILED;
    sweep.progress.total = sweep.plan.count;
    enum sweep_outcome outcome = SWEEP_FAILED;
    switch (driver_check(&sweep.driver, request->study, request->folder != NULL, why)) {
    case PLACEMENT_OK:
        outcome = open_and_run(&sweep, why);
        driver_close(&sweep.driver);
        break;
    case PLACEMENT_NO_DEVICE:
        outcome = SWEEP_NO_DEVICE;
        break;
    case PLACEMENT_REFUSED:
        break;
    }
    plan_release(&sweep.plan);
    return outcome;
}
