/* watch: sleep until a process ends, a signal for us arrives or a moment comes; nothing is lost
 * between looking and sleeping, and nothing is burnt while waiting.
 */
#ifndef HIGHWATER_BASE_WATCH_H
#define HIGHWATER_BASE_WATCH_H

#include "harness/base/text.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The signals that end a run: SIGINT, SIGTERM, SIGHUP. Blocked from here on and read from a
 * descriptor; what was pending stays pending. */
struct watch {
    int signals;     /* descriptor */
    sigset_t before; /* the mask that is put back */
};
int watch_open(struct watch *watch, struct text *why) MUST_CHECK;
void watch_close(struct watch *watch);

enum watch_event { WATCH_TIME, WATCH_ENDED, WATCH_SIGNAL };
/* Waits for the first of: our child `pid` (0: none) ends, one of our signals arrives (*signal
 * says which), the monotonic clock reaches `until_ns`. An ended process comes first; it is not
 * reaped. `pidfd` may be -1 where the kernel has none: then we look every few milliseconds. */
enum watch_event watch_wait(const struct watch *watch, pid_t pid, int pidfd, uint64_t until_ns,
                            int *signal);

#endif
