/* decoder_pass: the network on a prompt, and on one token more of every row. */
#ifndef HIGHWATER_KERNELS_WORKLOADS_DECODER_PASS_H
#define HIGHWATER_KERNELS_WORKLOADS_DECODER_PASS_H

#include "kernels/ops_decoder.h"

/* Arrays of one decode step, kept so that a recorded step finds them again. */
struct decoder_step {
    struct tensor *x, *y, *qkv, *attention, *gate_up, *logits, *partial;
    uint64_t splits;
    struct recording *recording;
};

struct decoder;
/* The prompt of one request; its logits at the last position, the caller releases them. */
struct tensor *decoder_prefill(struct decoder *decoder, uint64_t sequence);
void decoder_step_open(struct decoder *decoder);
void decoder_step_close(struct decoder *decoder);
/* One token more for every row. */
void decoder_step(struct decoder *decoder);

#endif
