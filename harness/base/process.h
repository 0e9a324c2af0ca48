/* process: starting a child that cannot outlive us, waiting for it, ending its whole tree. */
#ifndef HIGHWATER_BASE_PROCESS_H
#define HIGHWATER_BASE_PROCESS_H

#include "harness/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process_plan {
    const char *const *argv;          /* NULL-terminated; argv[0] is a path or found in PATH */
    const char *const *environment;   /* NULL-terminated "NAME=value" added or replaced */
    const char *const *drop_prefixes; /* NULL-terminated; such variables are removed */
    const char *folder;               /* working folder, NULL: ours */
    const char *output_path;          /* standard output is appended to it; NULL: null device */
    const char *error_path;           /* standard error likewise */
    int death_signal;                 /* sent when we die; 0: none */
    int oom_score;                    /* oom_score_adj 0..1000, raised only */
    bool no_core;                     /* RLIMIT_CORE 0 */
};

/* Starts it in its own process group with a clean signal mask and dispositions, the null device
 * as standard input, and no inherited descriptor above 2. Must be called from the main thread
 * (the death signal is tied to the forking thread). PROCESS_BAD: the program cannot be started.
 * PROCESS_STARVED: we lack what it takes (descriptors, memory, an output that can be opened),
 * which says nothing about the program. */
enum { PROCESS_BAD = -1, PROCESS_STARVED = -2 };
int process_start(const struct process_plan *plan, pid_t *pid, int *pidfd,
                  struct text *why) MUST_CHECK;

/* Waits until the process ends or the monotonic deadline (ns) passes. 1: ended (*status as from
 * waitpid, reaped), 0: deadline, -1: interrupted by a signal that we handle. */
int process_wait(pid_t pid, int pidfd, uint64_t deadline_ns, int *status) MUST_CHECK;

/* Makes this process the reaper of orphaned descendants. */
void process_become_reaper(void);
/* SIGKILLs and reaps every descendant (after setsid or a double fork too) until none is left
 * or the deadline passes; needs process_become_reaper(). Returns how many were killed, without
 * those that had ended by themselves; -1 when some would not die. `spare`, unless 0, is a pid
 * that is left alone with its descendants. */
int process_sweep(pid_t spare, uint64_t deadline_ns);

#endif
