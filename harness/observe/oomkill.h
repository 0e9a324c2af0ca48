/* oomkill: did the host's out-of-memory killer end a process? Its counter says so; a SIGKILL
 * alone does not.
 */
#ifndef HIGHWATER_OBSERVE_OOMKILL_H
#define HIGHWATER_OBSERVE_OOMKILL_H

#include "harness/base/reading.h"
#include "harness/base/text.h"

#include <sys/types.h>

/* The counter that covers one process: of its memory control group (version 2 or 1), or of the
 * whole host where there is no group. */
struct oomkill {
    struct text path;      /* file with a line "oom_kill N" */
    struct reading before; /* its value when it was found */
    bool risen;            /* a counter followed earlier had risen */
};
#define OOMKILL_INIT {.path = TEXT_INIT}
/* Finds the counter of a living process; called again it follows the process into another
 * group. A process that is gone changes nothing. */
void oomkill_follow(struct oomkill *oomkill, pid_t pid);
/* From here on the counter in this file counts; what the one before it has told is kept.
 * Exported for its test. */
void oomkill_watch(struct oomkill *oomkill, const char *path);
/* True when the counter has risen since. */
bool oomkill_happened(const struct oomkill *oomkill);
void oomkill_release(struct oomkill *oomkill);

/* The path of the counter, given the contents of /proc/PID/cgroup and where control groups are
 * mounted; "" when there is none. Apart for its test. */
void oomkill_path(const char *groups, const char *mount, struct text *path);

#endif
