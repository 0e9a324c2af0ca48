/* Query, key and value stand in one matrix, and so do gate and up: one product each. */
#include "kernels/host/convert.h"
#include "kernels/workloads/decoder_files.h"

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
struct weight_part {
    const char *name; /* within the layer, or of the whole network */
    uint32_t number;
    uint64_t rows;
};

struct loading {
    struct decoder *decoder;
    const struct model_config *shape;
    struct decoder_files files;
    struct decoder_files *compared; /* they are only told what is needed; NULL: it is loaded */
    void *narrow;                   /* CHUNK elements as they go to the device */
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

/* As stored where that is the dtype computed in, else through float32. */
static int fetch(struct loading *loading, const struct safetensors_tensor *from, uint64_t first,
                 uint64_t count, struct text *why)
{
    static const enum safetensors_dtype same[] = {[DTYPE_float32] = SAFETENSORS_F32,
                                                  [DTYPE_float16] = SAFETENSORS_F16,
                                                  [DTYPE_bfloat16] = SAFETENSORS_BF16};
    enum dtype dtype = loading->decoder->dtype;
    if (from->dtype == same[dtype])
        return safetensors_read(&loading->files.set, from, first, count, loading->narrow, why);
    int result =
        safetensors_read_float(&loading->files.set, from, first, count, loading->wide, why);
    struct array to = {(uint64_t)(uintptr_t)loading->narrow, dtype};
    if (result == 0)
        host_store(to, 0, count, loading->wide);
    return result;
}

static void read_part(struct loading *loading, struct array to, const char *name)
{
    struct session *session = loading->decoder->session;
    const struct safetensors_tensor *from = safetensors_find(&loading->files.set, name);
    struct text why = TEXT_INIT;
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

static void make_part(struct loading *loading, struct array to, const struct weight_part *part,
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
                             const struct weight_part *parts, size_t count)
{
    struct decoder *decoder = loading->decoder;
    char name[128];
    uint64_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        rows += parts[i].rows;
        full_name(name, parts[i].name, layer);
        if (loading->compared)
            decoder_files_need(loading->compared, name, parts[i].rows, features);
    }
    if (loading->compared)
        return NULL;
    struct tensor *tensor = session_tensor(decoder->session, parts[0].name, TAG_weights,
                                           decoder->dtype, (struct shape){{rows, features}});
    struct array to = tensor->array;
    for (size_t i = 0; i < count && session_works(decoder->session); i++) {
        full_name(name, parts[i].name, layer);
        if (loading->files.there)
            read_part(loading, to, name);
        else
            make_part(loading, to, &parts[i], layer, features);
        to = array_at(to, parts[i].rows * (features ? features : 1));
    }
    return tensor;
}

#define WEIGHT(loading, layer, features, ...)                                                  \
    weight(loading, layer, features, (const struct weight_part[]){__VA_ARGS__},                \
           sizeof((const struct weight_part[]){__VA_ARGS__}) / sizeof(struct weight_part))

static void load_layer(struct loading *loading, uint64_t l, struct decoder_layer *layer)
{
    const struct model_config *shape = loading->shape;
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

static void load_all(struct loading *loading, struct decoder_weights *weights)
{
    const struct model_config *shape = loading->shape;
    const uint64_t none = UINT64_MAX;
    weights->layers = xcalloc(shape->layers, sizeof(struct decoder_layer));
    weights->embedding =
        WEIGHT(loading, none, shape->width,
               {"model.embed_tokens.weight", TENSOR_embedding, shape->vocabulary});
    for (uint64_t l = 0; l < shape->layers; l++)
        if (loading->compared || session_works(loading->decoder->session))
            load_layer(loading, l, &weights->layers[l]);
    weights->norm = WEIGHT(loading, none, 0, {"model.norm.weight", TENSOR_ones, shape->width});
    weights->head = shape->tied_embeddings
                        ? weights->embedding
                        : WEIGHT(loading, none, shape->width,
                                 {DECODER_HEAD, TENSOR_head, shape->vocabulary});
}

void decoder_weights_need(struct decoder_files *files)
{
    struct loading loading = {.shape = files->shape, .compared = files};
    struct decoder_weights none;
    load_all(&loading, &none);
    free(none.layers);
}

/* A row has one line for each. */
static void join_lines(const struct text *lines, struct text *out)
{
    size_t at = 0, length;
    for (const char *line; (line = text_line(lines, &at, &length)) != NULL;) {
        bool opens = out->length && out->data[out->length - 1] == ':';
        text_addf(out, "%s%.*s", opens ? " " : out->length ? "; " : "", (int)length, line);
    }
}

static void open_files(struct loading *loading)
{
    struct decoder *decoder = loading->decoder;
    struct text why = TEXT_INIT, line = TEXT_INIT;
    bool good =
        decoder_files_open(decoder->options, loading->shape, &loading->files, &why) == 0;
    join_lines(good ? &loading->files.odd : &why, &line);
    if (!good)
        session_fail(decoder->session, STATUS_error, "%s", text_string(&line));
    else if (line.length)
        session_warn(decoder->session, text_string(&line));
    text_release(&why);
    text_release(&line);
}

void decoder_load(struct decoder *decoder)
{
    struct loading loading = {.decoder = decoder, .shape = &decoder->shape};
    if (session_math(decoder->session)) {
        loading.narrow = xmalloc(CHUNK * dtype_bytes(decoder->dtype));
        loading.wide = xmalloc(CHUNK * sizeof(float));
    }
    if (decoder_has_model(decoder->options))
        open_files(&loading);
    load_all(&loading, &decoder->weights);
    decoder_files_release(&loading.files);
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
