/* card: one device as its rank sees it from outside, through NVML. On simulated and host
 * devices there is no card: everything is missing and every step succeeds.
 */
#ifndef HIGHWATER_OBSERVE_CARD_H
#define HIGHWATER_OBSERVE_CARD_H

#include "harness/observe/child.h"
#include "harness/nvml/seat.h"
#include "harness/base/watch.h"
#include "harness/verdict/card_use.h"

struct card {
    struct nvml *nvml; /* NULL: there is no card */
    struct nvml_device device;
    bool lost;        /* it stopped answering */
    bool shared;      /* another rank of this run uses it too */
    bool trusts_pids; /* process numbers that NVML tells are those of our /proc */
    bool told;        /* the driver told processes with their memory at least once */
    struct nvml_memory before;
    struct reading foreign_before, foreign_after, used_after;
};

/* The card of a seat. -1: no driver, or no such device. */
int card_open(struct card *card, const struct seat *seat, struct text *why) MUST_CHECK;
void card_close(struct card *card);

enum card_state { CARD_READY, CARD_DIRTY, CARD_LOST, CARD_INTERRUPTED };
/* Waits until use is back at the baseline (within the tolerance), at most `settle_ns`, and
 * reads the state before the child. A missing baseline is what is read first. */
enum card_state card_settle(struct card *card, struct reading baseline, uint64_t settle_ns,
                            const struct watch *watch, struct text *why) MUST_CHECK;
/* Once the child is gone: what others have, whether the card still answers. A driver may take a
 * moment to give back what a child had: while more is in use than before, it is looked at
 * again, for `patience_ns` at most. */
void card_look_after(struct card *card, uint64_t patience_ns);
/* Why memory by process cannot be had: a pid namespace, or a driver that does not tell. NULL:
 * it can. */
const char *card_mute(const struct card *card);

struct card_sample {
    struct reading used; /* of the whole device */
    struct reading own;        /* of the child's processes */
    struct reading others;     /* of all other processes; missing when that cannot be told */
};
/* False when the card does not answer (card->lost then tells for how long). */
bool card_sample(struct card *card, const struct child *child, struct card_sample *sample);

/* Identity and the readings of before and after into a row. */
void card_to_row(struct card *card, struct row *row);

#endif
