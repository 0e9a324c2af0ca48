/* placement: which rank observes what: cards of a cuda study, capacities of the others. Held by
 * the driver for a whole sweep. With placement = alone each rank of it is a run of its own.
 */
#ifndef HIGHWATER_DRIVE_PLACEMENT_H
#define HIGHWATER_DRIVE_PLACEMENT_H

#include "harness/nvml/devices.h"
#include "harness/protocol/rank_setting.h"
#include "harness/study/study.h"

struct placement {
    uint64_t ranks;
    struct nvml *nvml;        /* NULL unless cuda */
    struct device_list list;  /* one per rank; empty unless cuda */
    struct reading *capacity; /* per rank, for predictions and simulated devices */
    struct reading *limit;    /* per rank: on its allocator; missing: none */
    struct reading *baseline; /* per rank: in use before the study */
    uint64_t overhead;        /* assumed or measured: context and libraries */
};
enum placement_outcome {
    PLACEMENT_OK = 0,
    PLACEMENT_REFUSED = -1,   /* not as asked */
    PLACEMENT_NO_DEVICE = -2, /* nothing to measure on */
};
/* `measure`: opens each kind of card once in a short program, so that a card that CUDA cannot
 * use is found before anything is created, and predictions know what its context takes. */
enum placement_outcome placement_open(struct placement *placement, const struct study *study,
                                      bool measure, struct text *why) MUST_CHECK;
void placement_close(struct placement *placement);
/* The part that one run has: all of it for place 0, else the rank of that place, from 1, as the
 * only one. Borrowed from `placement`, not to be closed. */
struct placement placement_of_run(const struct placement *placement, uint64_t place);

/* Do all cards still answer, and are they the ones that the study began with? -1: lost. */
int placement_check(struct placement *placement, struct text *why) MUST_CHECK;
/* Sets what depends on ranks: ranks, devices, shared, baselines, capacities, overhead. */
void placement_to_setting(const struct placement *placement, const struct study *study,
                          struct rank_setting *setting);
/* What NVML and the study tell of a rank's device, for rows of a rank that said nothing. */
void placement_to_row(const struct placement *placement, uint64_t rank, struct row *row);

#endif
