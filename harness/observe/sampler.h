/* sampler: readings of the card while a child lives, kept by the phase that the live page named
 * at that moment. A sampled peak is a lower bound: short peaks between two samples are missed,
 * so the number of samples and the longest gap stand beside it.
 */
#ifndef HIGHWATER_OBSERVE_SAMPLER_H
#define HIGHWATER_OBSERVE_SAMPLER_H

#include "harness/observe/card.h"
#include "harness/protocol/live.h"

struct phase_samples {
    char phase[LIVE_NAME];
    char pass[8];
    struct reading repeat;
    struct reading used_peak, own_peak;
    uint64_t count;
    struct reading gap_ns; /* longest time since the sample before */
};
struct sampler {
    struct phase_samples all;     /* the whole run */
    struct phase_samples *phases; /* in order */
    size_t count;
    uint64_t last_ns;                         /* of the newest sample; 0: none yet */
    struct reading others_least, others_most; /* of processes that are not the child's */
};
/* `state` is NULL while the child has said nothing. */
void sampler_take(struct sampler *sampler, const struct card_sample *sample,
                  const struct live_state *state, uint64_t now_ns);
/* Into the rows of the phases, or into the closing row, the last, when nobody named a phase.
 * Nothing sampled: nothing set. */
void sampler_to_rows(const struct sampler *sampler, struct row *rows, size_t count);
void sampler_release(struct sampler *sampler);

#endif
