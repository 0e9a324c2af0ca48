/* model_shape.c: what follows from a decoder's shape alone. */
#include "harness/model/model_config.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* Bounds far beyond any network; below them no product of a shape can overflow 64 bits. */
static const struct bound {
    const char *name;
    size_t offset;
    uint64_t most;
} bounds[] = {
    {"layers", offsetof(struct model_config, layers), MODEL_LAYER_LIMIT},
    {"width", offsetof(struct model_config, width), 1u << 20},
    {"heads", offsetof(struct model_config, heads), 1u << 14},
    {"kv_heads", offsetof(struct model_config, kv_heads), 1u << 14},
    {"head_dim", offsetof(struct model_config, head_dim), 1u << 10},
    {"intermediate", offsetof(struct model_config, intermediate), 1u << 22},
    {"vocabulary", offsetof(struct model_config, vocabulary), 1u << 26},
};

int model_config_check(const struct model_config *config, struct text *why)
{
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        uint64_t value = *(const uint64_t *)((const char *)config + bounds[i].offset);
        if (value == 0 || value > bounds[i].most) {
            text_addf(why, "%s is %" PRIu64 ", not 1 to %" PRIu64, bounds[i].name, value,
                      bounds[i].most);
            return -1;
        }
    }
    if (config->heads % config->kv_heads != 0) {
        text_addf(why, "%" PRIu64 " heads are not a multiple of %" PRIu64 " key-value heads",
                  config->heads, config->kv_heads);
        return -1;
    }
    if (config->head_dim % 2 != 0) {
        text_addf(why, "head_dim %" PRIu64 " is odd: rotary positions turn pairs",
                  config->head_dim);
        return -1;
    }
    if (!(config->norm_eps >= 0 && config->norm_eps < 1)) {
        text_addf(why, "norm_eps %g is not in 0 to 1", config->norm_eps);
        return -1;
    }
    if (!(config->rope_theta > 0 && config->rope_theta < 1e18)) {
        text_addf(why, "rope_theta %g is not above 0", config->rope_theta);
        return -1;
    }
    if (config->rope_scaling != ROPE_DEFAULT && !(config->rope_factor >= 1)) {
        text_addf(why, "rotary scaling factor %g is below 1", config->rope_factor);
        return -1;
    }
    if (config->rope_scaling == ROPE_LLAMA3 &&
        !(config->rope_low_frequency > 0 && config->rope_original_context > 0 &&
          config->rope_high_frequency > config->rope_low_frequency)) {
        text_add(why, "rotary scaling llama3: its low and high factors are not in order");
        return -1;
    }
    return 0;
}

uint64_t model_config_window(const struct model_config *config, uint64_t layer)
{
    return config->windowed[layer / 64] >> layer % 64 & 1 ? config->window : 0;
}

uint64_t model_config_parameters(const struct model_config *config)
{
    uint64_t width = config->width, inner = config->heads * config->head_dim;
    uint64_t qkv = inner + 2 * config->kv_heads * config->head_dim;
    uint64_t layer = 2 * width + width * qkv + inner * width + 3 * width * config->intermediate;
    layer += config->qkv_bias ? qkv : 0;
    layer += config->out_bias ? width : 0;
    layer += config->mlp_bias ? 2 * config->intermediate + width : 0;
    uint64_t ends = config->vocabulary * width * (config->tied_embeddings ? 1 : 2);
    return ends + width + config->layers * layer;
}

/* Long waves are slowed by the factor, short ones kept, those between blended. */
static double scaled(const struct model_config *config, double frequency)
{
    if (config->rope_scaling == ROPE_DEFAULT)
        return frequency;
    if (config->rope_scaling == ROPE_LINEAR)
        return frequency / config->rope_factor;
    double turns = config->rope_original_context * frequency / (2 * 3.14159265358979323846);
    double low = config->rope_low_frequency, high = config->rope_high_frequency;
    if (turns < low)
        return frequency / config->rope_factor;
    if (turns > high)
        return frequency;
    double smooth = (turns - low) / (high - low);
    return (1 - smooth) * frequency / config->rope_factor + smooth * frequency;
}

void model_config_frequencies(const struct model_config *config, float *out)
{
    for (uint64_t i = 0; i < config->head_dim / 2; i++) {
        double exponent = (double)(2 * i) / (double)config->head_dim;
        out[i] = (float)scaled(config, pow(config->rope_theta, -exponent));
    }
}
