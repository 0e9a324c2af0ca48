/* decoder_weights.c: every weight of the network, generated or read from a model's folder.
 *
 * Query, key and value stand in one matrix, and so do gate and up: one product each. */
#include "harness/base/file.h"
#include "harness/estimate/safetensors.h"
#include "kernels/host/convert.h"
#include "kernels/workloads/decoder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of the tensors for the generator; they keep their meaning for ever. A layer is the
 * generator's sequence. */
enum {
    TENSOR_embedding = 10,
    TENSOR_head,
    TENSOR_q,
    TENSOR_k,
    TENSOR_v,
    TENSOR_out,
    TENSOR_gate,
    TENSOR_up,
    TENSOR_down,
    TENSOR_q_bias,
    TENSOR_k_bias,
    TENSOR_v_bias,
    TENSOR_out_bias,
    TENSOR_gate_bias,
    TENSOR_up_bias,
    TENSOR_down_bias,
    TENSOR_ones = 255, /* norms: not generated */
};
#define WEIGHT_SCALE 0.02f
enum { CHUNK = 1 << 22 }; /* elements read at a time; no vector is longer */

/* Rows of a tensor that have a name and a number of their own. */
struct part {
    const char *name; /* within the layer, or of the whole network */
    uint32_t number;
    uint64_t rows;
};

struct loading {
    struct decoder *decoder;
    struct safetensors files;
    bool read;    /* from files, else generated */
    bool *taken;  /* tensors of the files that were used */
    void *narrow; /* CHUNK elements as they go to the device */
    float *wide;
};

/* "model.layers.7.self_attn.q_proj.weight" */
static void full_name(char name[128], const char *part, uint64_t layer)
{
    if (layer == UINT64_MAX)
        snprintf(name, 128, "%s", part);
    else
        snprintf(name, 128, "model.layers.%" PRIu64 ".%s", layer, part);
}

static const struct safetensors_tensor *find(struct loading *loading, const char *name,
                                             uint64_t rows, uint64_t features)
{
    struct session *session = loading->decoder->session;
    const struct safetensors_tensor *found = safetensors_find(&loading->files, name);
    size_t rank = features ? 2 : 1;
    if (!found) {
        session_fail(session, STATUS_error, "%s: tensor %s is missing",
                     loading->decoder->options->model, name);
        return NULL;
    }
    if (found->rank == rank && found->shape[0] == rows &&
        (rank == 1 || found->shape[1] == features))
        return found;
    struct text shape = TEXT_INIT;
    safetensors_add_shape(found, &shape);
    session_fail(session, STATUS_error,
                 "%s: tensor %s has shape %s, the network needs [%" PRIu64 "%s%.0" PRIu64 "]",
                 loading->decoder->options->model, name, text_string(&shape), rows,
                 features ? ", " : "", features);
    text_release(&shape);
    return NULL;
}

/* As stored where that is the dtype computed in, else through float32. */
static int fetch(struct loading *loading, const struct safetensors_tensor *from, uint64_t first,
                 uint64_t count, struct text *why)
{
    static const enum safetensors_dtype same[] = {[DTYPE_float32] = SAFETENSORS_F32,
                                                  [DTYPE_float16] = SAFETENSORS_F16,
                                                  [DTYPE_bfloat16] = SAFETENSORS_BF16};
    enum dtype dtype = loading->decoder->dtype;
    if (from->dtype == same[dtype])
        return safetensors_read(&loading->files, from, first, count, loading->narrow, why);
    int result =
        safetensors_read_float(&loading->files, from, first, count, loading->wide, why);
    struct array to = {(uint64_t)(uintptr_t)loading->narrow, dtype};
    if (result == 0)
        host_store(to, 0, count, loading->wide);
    return result;
}

static void read_part(struct loading *loading, struct array to, const char *name, uint64_t rows,
                      uint64_t features)
{
    struct session *session = loading->decoder->session;
    const struct safetensors_tensor *from = find(loading, name, rows, features);
    struct text why = TEXT_INIT;
    if (!from)
        return;
    loading->taken[from - loading->files.tensors] = true;
    for (uint64_t at = 0; at < from->elements && session_math(session); at += CHUNK) {
        uint64_t count = from->elements - at < CHUNK ? from->elements - at : CHUNK;
        if (fetch(loading, from, at, count, &why) != 0)
            session_fail(session, STATUS_error, "%s", text_string(&why));
        else
            decoder_upload(loading->decoder, array_at(to, at).address, loading->narrow,
                           count * dtype_bytes(to.dtype));
    }
    text_release(&why);
}

static void make_ones(struct loading *loading, struct array to, uint64_t count)
{
    if (!loading->wide)
        return; /* nothing is computed here */
    struct array ones = {(uint64_t)(uintptr_t)loading->narrow, to.dtype};
    for (uint64_t i = 0; i < count; i++)
        loading->wide[i] = 1;
    host_store(ones, 0, count, loading->wide);
    decoder_upload(loading->decoder, to.address, loading->narrow,
                   count * dtype_bytes(to.dtype));
}

static void make_part(struct loading *loading, struct array to, const struct part *part,
                      uint64_t layer, uint64_t features)
{
    struct session *session = loading->decoder->session;
    struct math *math = session_math(session);
    struct fill fill = {.seed = session_setting(session)->seed,
                        .tensor = part->number,
                        .sequence = layer == UINT64_MAX ? 0 : layer,
                        .rows = features ? part->rows : 1,
                        .positions = 1,
                        .features = features ? features : part->rows,
                        .scale = WEIGHT_SCALE};
    if (part->number == TENSOR_ones)
        make_ones(loading, to, part->rows);
    else if (math)
        session_check(session, math->ops->fill_normal(math, to, &fill));
}

/* One tensor of up to three parts below each other; features 0: a vector. */
static struct tensor *weight(struct loading *loading, uint64_t layer, uint64_t features,
                             const struct part *parts, size_t count)
{
    struct decoder *decoder = loading->decoder;
    uint64_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += parts[i].rows;
    struct tensor *tensor = session_tensor(decoder->session, parts[0].name, TAG_weights,
                                           decoder->dtype, (struct shape){{rows, features}});
    struct array to = tensor->array;
    for (size_t i = 0; i < count && session_works(decoder->session); i++) {
        char name[128];
        full_name(name, parts[i].name, layer);
        if (loading->read)
            read_part(loading, to, name, parts[i].rows, features);
        else
            make_part(loading, to, &parts[i], layer, features);
        to = array_at(to, parts[i].rows * (features ? features : 1));
    }
    return tensor;
}

#define WEIGHT(loading, layer, features, ...)                                                  \
    weight(loading, layer, features, (const struct part[]){__VA_ARGS__},                       \
           sizeof((const struct part[]){__VA_ARGS__}) / sizeof(struct part))

static void load_layer(struct loading *loading, uint64_t l)
{
    const struct model_config *shape = &loading->decoder->shape;
    struct decoder_layer *layer = &loading->decoder->weights.layers[l];
    uint64_t width = shape->width, inner = shape->intermediate;
    uint64_t q = shape->heads * shape->head_dim, kv = shape->kv_heads * shape->head_dim;
    layer->input_norm = WEIGHT(loading, l, 0, {"input_layernorm.weight", TENSOR_ones, width});
    layer->qkv = WEIGHT(loading, l, width, {"self_attn.q_proj.weight", TENSOR_q, q},
                        {"self_attn.k_proj.weight", TENSOR_k, kv},
                        {"self_attn.v_proj.weight", TENSOR_v, kv});
    if (shape->qkv_bias)
        layer->qkv_bias = WEIGHT(loading, l, 0, {"self_attn.q_proj.bias", TENSOR_q_bias, q},
                                 {"self_attn.k_proj.bias", TENSOR_k_bias, kv},
                                 {"self_attn.v_proj.bias", TENSOR_v_bias, kv});
    layer->out = WEIGHT(loading, l, q, {"self_attn.o_proj.weight", TENSOR_out, width});
    if (shape->out_bias)
        layer->out_bias =
            WEIGHT(loading, l, 0, {"self_attn.o_proj.bias", TENSOR_out_bias, width});
    layer->post_norm =
        WEIGHT(loading, l, 0, {"post_attention_layernorm.weight", TENSOR_ones, width});
    layer->gate_up = WEIGHT(loading, l, width, {"mlp.gate_proj.weight", TENSOR_gate, inner},
                            {"mlp.up_proj.weight", TENSOR_up, inner});
    layer->down = WEIGHT(loading, l, inner, {"mlp.down_proj.weight", TENSOR_down, width});
    if (!shape->mlp_bias)
        return;
    layer->gate_up_bias = WEIGHT(loading, l, 0, {"mlp.gate_proj.bias", TENSOR_gate_bias, inner},
                                 {"mlp.up_proj.bias", TENSOR_up_bias, inner});
    layer->down_bias = WEIGHT(loading, l, 0, {"mlp.down_proj.bias", TENSOR_down_bias, width});
}

/* A tensor that nothing asked for would make another network: it is named. Of tied matrices the
 * file may hold both, and old files hold the rotary frequencies. */
static void check_all_taken(struct loading *loading)
{
    const struct decoder *decoder = loading->decoder;
    for (size_t i = 0; i < loading->files.tensor_count; i++) {
        const char *name = loading->files.tensors[i].name;
        size_t length = strlen(name);
        bool frequencies = length > 8 && strcmp(name + length - 8, "inv_freq") == 0;
        bool tied = decoder->shape.tied_embeddings && strcmp(name, "lm_head.weight") == 0;
        if (loading->taken[i] || frequencies || tied)
            continue;
        struct text shown = TEXT_INIT;
        text_add_escaped(&shown, name, length, 120);
        session_fail(decoder->session, STATUS_error,
                     "%s: tensor %s belongs to no part of %s as config.json describes it",
                     decoder->options->model, text_string(&shown), decoder->shape.architecture);
        text_release(&shown);
        return;
    }
}

/* A folder without weights (config.json alone) gets generated ones of that shape. */
static void open_files(struct loading *loading)
{
    struct decoder *decoder = loading->decoder;
    const char *folder = decoder->options->model;
    struct text why = TEXT_INIT;
    if (!folder || !folder[0])
        return;
    char *single = xasprintf("%s/model.safetensors", folder);
    char *index = xasprintf("%s/model.safetensors.index.json", folder);
    if (file_exists(single) || file_exists(index)) {
        loading->read = safetensors_open_folder(folder, &loading->files, &why) == 0;
        if (!loading->read)
            session_fail(decoder->session, STATUS_error, "%s", text_string(&why));
        else if (!loading->files.complete)
            session_fail(decoder->session, STATUS_error, "%s: index and shards disagree: %s",
                         folder, text_string(&loading->files.issues));
        loading->taken = xcalloc(loading->files.tensor_count + 1, sizeof(bool));
    } else {
        session_warn(decoder->session, "weights are generated: the model's folder holds none");
    }
    free(single);
    free(index);
    text_release(&why);
}

static void load_all(struct loading *loading)
{
    struct decoder *decoder = loading->decoder;
    const struct model_config *shape = &decoder->shape;
    struct decoder_weights *weights = &decoder->weights;
    const uint64_t none = UINT64_MAX;
    weights->embedding =
        WEIGHT(loading, none, shape->width,
               {"model.embed_tokens.weight", TENSOR_embedding, shape->vocabulary});
    for (uint64_t l = 0; l < shape->layers && session_works(decoder->session); l++)
        load_layer(loading, l);
    weights->norm = WEIGHT(loading, none, 0, {"model.norm.weight", TENSOR_ones, shape->width});
    weights->head = shape->tied_embeddings
                        ? weights->embedding
                        : WEIGHT(loading, none, shape->width,
                                 {"lm_head.weight", TENSOR_head, shape->vocabulary});
    if (loading->read && session_works(decoder->session))
        check_all_taken(loading);
}

void decoder_load(struct decoder *decoder)
{
    struct loading loading = {.decoder = decoder};
    decoder->weights.layers = xcalloc(decoder->shape.layers, sizeof(struct decoder_layer));
    if (session_math(decoder->session)) {
        loading.narrow = xmalloc(CHUNK * dtype_bytes(decoder->dtype));
        loading.wide = xmalloc(CHUNK * sizeof(float));
    }
    open_files(&loading);
    if (session_works(decoder->session))
        load_all(&loading);
    safetensors_release(&loading.files);
    free(loading.taken);
    free(loading.narrow);
    free(loading.wide);
}

void decoder_unload(struct decoder *decoder)
{
    struct decoder_weights *weights = &decoder->weights;
    if (weights->head != weights->embedding)
        decoder_release(decoder, weights->head);
    decoder_release(decoder, weights->norm);
    for (uint64_t l = decoder->shape.layers; l-- > 0;) {
        struct decoder_layer *layer = &weights->layers[l];
        struct tensor *const all[] = {layer->down_bias, layer->gate_up_bias, layer->down,
                                      layer->gate_up,   layer->post_norm,    layer->out_bias,
                                      layer->out,       layer->qkv_bias,     layer->qkv,
                                      layer->input_norm};
        for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
            decoder_release(decoder, all[i]);
    }
    decoder_release(decoder, weights->embedding);
    free(weights->layers);
}
