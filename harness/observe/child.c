#include "harness/observe/child.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_WILLING 1000 /* oom_score_adj: the host's OOM killer takes the child first */
#define DEEPEST 64        /* generations followed upwards */

/* What launchers leave in the environment; a child that saw it would take itself for a rank. */
static const char *const launcher_prefixes[] = {"OMPI_",
                                                "PMIX_",
                                                "PMI_",
                                                "OPAL_",
                                                "ORTE_",
                                                "PRTE_",
                                                "HWLOC_",
                                                "HYDRA_",
                                                "HFI_NO_BACKTRACE",
                                                "IPATH_NO_BACKTRACE",
                                                NULL};

int child_start(const struct child_plan *plan, struct child *child, struct text *why)
{
    const struct process_plan process = {
        .argv = plan->argv,
        .environment = plan->environment,
        .drop_prefixes = launcher_prefixes,
        .error_path = plan->error_path,
        .death_signal = SIGKILL,
        .oom_score = MOST_WILLING,
        .no_core = true,
    };
    struct child started = {.started_ns = clock_monotonic_ns()};
    if (process_start(&process, &started.pid, &started.pidfd, why) != 0)
        return -1;
    *child = started;
    return 0;
}

/* What we killed with the child is not left behind: its group is reaped first. An empty group
 * is no group. */
static void reap_group(pid_t group, uint64_t deadline_ns)
{
    for (;;) {
        while (waitpid(-group, NULL, WNOHANG) > 0)
            ;
        if (kill(-group, 0) != 0 || clock_monotonic_ns() >= deadline_ns)
            return;
        clock_sleep_ns(1000000);
    }
}

void child_end(struct child *child, bool kill_it, uint64_t patience_ns, struct child_end *end)
{
    uint64_t deadline = clock_monotonic_ns() + patience_ns;
    if (kill_it) {
        kill(-child->pid, SIGKILL);
        kill(child->pid, SIGKILL);
    }
    int waited;
    while ((waited = process_wait(child->pid, child->pidfd, deadline, &end->status)) < 0)
        ; /* a signal that is not for us, such as SIGCONT */
    end->reaped = waited == 1;
    child->ended_ns = clock_monotonic_ns();
    if (kill_it)
        reap_group(child->pid, deadline);
    end->left_over = process_sweep(0, deadline);
    if (child->pidfd >= 0)
        close(child->pidfd);
    child->pidfd = -1;
}

static pid_t parent_of(pid_t pid)
{
    char *path = xasprintf("/proc/%ld/stat", (long)pid);
    struct text stat = TEXT_INIT;
    pid_t parent = 0;
    if (file_read(path, 4096, &stat, NULL) == 0) {
        /* "PID (NAME) STATE PARENT …": the name may hold anything, its last ) ends it. */
        const char *behind = strrchr(text_string(&stat), ')');
        if (behind != NULL && strlen(behind) > 4)
            parent = (pid_t)strtol(behind + 4, NULL, 10);
    }
    free(path);
    text_release(&stat);
    return parent;
}

bool child_owns(const struct child *child, pid_t pid)
{
    pid_t us = getpid();
    for (int i = 0; i < DEEPEST && pid > 1; i++) {
        if (pid == child->pid)
            return true;
        pid_t parent = parent_of(pid);
        if (parent == us) /* an orphan of the tree: we are its reaper */
            return true;
        pid = parent;
    }
    return false;
}
