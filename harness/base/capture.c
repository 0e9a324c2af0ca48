#include "harness/base/capture.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST_NS 30000000000u
#define LONGEST_OUTPUT (1u << 20)

/* A file in memory that a child can open by path. */
static int open_memory(char **path, struct text *why)
{
    int fd = memfd_create("highwater", MFD_CLOEXEC);
    if (fd < 0)
        text_addf(why, "memfd: %s", strerror(errno));
    else
        *path = xasprintf("/proc/self/fd/%d", fd);
    return fd;
}

static int run(const struct process_plan *plan, int *status, struct text *why)
{
    pid_t pid;
    int pidfd, waited;
    if (process_start(plan, &pid, &pidfd, why) != 0)
        return -1;
    uint64_t deadline = clock_monotonic_ns() + LONGEST_NS;
    while ((waited = process_wait(pid, pidfd, deadline, status)) < 0)
        ;
    if (waited == 0) {
        kill(-pid, SIGKILL);
        text_addf(why, "%s: no answer", plan->argv[0]);
        waitpid(pid, status, 0);
    }
    if (pidfd >= 0)
        close(pidfd);
    return waited == 1 ? 0 : -1;
}

int capture(const char *const *argv, const char *const *environment, struct text *output,
            struct text *error, int *code, struct text *why)
{
    char *paths[2] = {NULL, NULL};
    int fds[2] = {open_memory(&paths[0], why), -1};
    int result = -1, status = 0;
    if (fds[0] >= 0)
        fds[1] = open_memory(&paths[1], why);
    if (fds[1] >= 0) {
        const struct process_plan plan = {.argv = argv,
                                          .environment = environment,
                                          .output_path = paths[0],
                                          .error_path = paths[1],
                                          .death_signal = SIGKILL,
                                          .no_core = true};
        result = run(&plan, &status, why);
    }
    if (result == 0 &&
        (file_read_tail(paths[0], LONGEST_OUTPUT, output, why) != 0 ||
         (error != NULL && file_read_tail(paths[1], LONGEST_OUTPUT, error, why) != 0)))
        result = -1;
    if (result == 0)
        *code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    for (int i = 0; i < 2; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        free(paths[i]);
    }
    return result;
}

int capture_answer(const char *const *argv, struct text *output, int *code, struct text *why)
{
    int result = capture(argv, NULL, output, NULL, code, NULL);
    if (result != 0 || *code != 0)
        result = capture(argv, NULL, output, NULL, code, why);
    return result;
}

char *program_find(const char *name)
{
    const char *path = strchr(name, '/') != NULL ? NULL : getenv("PATH");
    if (path == NULL)
        return access(name, X_OK) == 0 ? xstrdup(name) : NULL;
    for (;;) {
        int length = (int)strcspn(path, ":");
        char *candidate = xasprintf("%.*s%s%s", length, path, length > 0 ? "/" : "./", name);
        if (access(candidate, X_OK) == 0)
            return candidate;
        free(candidate);
        if (path[length] == '\0')
            return NULL;
        path += length + 1;
    }
}
