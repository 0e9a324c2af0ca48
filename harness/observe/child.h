/* child: the observed program and everything it started. It lives in a process group of its
 * own, knows nothing of the launcher, has every CPU, and cannot outlive its rank.
 */
#ifndef HIGHWATER_OBSERVE_CHILD_H
#define HIGHWATER_OBSERVE_CHILD_H

#include "harness/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child_plan {
    const char *const *argv;
    const char *const *environment; /* NULL-terminated NAME=value, added */
    const char *error_path;         /* its standard error */
};
struct child {
    pid_t pid;
    int pidfd;
    uint64_t started_ns, ended_ns; /* monotonic; ended_ns is set by child_end */
};

/* The caller is a reaper (process_become_reaper) and calls from its main thread. */
int child_start(const struct child_plan *plan, struct child *child,
                struct text *why) MUST_CHECK;

struct child_end {
    bool reaped;   /* false: it would not die in time */
    int status;    /* as from waitpid */
    int left_over; /* processes of its tree that had to be ended after it; -1: some live on */
};
/* Ends what still lives of the whole tree, setsid and stopped ones too, and reaps it; `kill`:
 * the child itself as well, else it has ended already. Takes at most `patience_ns`. */
void child_end(struct child *child, bool kill_it, uint64_t patience_ns, struct child_end *end);

/* Is this process the child or one of its descendants? By parents in /proc: a pid that was used
 * again after a death cannot be taken for ours. */
bool child_owns(const struct child *child, pid_t pid);

#endif
