/* classify: what became of a child, told from how it ended and from what it said.
 *
 * A child's own verdict in its phase file (of the first phase that did not end well) comes
 * first; then the rules of rules.def decide, from `deadline` to `card_lost`. Words alone never
 * decide a boundary, and only exit code 0 is ok, whatever was said.
 */
#ifndef HIGHWATER_VERDICT_CLASSIFY_H
#define HIGHWATER_VERDICT_CLASSIFY_H

#include "harness/protocol/phases.h"

#define STOPPED_WORDS "ended because the run was stopped"
enum ended_by { ENDED_BY_ITSELF, ENDED_BY_TIMEOUT, ENDED_BY_STOP };

struct ending {
    enum ended_by by;
    bool reaped;
    int wait_status;  /* as from waitpid, when reaped */
    bool host_killed; /* the host's out-of-memory counter rose */
    bool device_lost;
    bool speaks_phases;  /* it was expected to close phases */
    int left_over;       /* as in struct child_end */
    struct reading free; /* of the device, last seen */
    const char *unread;  /* why its phase file cannot be read; NULL: it can */
};
struct verdict {
    enum status status;
    const char *refused_by; /* NULL: nobody known; static */
    struct text error;      /* first cause; one escaped line of at most 500 bytes */
    struct text warning;    /* likewise */
};
/* Behind the warnings that there are already, with "; " between. */
void verdict_warn(struct verdict *verdict, const char *format, ...) PRINTF_LIKE(2, 3);
/* The phase that the child itself says failed; NULL: it says of none. */
const struct row *classify_own(const struct phase_record *record);
/* `words`: the end of the child's standard error. The caller releases both texts. */
void classify(const struct ending *ending, const struct phase_record *record,
              const struct text *words, struct verdict *verdict);

#endif
