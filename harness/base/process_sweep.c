/* Ending a whole tree. A descendant may have left the process group, the session and its
 * parent; as reaper of orphans we are the ancestor of all of them, so the kernel's lists of
 * children, read again and again from ourselves down, lead to every one that is left. */
#include "harness/base/process.h"

#include "harness/base/clock.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* --- ending them
 * ------------------------------------------------------------------------------ */

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
