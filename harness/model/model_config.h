/* model_config: the shape of a decoder of the Llama family, from a model's config.json.
 *
 * Nothing that decides the arithmetic is guessed: a field that is missing is named (all of them
 * at once), an architecture, activation or rotary scaling that is not known is refused by name.
 * What the format itself defines for an absent field (key-value heads as many as heads, rotary
 * base 10000, …) is taken and said in `notes`.
 */
#ifndef HIGHWATER_MODEL_MODEL_CONFIG_H
#define HIGHWATER_MODEL_MODEL_CONFIG_H

#include "harness/base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define MODEL_LAYER_LIMIT 1024

enum rope_scaling { ROPE_DEFAULT, ROPE_LINEAR, ROPE_LLAMA3 };

struct model_config {
    char architecture[48];
    uint64_t width, layers, heads, kv_heads, head_dim, intermediate, vocabulary;
    double norm_eps, rope_theta;
    enum rope_scaling rope_scaling;
    double rope_factor;                             /* LINEAR, LLAMA3 */
    double rope_low_frequency, rope_high_frequency; /* LLAMA3 */
    double rope_original_context;                   /* LLAMA3 */
    bool tied_embeddings;
    bool qkv_bias, out_bias, mlp_bias;
    uint64_t window; /* a token sees itself and window - 1 before it; 0: all before it */
    uint64_t windowed[MODEL_LAYER_LIMIT / 64]; /* a bit per layer: does the window hold there */
    char notes[256]; /* what was assumed or read from an inner object; "" nothing */
};

/* From FOLDER/config.json, or from memory (`name` stands for the file in messages). */
int model_config_read(const char *folder, struct model_config *out,
                      struct text *why) MUST_CHECK;
int model_config_parse(const char *name, const char *bytes, size_t length,
                       struct model_config *out, struct text *why) MUST_CHECK;
/* Bounds and divisibility that any config, read or made, must keep; -1 names the first
 * fault. */
int model_config_check(const struct model_config *config, struct text *why) MUST_CHECK;

/* The window of one layer, 0: none. */
uint64_t model_config_window(const struct model_config *config, uint64_t layer);
/* Weights of the network, tied matrices once. Fits 64 bits for every config that is checked. */
uint64_t model_config_parameters(const struct model_config *config);
/* Rotary frequencies, head_dim / 2 of them, scaling included. */
void model_config_frequencies(const struct model_config *config, float *out);

#endif
