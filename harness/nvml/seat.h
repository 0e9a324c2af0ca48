/* seat: what one rank has: its card, what may be used of it and what was in use before. Where a
 * study has no cards, a seat is a device of the configured size.
 *
 * As a word: the members that are said, "uuid=GPU-…,capacity=…,overhead=…,limit=…,baseline=…,
 * shared=yes", in any order.
 */
#ifndef HIGHWATER_NVML_SEAT_H
#define HIGHWATER_NVML_SEAT_H

#include "harness/base/argv.h"
#include "harness/nvml/nvml.h"
#include "harness/record/row.h"

/* Bytes of a real card that context and libraries are assumed to take, until measured. */
#define SEAT_ASSUMED_OVERHEAD (UINT64_C(1) << 30)
#define SEAT_ASSUMED_WORDS "1 GiB assumed"

struct seat {
    struct nvml_device card; /* uuid "": there is none; a word tells the UUID only */
    bool shared;             /* another rank of the run has the same card */
    struct reading capacity; /* bytes of the device: configured, or what NVML says less what
                                driver and firmware keep; missing: not known, endless */
    uint64_t overhead;       /* bytes of these that context and libraries take */
    struct reading limit;    /* bytes that the allocator may have; missing: all */
    struct reading baseline; /* bytes in use on the card before the study */
};

bool seat_has_card(const struct seat *seat);
/* Reads capacity and baseline of its card. -1: the card does not answer. */
int seat_look(struct seat *seat, struct nvml *nvml, struct text *why) MUST_CHECK;
/* What a workload can have of the capacity: less the overhead. */
struct reading seat_usable(const struct seat *seat);
/* Marks the seats that have the card of another one. */
void seats_mark_shared(struct seat *seats, size_t count);

void seat_format(const struct seat *seat, struct text *out);
/* -1: the reason names the member. */
int seat_parse(const char *word, struct seat *seat, struct text *why) MUST_CHECK;

/* What the child of this rank is told: of a card its UUID and the limit, of another device its
 * size. */
void seat_add_words(const struct seat *seat, struct words *words);
/* Shows the child this card and no other. The caller's own CUDA_DEVICE_ORDER stays. */
void seat_add_environment(const struct seat *seat, struct words *environment);
/* What can be said of a rank's device without its rank. */
void seat_to_row(const struct seat *seat, struct row *row);

#endif
