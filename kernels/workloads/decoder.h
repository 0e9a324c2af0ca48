/* decoder: inference with a KV cache, while it runs. decoder.c is the list of phases; the other
 * decoder_*.c files are its parts, and this is what they share. */
#ifndef HIGHWATER_KERNELS_DECODER_H
#define HIGHWATER_KERNELS_DECODER_H

#include "harness/model/model_config.h"
#include "kernels/ops_decoder.h"
#include "harness/workload/session.h"

/* --- what is asked for (decoder_shape.c) -------------------------------------------- */
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
int decoder_look(const struct point *point, const void *options, struct text *notes,
                 struct text *why);
void decoder_estimate(const struct point *point, int dtype, const void *options,
                      struct reading *weights, struct reading *kv);
double decoder_operations(const struct point *point, const void *options);

/* --- its state ---------------------------------------------------------------------- */
/* NULL: the network has none. */
struct decoder_layer {
    struct tensor *input_norm, *qkv, *qkv_bias, *out, *out_bias;
    struct tensor *post_norm, *gate_up, *gate_up_bias, *down, *down_bias;
};
struct decoder_weights {
    struct tensor *embedding, *norm, *head; /* head: the embedding itself when they are tied */
    struct decoder_layer *layers;
};
struct decoder_kv {
    uint64_t slots;           /* tokens kept per row when all are there */
    uint64_t pages_per_row;   /* paged */
    struct tensor **blocks;   /* [layer][key, value][sequence]; paged: [layer][key, value] */
    uint64_t *held;           /* grow: slots of each block of [layer][sequence] now */
    struct tensor *addresses; /* of the blocks, on the device */
    struct tensor *pages;
};
/* Arrays of one decode step, kept so that a recorded step finds them again. */
struct decoder_step {
    struct tensor *x, *y, *qkv, *attention, *gate_up, *logits, *partial;
    uint64_t splits;
    struct recording *recording;
};
struct decoder {
    struct session *session;
    const struct decoder_options *options;
    struct model_config shape;
    enum dtype dtype;
    uint64_t batch, context, sequences, generated;
    uint64_t rows; /* of all requests together */
    struct decoder_weights weights;
    struct tensor **prompts; /* [sequence] */
    struct tensor *history;  /* tokens [generated + 1][rows] */
    struct tensor *state, *frequencies;
    struct decoder_kv kv;
    struct decoder_step step;
    float *first_logits; /* [rows][vocabulary] for the answer; NULL: not asked for */
};

/* Does an operation of ops_decoder where there is arithmetic, and notes how it ended. */
#define DECODER_DO(decoder, operation, ...)                                                    \
    do {                                                                                       \
        struct math *math_ = session_math((decoder)->session);                                 \
        if (math_)                                                                             \
            session_check((decoder)->session,                                                  \
                          math_->ops->decoder->operation(math_, __VA_ARGS__));                 \
    } while (0)

/* A tensor of 32-bit words. */
struct tensor *decoder_words(struct decoder *decoder, const char *name, enum tag tag,
                             uint64_t count);
void decoder_release(struct decoder *decoder, struct tensor *tensor); /* NULL: nothing */
/* All rows hold `position` tokens and the next step is the first; `empty`: no page is taken. */
void decoder_stand_at(struct decoder *decoder, uint64_t position, bool empty);
void decoder_upload(struct decoder *decoder, uint64_t to, const void *from, uint64_t bytes);
void decoder_download(struct decoder *decoder, void *to, uint64_t from, uint64_t bytes);

/* --- parts -------------------------------------------------------------------------- */
void decoder_load(struct decoder *decoder); /* decoder_weights.c */
void decoder_unload(struct decoder *decoder);
void decoder_prompts(struct decoder *decoder); /* decoder_text.c */
void decoder_answer(struct decoder *decoder);
double decoder_digest(struct decoder *decoder);

void decoder_kv_open(struct decoder *decoder); /* decoder_kv.c */
void decoder_kv_close(struct decoder *decoder);
void decoder_kv_restart(struct decoder *decoder); /* all rows empty again */
/* Room for `tokens` more of a request (grow: new blocks), of each if it is `sequences`. */
void decoder_kv_reserve(struct decoder *decoder, uint64_t layer, uint64_t sequence,
                        uint64_t tokens);
struct cache decoder_kv_view(const struct decoder *decoder, uint64_t layer);

/* The prompt of one request; its logits at the last position, the caller releases them. */
struct tensor *decoder_prefill(struct decoder *decoder, uint64_t sequence); /* decoder_pass.c */
void decoder_step_open(struct decoder *decoder);
void decoder_step_close(struct decoder *decoder);
/* One token more for every row. */
void decoder_step(struct decoder *decoder);

#endif
