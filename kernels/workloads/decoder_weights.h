/* decoder_weights: every weight of the network, generated or read from a model's folder. */
#ifndef HIGHWATER_KERNELS_WORKLOADS_DECODER_WEIGHTS_H
#define HIGHWATER_KERNELS_WORKLOADS_DECODER_WEIGHTS_H

#include "kernels/ops.h"

/* NULL: the network has none. */
struct decoder_layer {
    struct tensor *input_norm, *qkv, *qkv_bias, *out, *out_bias;
    struct tensor *post_norm, *gate_up, *gate_up_bias, *down, *down_bias;
};
struct decoder_weights {
    struct tensor *embedding, *norm, *head; /* head: the embedding itself when they are tied */
    struct decoder_layer *layers;
};

struct decoder;
struct decoder_files;
void decoder_load(struct decoder *decoder);
void decoder_unload(struct decoder *decoder);
/* Tells `files` of every tensor of the network, by decoder_files_need. */
void decoder_weights_need(struct decoder_files *files);

#endif
