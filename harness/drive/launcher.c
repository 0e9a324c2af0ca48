#include "harness/drive/launcher.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/process.h"
#include "harness/base/capture.h"
#include "harness/protocol/shard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
#define START_NS (30 * SECOND_NS)       /* launch to barrier, beside the settling */
#define SECOND_LINE_NS (60 * SECOND_NS) /* ranks that miss their own deadline are lost */
#define GRACE_NS (4 * SECOND_NS)        /* mpirun: TERM to its ranks after 1 s, KILL after 2 */
#define ORPHANS_NS (3 * SECOND_NS / 2)  /* ranks that lost their launcher end by themselves */
#define SWEEP_NS (2 * SECOND_NS)

/* --- refusals --- */

static bool is_one(const char *variable)
{
    const char *value = getenv(variable);
    return value != NULL && strcmp(value, "1") == 0;
}

/* Open MPI's own two variables are consent too. */
static bool root_consents(bool allow_root)
{
    return geteuid() != 0 || allow_root ||
           (is_one("OMPI_ALLOW_RUN_AS_ROOT") && is_one("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"));
}

static int ask_version(const char *mpirun, struct text *version, struct text *why)
{
    const char *const argv[] = {mpirun, "--version", NULL};
    int code = 0;
    int result = capture_answer(argv, version, &code, why);
    char *first = xstrndup(text_string(version), strcspn(text_string(version), "\n"));
    text_setf(version, "%s", first);
    free(first);
    if (result == 0 && version->length == 0) {
        text_addf(why, "mpirun --version gave no version (exit status %d)", code);
        result = -1;
    } else if (result == 0 && strstr(text_string(version), "Open MPI") == NULL) {
        text_addf(why, "mpirun is \"%s\", not Open MPI", text_string(version));
        result = -1;
    }
    return result;
}

int launcher_open(struct launcher *launcher, bool allow_root, struct text *why)
{
    char *beside = file_beside_me("highwater-rank");
    struct launcher opened = {.allow_root = allow_root,
                              .mpirun = program_find("mpirun"),
                              .rank_program = program_find(beside)};
    int result = -1;
    if (opened.rank_program == NULL)
        text_addf(why, "%s is not there or cannot be started", beside);
    else if (opened.mpirun == NULL)
        text_add(why, "mpirun is not found: install Open MPI");
    else if (!root_consents(allow_root))
        text_add(why, "mpirun does not run as root without consent: set [launch] allow_root = "
                      "yes (sweep: --set launch.allow_root=yes, measure: --allow-root), or "
                      "run as a user");
    else
        result = ask_version(opened.mpirun, &opened.version, why);
    free(beside);
    if (result != 0)
        launcher_close(&opened);
    else
        *launcher = opened;
    return result;
}

void launcher_close(struct launcher *launcher)
{
    free(launcher->mpirun);
    free(launcher->rank_program);
    text_release(&launcher->version);
    *launcher = (struct launcher){.rank_program = NULL};
}

/* --- the command line --- */

/* A topology that is told need not be discovered, and an empty folder holds no plugins: both
 * open displays and GPU drivers, are most of mpirun's time, and would map a driver into our
 * rank. Nothing is bound, so nothing depends on the topology. */
static void add_environment(const struct launcher *launcher, const char *live_folder,
                            struct words *environment)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    words_addf(environment, "HWLOC_SYNTHETIC=pack:1 core:%ld pu:1", cpus > 0 ? cpus : 1);
    words_addf(environment, "HWLOC_PLUGINS_PATH=%s", live_folder);
    words_add(environment, "PMIX_MCA_gds=hash");
    words_add(environment, "OMPI_MCA_opal_cuda_support=0");
    if (geteuid() == 0 && launcher->allow_root) {
        words_add(environment, "OMPI_ALLOW_RUN_AS_ROOT=1");
        words_add(environment, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    }
}

/* Unless the caller's environment has chosen. */
static void add_parameter(struct words *words, const char *name, const char *value)
{
    char *variable = xasprintf("OMPI_MCA_%s", name);
    bool chosen = getenv(variable) != NULL;
    free(variable);
    if (chosen)
        return;
    words_add(words, "--mca");
    words_add(words, name);
    words_add(words, value);
}

void launcher_command(const struct launcher *launcher, const struct launch *launch,
                      struct words *environment, struct words *words)
{
    add_environment(launcher, launch->live_folder, environment);
    words_add(words, launcher->mpirun);
    words_add(words, "--noprefix"); /* a path as first word would change PATH of its ranks */
    words_add(words, "--oversubscribe");
    words_add(words, "--bind-to");
    words_add(words, "none");
    add_parameter(words, "plm", "isolated");
    add_parameter(words, "pml", "ob1"); /* MPI carries barriers only; fabrics cost 200 ms */
    add_parameter(words, "btl", "self,vader");
    add_parameter(words, "coll", "basic,libnbc,self");
    add_parameter(words, "btl_vader_backing_directory", launch->live_folder);
    add_parameter(words, "btl_vader_single_copy_mechanism", "none");
    add_parameter(words, "orte_tmpdir_base", launch->live_folder);
    add_parameter(words, "odls_base_sigkill_timeout", "1");
    words_add(words, "-n");
    words_addf(words, "%llu", (unsigned long long)launch->ranks);
    words_add(words, launcher->rank_program);
    words_append(words, launch->rank_words);
}

/* --- one run --- */

/* Not synced: it is of use while the machine is up. */
static int write_plain(const char *path, const struct text *bytes, struct text *why)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int result = fd < 0 ? -1 : file_write_all(fd, bytes->data, bytes->length, path, why);
    if (fd >= 0 && close(fd) == 0)
        return result;
    return text_fail(why, "%s: %s", path, strerror(errno));
}

int launcher_write_command(const struct launcher *launcher, const struct launch *launch,
                           struct text *why)
{
    struct words environment = WORDS_INIT, words = WORDS_INIT;
    struct text line = TEXT_INIT, folder = TEXT_INIT;
    char *path = xasprintf("%s/command", launch->run_folder);
    launcher_command(launcher, launch, &environment, &words);
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

char *launcher_output_path(const char *run_folder)
{
    return xasprintf("%s/launcher", run_folder);
}

struct running {
    const struct launch *launch;
    const struct watch *watch;
    pid_t pid;
    int pidfd;
};

static bool all_began(const struct launch *launch)
{
    bool all = true;
    for (uint64_t rank = 0; all && rank < launch->ranks; rank++) {
        struct shard shard;
        char *path = shard_path(launch->run_folder, rank);
        all =
            shard_read(path, &shard, NULL) == 0; /* unreadable: not begun, as far as we know */
        if (all) {
            all = shard.begun;
            shard_release(&shard);
        }
        free(path);
    }
    return all;
}

/* Until it ends, a signal tells us to stop, or a deadline of ours passes. */
static void wait_for_end(const struct running *running, struct launch_end *end)
{
    const struct launch *launch = running->launch;
    uint64_t deadline = clock_monotonic_ns() + launch->settle_ns + START_NS;
    bool begun = false;
    for (;;) {
        uint64_t now = clock_monotonic_ns();
        uint64_t until = begun || deadline < now + SECOND_NS ? deadline : now + SECOND_NS;
        enum watch_event event =
            watch_wait(running->watch, running->pid, running->pidfd, until, &end->signal);
        if (event == WATCH_ENDED)
            return;
        if (event == WATCH_SIGNAL) {
            end->interrupted = true;
            return;
        }
        if (!begun && all_began(launch)) {
            begun = true;
            deadline = clock_monotonic_ns() + launch->timeout_ns + SECOND_LINE_NS;
        } else if (clock_monotonic_ns() >= deadline) {
            end->late = true;
            return;
        }
    }
}

/* One SIGTERM, never two: a second one makes mpirun leave its ranks to themselves. A second
 * signal to us ends the patience. */
static void ask_to_end(const struct running *running)
{
    int signal = 0;
    kill(running->pid, SIGTERM);
    (void)watch_wait(running->watch, running->pid, running->pidfd,
                     clock_monotonic_ns() + GRACE_NS, &signal);
}

/* Ranks whose launcher died are ours now; they end their children and say what they know. */
static void wait_for_orphans(void)
{
    uint64_t deadline = clock_monotonic_ns() + ORPHANS_NS;
    while (waitpid(-1, NULL, WNOHANG) >= 0 && clock_monotonic_ns() < deadline)
        clock_sleep_ns(5000000);
}

static void finish(const struct running *running, struct launch_end *end)
{
    uint64_t deadline = clock_monotonic_ns() + SWEEP_NS;
    if (end->interrupted || end->late)
        ask_to_end(running);
    bool ended = process_wait(running->pid, running->pidfd, 0, &end->status) == 1;
    if (!ended) {
        kill(-running->pid, SIGKILL);
        kill(running->pid, SIGKILL);
        while (process_wait(running->pid, running->pidfd, deadline + GRACE_NS, &end->status) <
               0)
            ;
    }
    if (running->pidfd >= 0)
        close(running->pidfd);
    if (WIFSIGNALED(end->status))
        wait_for_orphans();
    end->left_over = process_sweep(0, clock_monotonic_ns() + SWEEP_NS);
}

int launcher_run(const struct launcher *launcher, const struct launch *launch,
                 const struct watch *watch, struct launch_end *end, struct text *why)
{
    struct words environment = WORDS_INIT, words = WORDS_INIT;
    static const char *const others[] = {"HWLOC_", NULL}; /* the caller's would win */
    struct running running = {.launch = launch, .watch = watch};
    char *output = launcher_output_path(launch->run_folder);
    launcher_command(launcher, launch, &environment, &words);
    const struct process_plan plan = {.argv = (const char *const *)words.word,
                                      .environment = (const char *const *)environment.word,
                                      .drop_prefixes = others,
                                      .output_path = output,
                                      .error_path = output,
                                      .death_signal = SIGTERM,
                                      .no_core = true};
    *end = (struct launch_end){.started = false};
    int started = process_start(&plan, &running.pid, &running.pidfd, why);
    if (started == 0) {
        end->started = true;
        wait_for_end(&running, end);
        finish(&running, end);
    }
    words_release(&environment);
    words_release(&words);
    free(output);
    return started == PROCESS_STARVED ? -1 : 0;
}
