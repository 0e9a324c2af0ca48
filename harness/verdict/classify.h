/* classify: what became of a child, told from how it ended, from what it said, and from what
 * its card and its peers say.
 *
 * A child's own verdict in its phase file (of the first phase that did not end well) comes
 * first; then the rules of rules.def decide, from `deadline` to `peer_failed`. What it printed
 * is quoted and decides nothing, and only exit code 0 is ok, whatever was said.
 */
#ifndef HIGHWATER_VERDICT_CLASSIFY_H
#define HIGHWATER_VERDICT_CLASSIFY_H

#include "harness/verdict/card_use.h"
#include "harness/verdict/rules.h"

enum ended_by { ENDED_BY_ITSELF, ENDED_BY_TIMEOUT, ENDED_BY_STOP };

struct ending {
    enum ended_by by;
    bool reaped;
    int wait_status;  /* as from waitpid, when reaped */
    bool host_killed; /* the host's out-of-memory counter rose */
    bool device_lost;
    bool speaks_phases;  /* it was expected to close phases */
    int left_over;       /* as in struct child_end */
    const char *unread;  /* why its phase file cannot be read; NULL: it can */
};
/* All that is known of one child. */
struct child_facts {
    const struct row *about;           /* of its rank and card: fills every row */
    const struct phase_record *record; /* what it said */
    const struct text *words;          /* the end of its standard error; NULL: none */
    const struct ending *ending;       /* NULL: nobody saw it end, or there was none */
    struct card_use card;
    struct reading failed_first; /* the peer that told of its failure; missing: none did */
    struct reading wall_ns;
};
struct verdict {
    enum status status;
    const char *refused_by; /* NULL: nobody known; static */
    struct text error;      /* first cause; one escaped line of at most 500 bytes */
    struct text warning;    /* likewise */
};
/* The phase that the child itself says failed; NULL: it says of none. */
const struct row *classify_own(const struct phase_record *record);
/* The caller releases both texts. */
void classify(const struct child_facts *facts, struct verdict *verdict);
/* The same where there was no child, or nobody saw it end: one of these rules holds. The caller
 * adds the cause. */
enum rule classify_unseen(uint64_t holding, struct verdict *verdict);

#endif
