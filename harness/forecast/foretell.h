/* foretell: a script's requests at a value, played through an allocator on a simulated card.
 *
 * All versions of a script with doubtful requests are played (make.h), one of any other;
 * what comes out is the least and the most of what they need. Everything is computed.
 */
#ifndef HIGHWATER_FORECAST_FORETELL_H
#define HIGHWATER_FORECAST_FORETELL_H

#include "harness/forecast/make.h"
#include "harness/trace/replay.h"

struct foretell_setting {
    const char *allocator;
    struct allocator_setting allocator_setting; /* `limit` included */
    struct reading room; /* of the card, for this allocator; missing: as much as is asked for */
};

struct bounds {
    struct reading least, most;
};
struct foretold_phase {
    char *name;
    struct bounds allocated_peak, reserved_peak;
    struct bounds retries; /* since the beginning */
    bool refused;          /* some version ended here: its figures are those up to there */
};
struct foretold_version {
    bool fits;
    char *failed_phase; /* "" outside of phases; NULL: it fits */
    struct refusal refusal;
    uint64_t retries;
};
struct foretold {
    uint64_t value;
    struct foretold_phase *phases;
    size_t phase_count;
    struct foretold_version versions[VERSIONS];
    size_t version_count;
    struct bounds allocated_peak,
        reserved_peak; /* of the largest phase, or up to the refusal */
    size_t peak_phase; /* the first with the most reserved, or allocated, bytes */
};
/* -1: the requests cannot be made, or the allocator not opened with this setting. */
int foretell(const struct script *script, const struct foretell_setting *setting,
             uint64_t value, struct foretold *foretold, struct text *why) MUST_CHECK;
void foretold_release(struct foretold *foretold);
bool foretold_fits(const struct foretold *foretold);    /* in every version */
bool foretold_refused(const struct foretold *foretold); /* in every version */
bool bounds_are_exact(const struct bounds *range); /* both known and equal, or both missing */

/* Each take from the others, beside what it shows itself; all of it without a card's limit. */
struct foretold_check {
    uint64_t value;
    char *refused;                     /* why it could not be forecast; else NULL */
    struct bounds allocated, reserved; /* forecast */
    uint64_t true_allocated;
    struct reading true_reserved;
    char *phase, *true_phase; /* of the peak */
};
/* checks: one per take; at least three takes. */
int foretell_check(const struct take *takes, size_t count,
                   const struct foretell_setting *setting, struct foretold_check *checks,
                   struct text *why) MUST_CHECK;
void foretold_check_release(struct foretold_check *check);

#endif
