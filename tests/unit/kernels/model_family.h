/* Members of the family that differ in everything a config.json can say; no size fits a
 * tile. */
#ifndef HIGHWATER_TESTS_MODEL_FAMILY_H
#define HIGHWATER_TESTS_MODEL_FAMILY_H

#include "kernels/dtype.h"

#include <stddef.h>

#define COMMON                                                                                 \
    "\"hidden_size\": 36, \"num_hidden_layers\": 2, \"intermediate_size\": 50, "               \
    "\"vocab_size\": 61, \"num_attention_heads\": 6"
static const struct member {
    const char *config;
    enum dtype stored;
    size_t shards;
} family[] = {
    {"{\"architectures\": [\"LlamaForCausalLM\"], " COMMON ", \"num_key_value_heads\": 1, "
     "\"head_dim\": 10, \"rms_norm_eps\": 0.01, \"rope_theta\": 700.5, "
     "\"tie_word_embeddings\": true}",
     DTYPE_float32, 1},
    {"{\"architectures\": [\"LlamaForCausalLM\"], " COMMON ", \"rms_norm_eps\": 1e-6, "
     "\"attention_bias\": true, \"mlp_bias\": true, \"rope_scaling\": {\"rope_type\": "
     "\"llama3\", "
     "\"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
     "\"original_max_position_embeddings\": 16}}",
     DTYPE_float16, 3},
    {"{\"architectures\": [\"MistralForCausalLM\"], " COMMON ", \"num_key_value_heads\": 3, "
     "\"rms_norm_eps\": 1e-5, \"rope_theta\": 1000000.0, \"sliding_window\": 5}",
     DTYPE_bfloat16, 2},
    {"{\"architectures\": [\"Qwen2ForCausalLM\"], " COMMON ", \"num_key_value_heads\": 2, "
     "\"rms_norm_eps\": 1e-6, \"use_sliding_window\": true, \"sliding_window\": 4, "
     "\"layer_types\": [\"full_attention\", \"sliding_attention\"], \"rope_parameters\": "
     "{\"rope_type\": \"linear\", \"factor\": 2.0, \"rope_theta\": 10000.0}}",
     DTYPE_float32, 1},
};
enum { FAMILY = sizeof(family) / sizeof(family[0]) };

#endif
