/* decoder: inference with a KV cache, while it runs. decoder.c is the list of phases; the other
 * decoder_*.c files are its parts, and this is what they share.
 */
#ifndef HIGHWATER_KERNELS_WORKLOADS_DECODER_H
#define HIGHWATER_KERNELS_WORKLOADS_DECODER_H

#include "harness/workload/session.h"
#include "kernels/workloads/decoder_kv.h"
#include "kernels/workloads/decoder_pass.h"
#include "kernels/workloads/decoder_shape.h"
#include "kernels/workloads/decoder_weights.h"

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

#endif
