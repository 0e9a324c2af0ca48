#include "harness/drive/driver.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/process.h"
#include "harness/drive/childline.h"
#include "harness/drive/stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLE_NS 100000000u /* between two readings of a card */

/* Test builds only: nothing is launched, ranks are stood in for. */
static bool stands_in(void)
{
#ifdef HIGHWATER_TEST_HOOKS
    return getenv(STAND_IN_VARIABLE) != NULL;
#else
    return false;
#endif
}

enum placement_outcome driver_check(struct driver *driver, const struct study *study,
                                    bool measure, struct text *why)
{
    struct driver checked = {.study = study};
    enum placement_outcome outcome = placement_open(&checked.placement, study, measure, why);
    if (outcome != PLACEMENT_OK)
        return outcome;
    if (!stands_in() && launcher_open(&checked.launcher, study->allow_root, why) != 0) {
        placement_close(&checked.placement);
        return PLACEMENT_REFUSED;
    }
    *driver = checked;
    return PLACEMENT_OK;
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
    struct text ignored = TEXT_INIT; /* a leftover is removed by the next driver */
    if (driver->rundir.path != NULL && rundir_close(&driver->rundir, &ignored) != 0)
        text_clear(&ignored);
    text_release(&ignored);
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
                                   .backend = study->backend,
                                   .run_folder = xstrdup(facts->run_folder),
                                   .live_folder = xstrdup(facts->live_folder),
                                   .fault = fault_of_run(study, facts->run),
                                   .trace = study->trace != TRACE_NEVER,
                                   .stops_others = study->on_rank_failure == RANK_FAILURE_STOP,
                                   .speaks_phases = true};
    placement_to_setting(facts->placement, study, &setting);
    words_add_options(words, rank_options, &setting);
    words_add(words, "--");
    childline_add(words, study, facts->run);
    rank_setting_release(&setting);
}

/* Not synced: it is of use while the machine is up. */
static int write_plain(const char *path, const struct text *bytes, struct text *why)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int result = fd < 0 ? -1 : file_write_all(fd, bytes->data, bytes->length, path, why);
    if (fd >= 0 && close(fd) == 0)
        return result;
    text_addf(why, "%s: %s", path, strerror(errno));
    return -1;
}

/* The line that repeats this run by hand: its folder in memory may be gone, and is made again
 * and taken away; the one around it belongs to the driver while there is one. */
static int write_command(const struct driver *driver, const struct launch *launch,
                         struct text *why)
{
    struct words environment = WORDS_INIT, words = WORDS_INIT;
    struct text line = TEXT_INIT, folder = TEXT_INIT;
    char *path = xasprintf("%s/command", launch->run_folder);
    launcher_command(&driver->launcher, launch, &environment, &words);
    word_quote(launch->live_folder, &folder);
    text_addf(&line, "(mkdir -p %s && env ", text_string(&folder));
    words_quote(&environment, &line);
    text_add_char(&line, ' ');
    words_quote(&words, &line);
    text_addf(&line,
              "; code=$?; rm -rf %s; rmdir \"$(dirname %s)\" 2> /dev/null; exit $code)\n",
              text_string(&folder), text_string(&folder));
    int result = write_plain(path, &line, why);
    words_release(&environment);
    words_release(&words);
    text_release(&line);
    text_release(&folder);
    free(path);
    return result;
}

static int launch_it(const struct driver *driver, const struct launch *launch,
                     const struct run_facts *facts, struct launch_end *end, struct text *reason,
                     struct text *why)
{
    if (stands_in()) {
        *end = (struct launch_end){.started = true};
        return stand_in(facts, why);
    }
    if (write_command(driver, launch, why) != 0)
        return -1;
    if (launcher_run(&driver->launcher, launch, &driver->watch, end, reason) == 0)
        return 0;
    text_addf(why, "%s was not started: %s", facts->run->name, text_string(reason));
    return -1;
}

static enum run_outcome launch_and_complete(struct driver *driver, const struct launch *launch,
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
    } else if (complete_run(facts, rows, why) != 0) {
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
    enum run_outcome outcome = launch_and_complete(driver, &launch, &facts, rows, signal, why);
    struct text ignored = TEXT_INIT; /* what is left here goes with the whole folder */
    if (folder_remove(live, &ignored) != 0)
        text_clear(&ignored);
    text_release(&ignored);
    words_release(&words);
    free(live);
    return outcome;
}
