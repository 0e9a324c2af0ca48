#include "harness/drive/sweep_runs.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/drive/environment.h"
#include "harness/study/until.h"

#include <stdlib.h>
#include <string.h>

/* --- a new folder --- */

static enum sweep_outcome create_folder(struct sweep *sweep, const struct json *environment,
                                        struct text *why)
{
    const struct sweep_request *request = sweep->request;
    struct text bytes = TEXT_INIT;
    json_write(environment, &bytes);
    enum results_outcome made =
        results_create(&sweep->results, request->folder, &request->study->frozen, &bytes, why);
    text_release(&bytes);
    sweep->recording = made == RESULTS_OK;
    if (made == RESULTS_EXISTS && results_in_use(request->folder)) {
        text_clear(why); /* another driver made it in between */
        results_add_user(request->folder, why);
    }
    if (made == RESULTS_OK)
        return SWEEP_DONE;
    return made == RESULTS_FAILED ? SWEEP_FAILED : SWEEP_EXISTS;
}

/* --- one to go on in --- */

struct listening {
    struct sweep *sweep;
    struct text said, why; /* changes of cards; why the rows cannot be gone on with */
};

static void hear_run(void *user, const struct row *closing, size_t ranks)
{
    struct listening *listening = user;
    struct sweep *sweep = listening->sweep;
    const char *role = row_text(&closing[0], COLUMN_role);
    uint32_t statuses = 0;
    if (listening->why.length > 0 ||
        resume_check_rows(&sweep->resume, sweep->request->study, closing, ranks,
                          &listening->why) != 0 ||
        resume_check_devices(&sweep->driver.placement, closing, ranks, &listening->why) != 0)
        return;
    for (size_t i = 0; i < ranks; i++)
        statuses |= 1u << row_status(&closing[i]);
    if (role != NULL && strcmp(role, plan_role_names[ROLE_BOUNDARY]) == 0)
        sweep_count(sweep, statuses);
    /* A run that --retry makes again does not count for its search until then. */
    if ((statuses & sweep->resume.retry & ~(uint32_t)RUNS_MADE_AGAIN) == 0)
        probes_feed(&sweep->probes, closing, ranks, &listening->said);
}

static void count_planned(struct sweep *sweep)
{
    struct plan_run run;
    for (size_t i = 0; i < sweep->plan.count; i++) {
        plan_run_at(&sweep->plan, i, &run);
        const struct run_record *record = run_set_find(&sweep->resume.done, run.name);
        if (record != NULL && (record->statuses & sweep->resume.retry) == 0)
            sweep_count(sweep, record->statuses);
    }
}

static enum sweep_outcome reopen_folder(struct sweep *sweep, const struct json *environment,
                                        struct text *why)
{
    const char *folder = sweep->request->folder;
    struct results_reopened found = {.said = TEXT_INIT};
    struct listening listening = {.sweep = sweep};
    const struct run_listener listener = {.run = hear_run, .user = &listening};
    if (resume_check_machine(folder, environment, why) != 0)
        return SWEEP_FAILED;
    enum results_outcome opened =
        results_reopen(&sweep->results, folder, &listener, &found, why);
    if (opened != RESULTS_OK)
        return opened == RESULTS_IN_USE ? SWEEP_EXISTS : SWEEP_FAILED;
    probes_resume(&sweep->probes);
    sweep->recording = true;
    sweep->resume.done = found.done;
    sweep->cut = found.said;
    sweep->last_order = found.done.last_order;
    count_planned(sweep);
    text_add(why, text_string(&listening.why));
    bool good = listening.why.length == 0;
    text_release(&listening.said);
    text_release(&listening.why);
    return good ? SWEEP_DONE : SWEEP_FAILED;
}

/* Nothing is written before it is known that there is something to do. */
static int say_resumed(struct sweep *sweep, struct text *why)
{
    struct resume *resume = &sweep->resume;
    const struct text *frozen = &sweep->request->study->frozen;
    if (sweep->cut.length > 0 && sweep_tell(sweep, why, "%s", text_string(&sweep->cut)) != 0)
        return -1;
    if (!sweep_has_work(sweep))
        return 0;
    if (resume->changed) {
        char *path = xasprintf("%s/study.ini", sweep->results.folder);
        int result = file_replace(path, text_string(frozen), frozen->length, why);
        free(path);
        if (result != 0 || sweep_tell(sweep, why, "the study has changed, its rows stay: %s",
                                      text_string(&resume->changes)) != 0)
            return -1;
    }
    return sweep_tell(sweep, why, "resumed: %zu runs are there", sweep->progress.done);
}

/* --- from nothing to the last row --- */

/* A search starts where the plan predicts the boundary of each rank's device. */
static int open_probes(struct sweep *sweep, struct text *why)
{
    const struct study *study = sweep->request->study;
    const struct placement *placement = &sweep->driver.placement;
    size_t count = study->boundary_count * placement->ranks;
    struct reading *guesses = xcalloc(count + 1, sizeof *guesses);
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++) {
        uint64_t rank = i % placement->ranks;
        result = plan_guess_boundary(study, &study->boundaries[i / placement->ranks],
                                     &placement->seats[rank], &guesses[i], why);
    }
    if (result == 0)
        probes_open(&sweep->probes, study, placement->ranks, guesses);
    free(guesses);
    return result;
}

static enum sweep_outcome open_folder(struct sweep *sweep, struct text *why)
{
    const struct sweep_request *request = sweep->request;
    const struct json *environment = request->environment;
    struct json *gathered = NULL;
    if (environment == NULL)
        environment = gathered =
            environment_gather(request->command_line, text_string(&sweep->files));
    enum sweep_outcome outcome = request->resume ? reopen_folder(sweep, environment, why)
                                                 : create_folder(sweep, environment, why);
    json_release(gathered);
    if (outcome == SWEEP_DONE && request->resume && say_resumed(sweep, why) != 0)
        return SWEEP_FAILED;
    return outcome;
}

/* What the first run needs is computed before anything is created: a model's file that cannot
 * be read is refused here. */
static int check_first(const struct sweep *sweep, struct text *why)
{
    const struct seat *first = &sweep->driver.placement.seats[0];
    struct prediction prediction;
    struct plan_run run;
    if (sweep->plan.count == 0)
        return 0;
    const struct study *study = sweep->request->study;
    plan_run_at(&sweep->plan, 0, &run);
    if (plan_predict(study, &run.point, run.phases, first, &prediction, why) != 0)
        return -1;
    prediction_release(&prediction);
    return 0;
}

static int say_until(struct sweep *sweep, struct text *why)
{
    const char *until = sweep->request->study->until;
    struct text moment = TEXT_INIT;
    int result = 0;
    if (until[0] != '\0') {
        uint64_t ahead =
            until_is_time_of_day(until) ? 0 : clock_realtime_ns() - sweep_now(sweep);
        until_add_moment(&moment, sweep->until_ns + ahead);
        result = sweep_tell(sweep, why, "until %s: no run is started after %s", until,
                            text_string(&moment));
    }
    text_release(&moment);
    return result;
}

static enum sweep_outcome open_and_run(struct sweep *sweep, struct text *why)
{
    const struct sweep_request *request = sweep->request;
    const char *fallback = request->folder != NULL ? request->folder : ".";
    enum sweep_outcome outcome = SWEEP_FAILED;
    if (study_fingerprint(request->study, &sweep->files, why) != 0 ||
        plan_make(request->study, sweep->driver.placement.ranks, &sweep->plan, why) != 0 ||
        open_probes(sweep, why) != 0 || check_first(sweep, why) != 0)
        return outcome;
    outcome = request->folder != NULL ? open_folder(sweep, why) : SWEEP_DONE;
    if (outcome == SWEEP_DONE && request->resume && !sweep_has_work(sweep)) {
        sweep->progress.total = sweep->progress.done;
        if (request->progress != NULL)
            request->progress(request->user, &sweep->progress);
        if (request->say != NULL)
            request->say(request->user, "nothing to do: every run is there");
    } else if (outcome == SWEEP_DONE) {
        outcome = SWEEP_FAILED;
        if (say_until(sweep, why) == 0 && driver_open(&sweep->driver, fallback, why) == 0)
            outcome = sweep_make_runs(sweep, why);
    }
    if (sweep->recording && results_close(&sweep->results, why) != 0 &&
        (outcome == SWEEP_DONE || outcome == SWEEP_ALL_FAILED))
        outcome = SWEEP_FAILED;
    return outcome;
}

/* What can be refused by a look at the folder alone. */
static enum sweep_outcome look_at_folder(struct sweep *sweep, struct text *why)
{
    const struct sweep_request *request = sweep->request;
    if (request->folder == NULL)
        return SWEEP_DONE;
    if (results_in_use(request->folder)) {
        results_add_user(request->folder, why);
        return SWEEP_EXISTS;
    }
    bool exists = file_exists(request->folder);
    if (exists && !request->resume) {
        text_addf(why,
                  "%s exists already; nothing in it was touched (--resume goes on with it)",
                  request->folder);
        return SWEEP_EXISTS;
    }
    if (!request->resume)
        return SWEEP_DONE;
    if (!exists)
        text_addf(why, "%s is not there: nothing to resume", request->folder);
    if (!exists ||
        resume_open(&sweep->resume, request->folder, request->study, request->retry, why) != 0)
        return SWEEP_FAILED;
    return SWEEP_DONE;
}

static void sweep_close(struct sweep *sweep)
{
    resume_close(&sweep->resume);
    probes_close(&sweep->probes);
    plan_release(&sweep->plan);
    text_release(&sweep->cut);
    text_release(&sweep->files);
}

enum sweep_outcome sweep_run(const struct sweep_request *request, struct text *why)
{
    struct sweep sweep = {.request = request, .began_ns = clock_monotonic_ns()};
    enum sweep_outcome outcome = look_at_folder(&sweep, why);
    if (outcome == SWEEP_DONE &&
        until_moment(request->study->until, sweep_now(&sweep), &sweep.until_ns, why) != 0)
        outcome = SWEEP_FAILED;
    if (outcome == SWEEP_DONE) {
        switch (driver_check(&sweep.driver, request->study, request->folder != NULL, why)) {
        case ADMISSION_OK:
            outcome = open_and_run(&sweep, why);
            driver_close(&sweep.driver);
            break;
        case ADMISSION_NO_DEVICE:
            outcome = SWEEP_NO_DEVICE;
            break;
        case ADMISSION_REFUSED:
            outcome = SWEEP_FAILED;
            break;
        }
    }
    sweep_close(&sweep);
    return outcome;
}
