#include "harness/base/process.h"
#include "harness/base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define POLL_NS 10000000ull /* where the kernel has no pidfd */

/* What the child could not do, sent through a pipe that a successful exec closes. */
struct start_failure {
    int error;
    char verb[24];
};

/* --- before the fork: nothing behind it may allocate ----------------------------------- */

static bool is_dropped(const struct process_plan *plan, const char *variable)
{
    const char *const *prefix = plan->drop_prefixes;
    for (; prefix != NULL && *prefix != NULL; prefix++)
        if (text_starts_with(variable, *prefix))
            return true;
    const char *const *added = plan->environment;
    for (; added != NULL && *added != NULL; added++) {
        size_t name = strcspn(*added, "=");
        if (strncmp(variable, *added, name) == 0 && variable[name] == '=')
            return true;
    }
    return false;
}

/* Borrowed strings in an array that the caller frees. */
static char **make_environment(const struct process_plan *plan)
{
    size_t room = 1, count = 0;
    for (char **variable = environ; *variable != NULL; variable++)
        room++;
    for (size_t i = 0; plan->environment != NULL && plan->environment[i] != NULL; i++)
        room++;
    char **made = xcalloc(room, sizeof *made);
    for (char **variable = environ; *variable != NULL; variable++)
        if (!is_dropped(plan, *variable))
            made[count++] = *variable;
    for (size_t i = 0; plan->environment != NULL && plan->environment[i] != NULL; i++)
        made[count++] = (char *)(uintptr_t)plan->environment[i];
    return made;
}

/* A descriptor above 2, so that moving it to 0, 1 or 2 never overwrites another one. */
static int above_standard(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int error = errno;
    close(fd);
    errno = error;
    return moved;
}

static int open_output(const char *path, struct text *why)
{
    int flags = O_WRONLY | O_CLOEXEC | (path != NULL ? O_CREAT | O_APPEND : 0);
    const char *name = path != NULL ? path : "/dev/null";
    int fd = above_standard(open(name, flags, 0666));
    if (fd < 0)
        text_addf(why, "cannot open %s: %s", name, strerror(errno));
    return fd;
}

/* Standard input, output and error of the child, and the pipe. -1 are not open. */
struct start_files {
    int standard[3];
    int report[2];
};

static void close_files(struct start_files *files)
{
    for (int i = 0; i < 3; i++)
        if (files->standard[i] >= 0)
            close(files->standard[i]);
    for (int i = 0; i < 2; i++)
        if (files->report[i] >= 0)
            close(files->report[i]);
}

static int open_files(const struct process_plan *plan, struct start_files *files,
                      struct text *why)
{
    *files = (struct start_files){{-1, -1, -1}, {-1, -1}};
    int input = above_standard(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (input < 0)
        text_addf(why, "cannot open /dev/null: %s", strerror(errno));
    files->standard[0] = input;
    if (input >= 0)
        files->standard[1] = open_output(plan->output_path, why);
    if (files->standard[1] >= 0)
        files->standard[2] = open_output(plan->error_path, why);
    bool opened = files->standard[2] >= 0;
    if (opened && pipe2(files->report, O_CLOEXEC) != 0) {
        text_addf(why, "cannot make a pipe: %s", strerror(errno));
        opened = false;
    }
    for (int i = 0; opened && i < 2; i++)
        opened = (files->report[i] = above_standard(files->report[i])) >= 0;
    if (!opened)
        close_files(files);
    return opened ? 0 : -1;
}

/* --- in the child ---------------------------------------------------------------------- */

static void clean_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++)
        sigaction(number, &standard, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Every descriptor above 2 closes at exec. */
static void close_on_exec(void)
{
#if defined(SYS_close_range) && defined(CLOSE_RANGE_CLOEXEC)
    if (syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC) == 0)
        return;
#endif
    struct rlimit limit;
    rlim_t most = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 65536;
    for (int fd = 3; (rlim_t)fd < most && fd < 1 << 20; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* First in line for the host's OOM killer. Lowering would need a right and is never tried;
 * where it cannot be raised, nothing is lost but the order. */
static void raise_oom_score(int score)
{
    char text[16] = "";
    int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    if (read(fd, text, sizeof text - 1) > 0 && atoi(text) < score) {
        int length = snprintf(text, sizeof text, "%d", score);
        ssize_t ignored = pwrite(fd, text, (size_t)length, 0);
        (void)ignored;
    }
    close(fd);
}

static _Noreturn void give_up(int report, const char *verb)
{
    struct start_failure failure = {.error = errno};
    snprintf(failure.verb, sizeof failure.verb, "%s", verb);
    ssize_t ignored = write(report, &failure, sizeof failure);
    (void)ignored;
    _exit(127);
}

static _Noreturn void become(const struct process_plan *plan, char **environment,
                             const struct start_files *files, pid_t parent)
{
    int report = files->report[1];
    setpgid(0, 0);
    if (plan->death_signal != 0) {
        if (prctl(PR_SET_PDEATHSIG, plan->death_signal) != 0)
            give_up(report, "be told of our death");
        if (getppid() != parent) /* died before it was asked for */
            _exit(127);
    }
    for (int i = 0; i < 3; i++)
        if (dup2(files->standard[i], i) < 0)
            give_up(report, "redirect");
    close_on_exec();
    if (plan->oom_score > 0)
        raise_oom_score(plan->oom_score);
    if (plan->no_core && setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) != 0)
        give_up(report, "forbid a core dump of");
    if (plan->folder != NULL && chdir(plan->folder) != 0)
        give_up(report, "change folder for");
    clean_signals();
    execvpe(plan->argv[0], (char *const *)(uintptr_t)plan->argv, environment);
    give_up(report, "start");
}

/* --- starting and waiting -------------------------------------------------------------- */

static bool is_starved(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN;
}

/* 0 when the exec happened: the pipe closed without a word. */
static int read_report(int fd, const char *program, struct text *why)
{
    struct start_failure failure;
    ssize_t got;
    do
        got = read(fd, &failure, sizeof failure);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return 0;
    if (got != sizeof failure)
        failure = (struct start_failure){.error = errno, .verb = "start"};
    text_addf(why, "cannot %s ", failure.verb);
    text_add_escaped(why, program, strlen(program), 0);
    text_addf(why, ": %s", strerror(failure.error));
    return is_starved(failure.error) ? PROCESS_STARVED : PROCESS_BAD;
}

int process_start(const struct process_plan *plan, pid_t *pid, int *pidfd, struct text *why)
{
    struct start_files files;
    if (open_files(plan, &files, why) != 0)
        return PROCESS_STARVED;
    char **environment = make_environment(plan);
    /* No handler of ours may run in the child before it has reset them. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become(plan, environment, &files, parent);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(environment);
    if (child < 0) {
        close_files(&files);
        text_addf(why, "cannot fork: %s", strerror(error));
        return PROCESS_STARVED;
    }
    setpgid(child, child); /* whoever is first; both may be asked at once */
    close(files.report[1]);
    files.report[1] = -1;
    int failed = read_report(files.report[0], plan->argv[0], why);
    close_files(&files);
    if (failed) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
        return failed;
    }
    *pidfd = (int)syscall(SYS_pidfd_open, child, 0); /* -1 on an old kernel */
    *pid = child;
    return 0;
}

/* Sleeps until the process may have ended, at most until the deadline. -1: a signal came. */
static int sleep_until(int pidfd, uint64_t deadline_ns)
{
    uint64_t now = clock_monotonic_ns();
    uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
    if (pidfd < 0 && left > POLL_NS)
        left = POLL_NS;
    struct timespec time = {.tv_sec = (time_t)(left / 1000000000),
                            .tv_nsec = (long)(left % 1000000000)};
    struct pollfd ended = {.fd = pidfd, .events = POLLIN};
    return ppoll(&ended, 1, &time, NULL) < 0 && errno == EINTR ? -1 : 0;
}

int process_wait(pid_t pid, int pidfd, uint64_t deadline_ns, int *status)
{
    for (;;) {
        int ended;
        pid_t reaped = waitpid(pid, &ended, WNOHANG);
        if (reaped == pid) {
            *status = ended;
            return 1;
        }
        if (reaped < 0 && errno != EINTR)
            abort(); /* not our child, or reaped behind our back: a bug */
        if (clock_monotonic_ns() >= deadline_ns)
            return 0;
        if (sleep_until(pidfd, deadline_ns) != 0)
            return -1;
    }
}

/* --- ending a whole tree ------------------------------------------------------------------ */

/* A descendant may have left the process group, the session and its
 * parent; as reaper of orphans we are the ancestor of all of them, so the kernel's lists of
 * children, read again and again from ourselves down, lead to every one that is left. */

#define PAUSE_NS 1000000ull

struct pids {
    pid_t *pid;
    size_t count;
};

void process_become_reaper(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static void add_pid(struct pids *pids, pid_t pid)
{
    *GROW(pids->pid, pids->count) = pid;
}

static bool has_pid(const struct pids *pids, pid_t pid)
{
    for (size_t i = 0; i < pids->count; i++)
        if (pids->pid[i] == pid)
            return true;
    return false;
}

/* --- who is there ---------------------------------------------------------------------- */

/* Children of one thread, by the kernel's own list. false: this kernel keeps none. */
static bool add_children_of_thread(pid_t pid, const char *thread, struct pids *pids)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task/%.20s/children", (long)pid, thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return errno != ENOENT || pid != getpid();
    long child;
    while (fscanf(file, "%ld", &child) == 1)
        add_pid(pids, (pid_t)child);
    fclose(file);
    return true;
}

static bool add_children(pid_t pid, struct pids *pids)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *threads = opendir(path);
    if (threads == NULL)
        return true; /* it is gone, its children are ours now: seen in the next round */
    bool listed = true;
    for (struct dirent *entry; listed && (entry = readdir(threads)) != NULL;)
        if (isdigit((unsigned char)entry->d_name[0]))
            listed = add_children_of_thread(pid, entry->d_name, pids);
    closedir(threads);
    return listed;
}

static pid_t parent_of(const char *pid)
{
    char path[64];
    long parent = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    char line[512];
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    char *name_end = NULL; /* the name in brackets may hold brackets itself */
    for (char *c = line; *c != '\0'; c++)
        if (*c == ')')
            name_end = c;
    return name_end != NULL && sscanf(name_end + 1, " %*c %ld", &parent) == 1 ? (pid_t)parent
                                                                              : 0;
}

/* The same from every process's own word; only where the kernel keeps no lists. */
static void scan_children(pid_t pid, struct pids *pids)
{
    DIR *all = opendir("/proc");
    if (all == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(all)) != NULL;)
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == pid)
            add_pid(pids, (pid_t)atol(entry->d_name));
    closedir(all);
}

/* All descendants but `spare` and its own. */
static void find_descendants(pid_t spare, struct pids *found)
{
    bool listed = add_children(getpid(), found);
    if (!listed)
        scan_children(getpid(), found);
    for (size_t i = 0; i < found->count; i++) {
        if (found->pid[i] == spare) {
            found->pid[i--] = found->pid[--found->count];
            continue;
        }
        if (listed)
            add_children(found->pid[i], found);
        else
            scan_children(found->pid[i], found);
    }
}

/* --- ending them -------------------------------------------------------------------------- */

/* What had ended by itself is reaped and not counted. Only our own children are reaped, one by
 * one: waiting for any would take `spare` too. */
static bool end_one(pid_t pid, struct pids *killed)
{
    if (waitpid(pid, NULL, WNOHANG) == pid || kill(pid, SIGKILL) != 0 || has_pid(killed, pid))
        return false;
    add_pid(killed, pid);
    return true;
}

int process_sweep(pid_t spare, uint64_t deadline_ns)
{
    struct pids killed = {0}, found = {0};
    bool ended = false, late = false;
    while (!ended && !late) {
        bool news = false;
        late = clock_monotonic_ns() >= deadline_ns;
        found.count = 0;
        find_descendants(spare, &found);
        for (size_t i = 0; i < found.count; i++)
            news |= end_one(found.pid[i], &killed);
        ended = found.count == 0;
        if (!ended && !news && !late)
            clock_sleep_ns(PAUSE_NS);
    }
    int count = (int)killed.count;
    free(killed.pid);
    free(found.pid);
    return ended ? count : -1;
}
