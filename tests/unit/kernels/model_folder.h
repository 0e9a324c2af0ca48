/* Model folders made by tests: a config.json, and weights from a small generator, rounded to
 * the format that they are stored in. */
#ifndef HIGHWATER_TESTS_MODEL_FOLDER_H
#define HIGHWATER_TESTS_MODEL_FOLDER_H

#include "harness/base/file.h"
#include "harness/model/model_config.h"
#include "kernels/host/convert.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct made_tensor {
    char name[80];
    uint64_t rows, features; /* features 0: a vector */
    float *values;
};
struct made_model {
    struct model_config shape;
    enum dtype stored;
    struct made_tensor tensors[80];
    size_t count;
};

static void demand(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void make_tensor(struct made_model *model, const char *name, uint64_t rows,
                        uint64_t features, float centre, float spread)
{
    struct made_tensor *tensor = &model->tensors[model->count++];
    uint64_t count = rows * (features ? features : 1),
             state = 0x9E3779B97F4A7C15u + model->count;
    *tensor = (struct made_tensor){.rows = rows, .features = features};
    snprintf(tensor->name, sizeof(tensor->name), "%s", name);
    tensor->values = xmalloc(count * sizeof(float));
    for (uint64_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        tensor->values[i] = centre + spread * ((float)(state >> 40) / 8388608.0f - 1.0f);
    }
    uint16_t *narrow = xmalloc(count * sizeof(float));
    struct array array = {(uint64_t)(uintptr_t)narrow, model->stored};
    host_store(array, 0, count, tensor->values);
    host_load(array, 0, count, tensor->values);
    free(narrow);
}

static void make_layer(struct made_model *model, uint64_t l)
{
    const struct model_config *s = &model->shape;
    uint64_t q = s->heads * s->head_dim, kv = s->kv_heads * s->head_dim, w = s->width;
    const struct {
        const char *name;
        uint64_t rows, features;
        bool there;
    } all[] = {{"input_layernorm.weight", w, 0, true},
               {"self_attn.q_proj.weight", q, w, true},
               {"self_attn.k_proj.weight", kv, w, true},
               {"self_attn.v_proj.weight", kv, w, true},
               {"self_attn.o_proj.weight", w, q, true},
               {"self_attn.q_proj.bias", q, 0, s->qkv_bias},
               {"self_attn.k_proj.bias", kv, 0, s->qkv_bias},
               {"self_attn.v_proj.bias", kv, 0, s->qkv_bias},
               {"self_attn.o_proj.bias", w, 0, s->out_bias},
               {"post_attention_layernorm.weight", w, 0, true},
               {"mlp.gate_proj.weight", s->intermediate, w, true},
               {"mlp.up_proj.weight", s->intermediate, w, true},
               {"mlp.down_proj.weight", w, s->intermediate, true},
               {"mlp.gate_proj.bias", s->intermediate, 0, s->mlp_bias},
               {"mlp.up_proj.bias", s->intermediate, 0, s->mlp_bias},
               {"mlp.down_proj.bias", w, 0, s->mlp_bias}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char name[128];
        bool norm = strstr(all[i].name, "layernorm") != NULL;
        snprintf(name, sizeof(name), "model.layers.%" PRIu64 ".%s", l, all[i].name);
        if (all[i].there)
            make_tensor(model, name, all[i].rows, all[i].features, norm ? 1 : 0,
                        all[i].features ? 0.35f : 0.2f);
    }
}

/* The weights of the network that `config` describes. */
static void make_model(struct made_model *model, const char *config, enum dtype stored)
{
    struct text why = TEXT_INIT;
    *model = (struct made_model){.stored = stored};
    int result = model_config_parse("config", config, strlen(config), &model->shape, &why);
    demand(result == 0, text_string(&why));
    const struct model_config *s = &model->shape;
    make_tensor(model, "model.embed_tokens.weight", s->vocabulary, s->width, 0, 1);
    for (uint64_t l = 0; l < s->layers; l++)
        make_layer(model, l);
    make_tensor(model, "model.norm.weight", s->width, 0, 1, 0.2f);
    if (!s->tied_embeddings)
        make_tensor(model, "lm_head.weight", s->vocabulary, s->width, 0, 0.4f);
    text_release(&why);
}

static void forget_model(struct made_model *model)
{
    for (size_t i = 0; i < model->count; i++)
        free(model->tensors[i].values);
}

#endif
