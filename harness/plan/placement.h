/* placement: the seats of a study: which rank has which card or device. With placement = alone
 * each of them is that of a run of its own.
 */
#ifndef HIGHWATER_PLAN_PLACEMENT_H
#define HIGHWATER_PLAN_PLACEMENT_H

#include "harness/nvml/seat.h"
#include "harness/study/study.h"

struct placement {
    struct seat *seats;
    uint64_t ranks;    /* of them, at least one */
    struct nvml *nvml; /* owned; NULL: there are no cards */
};

/* How many ranks a study is for when there are no cards to count: 1 where it does not say. */
uint64_t placement_ranks(const struct study *study);
/* Seats of this many ranks as the study configures them: on cuda their limits are all that is
 * known. */
void placement_configure(struct placement *placement, const struct study *study,
                         uint64_t ranks);
/* A seat on each card that the study asks for, as often as it asks; nothing is read of them
 * yet. The library is the placement's afterwards, -1 included: one of the cards is not to be
 * had. */
int placement_on_cards(struct placement *placement, const struct study *study,
                       struct nvml *nvml, struct text *why) MUST_CHECK;
/* Keeps the seats of the first ranks, no more than there are. Cards are shared by these alone;
 * ranks that run one after the other share nothing. */
void placement_cut(struct placement *placement, const struct study *study, uint64_t ranks);
void placement_close(struct placement *placement);

/* The part that one run has: all of it for place 0, else the rank of that place, from 1, as the
 * only one. Borrowed from `placement`, not to be closed. */
struct placement placement_of_run(const struct placement *placement, uint64_t place);

#endif
