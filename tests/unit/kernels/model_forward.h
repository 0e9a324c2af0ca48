/* The forward pass of model_reference.h. */
#ifndef HIGHWATER_TESTS_MODEL_FORWARD_H
#define HIGHWATER_TESTS_MODEL_FORWARD_H

#include "tests/unit/kernels/model_reference.h"

struct room {
    double *x, *y, *q, *k, *v, *mix, *gate, *up;
};

static void forward_layer(const struct made_model *model, uint64_t l, uint64_t n, uint64_t kept,
                          const struct room *at)
{
    const struct model_config *s = &model->shape;
    uint64_t d = s->head_dim, q = s->heads * d, kv = s->kv_heads * d, inner = s->intermediate;
    uint64_t window = model_config_window(s, l);
    char layer[64];
    snprintf(layer, sizeof(layer), "model.layers.%" PRIu64 ".", l);
    rms(model, layer, "input_layernorm", at->x, n, at->y);
    times(model, layer, "self_attn.q_proj", at->y, n, s->width, q, false, at->q);
    times(model, layer, "self_attn.k_proj", at->y, n, s->width, kv, false, at->k);
    times(model, layer, "self_attn.v_proj", at->y, n, s->width, kv, false, at->v);
    for (uint64_t t = 0; t < n; t++) {
        for (uint64_t h = 0; h < s->heads; h++)
            rotate(s, at->q + t * q + h * d, t);
        for (uint64_t h = 0; h < s->kv_heads; h++)
            rotate(s, at->k + t * kv + h * d, t);
    }
    attention(s, at->q, at->k, at->v, n, kept && (!window || kept < window) ? kept : window,
              at->mix);
    times(model, layer, "self_attn.o_proj", at->mix, n, q, s->width, true, at->x);
    rms(model, layer, "post_attention_layernorm", at->x, n, at->y);
    times(model, layer, "mlp.gate_proj", at->y, n, s->width, inner, false, at->gate);
    times(model, layer, "mlp.up_proj", at->y, n, s->width, inner, false, at->up);
    for (uint64_t i = 0; i < n * inner; i++)
        at->gate[i] = at->gate[i] / (1 + exp(-at->gate[i])) * at->up[i];
    times(model, layer, "mlp.down_proj", at->gate, n, inner, s->width, true, at->x);
}

/* Logits at the last of n tokens. A token sees what its layer's window lets it see, and no more
 * than `kept` tokens in all (0: no bound). */
static void reference_logits(const struct made_model *model, const uint32_t *tokens, uint64_t n,
                             uint64_t kept, double *logits)
{
    const struct model_config *s = &model->shape;
    uint64_t w = s->width, q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim;
    uint64_t inner = s->intermediate, all = 2 * w + 2 * q + 2 * kv + 2 * inner;
    double *memory = xmalloc(n * all * sizeof(double));
    struct room at = {.x = memory};
    at.y = at.x + n * w, at.q = at.y + n * w, at.mix = at.q + n * q, at.k = at.mix + n * q;
    at.v = at.k + n * kv, at.gate = at.v + n * kv, at.up = at.gate + n * inner;
    for (uint64_t i = 0; i < n * w; i++)
        at.x[i] = (double)made(model, "model.embed_tokens.weight")[tokens[i / w] * w + i % w];
    for (uint64_t l = 0; l < s->layers; l++)
        forward_layer(model, l, n, kept, &at);
    rms(model, "model.", "norm", at.x + (n - 1) * w, 1, at.y);
    times(model, "", s->tied_embeddings ? "model.embed_tokens" : "lm_head", at.y, 1, w,
          s->vocabulary, false, logits);
    free(memory);
}

/* Appends `count` greedy tokens, each by the whole text anew. */
static void reference_greedy(const struct made_model *model, uint32_t *tokens, uint64_t n,
                             uint64_t count, uint64_t kept, double *first_logits)
{
    uint64_t vocabulary = model->shape.vocabulary;
    double *logits = xmalloc(vocabulary * sizeof(double));
    for (uint64_t i = 0; i < count; i++) {
        uint32_t best = 0;
        reference_logits(model, tokens, n + i, kept, logits);
        if (i == 0)
            memcpy(first_logits, logits, vocabulary * sizeof(double));
        for (uint32_t token = 1; token < vocabulary; token++)
            if (logits[token] > logits[best])
                best = token;
        tokens[n + i] = best;
    }
    free(logits);
}

#endif
