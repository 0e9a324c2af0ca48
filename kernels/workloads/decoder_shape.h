/* decoder_shape: what is asked of a decoder, and the network that follows from it. */
#ifndef HIGHWATER_KERNELS_WORKLOADS_DECODER_SHAPE_H
#define HIGHWATER_KERNELS_WORKLOADS_DECODER_SHAPE_H

#include "harness/model/model_config.h"
#include "harness/workload/workload.h"

enum kv_layout { KV_STATIC, KV_GROW, KV_PAGED };
/* 0: by the rule, which decoder_rule says in words. */
struct decoder_options {
    uint64_t heads, kv_heads, head_dim, intermediate, vocabulary, window;
    double rope_theta, norm_eps;
    bool tied_embeddings, qkv_bias;
    char *model, *prompt, *answer;
    int kv_layout, kv_dtype, weight_format;
    uint64_t kv_window;
    bool kv_offload;
};
extern const struct option decoder_options[];
extern const char decoder_rule[];

/* The network of a point: the model's, or by the rule. */
int decoder_shape(const struct point *point, const struct decoder_options *options,
                  struct model_config *out, struct text *why) MUST_CHECK;
bool decoder_has_model(const struct decoder_options *options);
/* The format asked for weights; NULL: that of the computation. */
const char *decoder_format(const struct decoder_options *options);
struct reading decoder_fixed(enum dimension dimension, const void *options);
int decoder_check_options(const void *options, const char **key, struct text *why);
int decoder_check(const struct point *point, const void *options, struct text *why);
void decoder_estimate(const struct point *point, int dtype, const void *options,
                      struct reading *weights, struct reading *kv);
double decoder_operations(const struct point *point, const void *options);

#endif
