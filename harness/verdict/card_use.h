/* card_use: what the use of a card, read from outside, says of a run on it: may a child start,
 * did others take or give back memory while it ran? Three witnesses of that, each enough:
 *
 *   the card before the child and after it: its use, and that of the processes it lists;
 *   the samples: what others held while the child ran (where the driver tells processes);
 *   the child: a built-in workload takes at most a few GiB until its libraries are loaded;
 *   then what the device has in use beside the child's own reserved bytes stays as it was
 *   at the end of its phase `libraries`. At a refusal too, where reserved is not more than its
 *   peak: what is in use beyond both was taken by others, however short a time they had it.
 */
#ifndef HIGHWATER_VERDICT_CARD_USE_H
#define HIGHWATER_VERDICT_CARD_USE_H

#include "harness/protocol/phases.h"

/* Bytes by which use may move without anybody having done something. */
#define CARD_TOLERANCE (64u << 20)

struct card_use {
    bool watched;                 /* there is a card, and no other rank of this run uses it */
    struct reading total;         /* bytes of the whole card */
    struct reading before, after; /* in use, around the child */
    struct reading foreign_before, foreign_after; /* by the processes that the card lists */
    struct reading others_least, others_most;     /* by those not the child's, while it ran */
    const char *mute; /* why nobody told the child's own use; NULL: somebody did */
};

/* By more than use may move without anybody having done something; never so when one of them is
 * missing. */
bool card_use_grew(struct reading was, struct reading is);

enum card_use_outcome { CARD_SETTLED, CARD_STILL_IN_USE, CARD_NOT_SETTLED };
/* May a child start on a card with `used` bytes in use? A missing baseline is what is read
 * first. `late`: nobody waits any longer; then `why` says what is wrong. */
enum card_use_outcome card_use_settles(struct reading used, struct reading baseline, bool late,
                                       struct text *why) MUST_CHECK;
/* True when a witness says that others moved; appends what it says, in bytes. */
bool card_use_moved(const struct card_use *use, const struct phase_record *record,
                    struct text *what);

#endif
