/* Products add into the residual stream in place. What a prompt needs at once is the stream and
 * one of: its norm with queries, keys and values; those with the attention's output; or a part
 * of the inner features, for which rows are taken MLP_ROWS at a time, since they are the
 * widest. */
#include "kernels/workloads/decoder.h"

#include <math.h>

enum { MLP_ROWS = 8192 };

/* --- pieces of a layer -------------------------------------------------------------------- */

static void project(struct decoder *decoder, struct array y, struct array x, uint64_t stride,
                    const struct tensor *w, uint64_t rows, bool add)
{
    struct projection of = {.y = y,
                            .x = x,
                            .w = w->array,
                            .rows = rows,
                            .in = w->shape.size[1],
                            .out = w->shape.size[0],
                            .stride = stride,
                            .add = add};
    DECODER_DO(decoder, project, &of);
}

static void normalise(struct decoder *decoder, struct array y, struct array x, uint64_t stride,
                      const struct tensor *weight, uint64_t rows)
{
    struct norm of = {.y = y,
                      .x = x,
                      .weight = weight->array,
                      .rows = rows,
                      .width = decoder->shape.width,
                      .stride = stride,
                      .eps = (float)decoder->shape.norm_eps};
    DECODER_DO(decoder, normalise, &of);
}

static void add_bias(struct decoder *decoder, struct array x, const struct tensor *bias,
                     uint64_t rows)
{
    struct row_bias of = {.x = x, .rows = rows, .width = decoder->shape.width};
    if (!bias)
        return;
    of.bias = bias->array;
    DECODER_DO(decoder, add_bias, &of);
}

static struct heads heads_of(const struct decoder *decoder, struct array qkv, uint64_t rows,
                             uint64_t tokens)
{
    const struct model_config *shape = &decoder->shape;
    return (struct heads){.qkv = qkv,
                          .rows = rows,
                          .tokens = tokens,
                          .heads = shape->heads,
                          .kv_heads = shape->kv_heads,
                          .head_dim = shape->head_dim};
}

static void place(struct decoder *decoder, const struct heads *of, uint64_t layer,
                  uint64_t first_row, uint64_t state)
{
    const struct tensor *bias = decoder->weights.layers[layer].qkv_bias;
    struct token_placement placement = {.of = *of,
                                        .frequencies = decoder->frequencies->array.address,
                                        .state = state,
                                        .first_row = first_row,
                                        .cache = decoder_kv_view(decoder, layer)};
    if (bias)
        placement.bias = bias->array;
    DECODER_DO(decoder, place, &placement);
}

/* What a token sees: the window of its layer, and no more than the cache keeps. */
static uint64_t window_of(const struct decoder *decoder, uint64_t layer)
{
    uint64_t window = model_config_window(&decoder->shape, layer);
    uint64_t kept = decoder->options->kv_window;
    return kept && (window == 0 || kept < window) ? kept : window;
}

/* x += down(silu(gate(y)) * up(y)), y = norm(x): y and gate_up have room for `rows`. */
static void feed_forward(struct decoder *decoder, const struct decoder_layer *layer,
                         struct array x, struct array y, struct array gate_up, uint64_t rows)
{
    uint64_t width = decoder->shape.width, inner = decoder->shape.intermediate;
    struct gating gating = {.gate_up = gate_up, .rows = rows, .inner = inner};
    if (layer->gate_up_bias)
        gating.bias = layer->gate_up_bias->array;
    normalise(decoder, y, x, width, layer->post_norm, rows);
    project(decoder, gate_up, y, width, layer->gate_up, rows, false);
    DECODER_DO(decoder, gate, &gating);
    project(decoder, x, gate_up, 2 * inner, layer->down, rows, true);
    add_bias(decoder, x, layer->down_bias, rows);
}

static void choose(struct decoder *decoder, const struct tensor *logits, uint64_t state,
                   uint64_t rows, uint64_t first_row)
{
    struct token_choice of = {.logits = logits->array.address,
                              .tokens = decoder->history->array.address,
                              .state = state,
                              .rows = rows,
                              .vocabulary = decoder->shape.vocabulary,
                              .first_row = first_row,
                              .all_rows = decoder->rows};
    DECODER_DO(decoder, choose, &of);
}

static struct tensor *activation(struct decoder *decoder, const char *name, uint64_t rows,
                                 uint64_t features)
{
    return session_tensor(decoder->session, name, TAG_activations, decoder->dtype,
                          (struct shape){{rows, features}});
}

static struct tensor *make_logits(struct decoder *decoder, uint64_t rows)
{
    return session_tensor(decoder->session, "logits", TAG_activations, DTYPE_float32,
                          (struct shape){{rows, decoder->shape.vocabulary}});
}

static uint64_t qkv_width(const struct decoder *decoder)
{
    const struct model_config *shape = &decoder->shape;
    return (shape->heads + 2 * shape->kv_heads) * shape->head_dim;
}

/* --- a prompt ----------------------------------------------------------------------------- */

static void attend_prompt(struct decoder *decoder, uint64_t l, uint64_t sequence,
                          struct tensor *x)
{
    const struct decoder_layer *layer = &decoder->weights.layers[l];
    uint64_t rows = decoder->batch * decoder->context, width = decoder->shape.width;
    uint64_t inner = decoder->shape.heads * decoder->shape.head_dim;
    struct tensor *y = activation(decoder, "norm", rows, width);
    struct tensor *qkv = activation(decoder, "qkv", rows, qkv_width(decoder));
    normalise(decoder, y->array, x->array, width, layer->input_norm, rows);
    project(decoder, qkv->array, y->array, width, layer->qkv, rows, false);
    decoder_release(decoder, y);
    decoder_kv_reserve(decoder, l, sequence, decoder->context);
    struct heads heads = heads_of(decoder, qkv->array, rows, decoder->context);
    place(decoder, &heads, l, sequence * decoder->batch, 0);
    struct tensor *out = activation(decoder, "attention", rows, inner);
    struct prompt_attention attention = {
        .of = heads, .out = out->array, .window = window_of(decoder, l)};
    DECODER_DO(decoder, attend_prompt, &attention);
    decoder_release(decoder, qkv);
    project(decoder, x->array, out->array, inner, layer->out, rows, true);
    add_bias(decoder, x->array, layer->out_bias, rows);
    decoder_release(decoder, out);
}

static void feed_prompt(struct decoder *decoder, uint64_t l, struct tensor *x)
{
    uint64_t rows = decoder->batch * decoder->context, width = decoder->shape.width;
    uint64_t most = rows < MLP_ROWS ? rows : MLP_ROWS;
    struct tensor *y = activation(decoder, "norm", most, width);
    struct tensor *gate_up =
        activation(decoder, "gate_up", most, 2 * decoder->shape.intermediate);
    for (uint64_t at = 0; at < rows && session_works(decoder->session); at += most) {
        uint64_t part = rows - at < most ? rows - at : most;
        feed_forward(decoder, &decoder->weights.layers[l], array_at(x->array, at * width),
                     y->array, gate_up->array, part);
    }
    decoder_release(decoder, gate_up);
    decoder_release(decoder, y);
}

static void take_prompt_pages(struct decoder *decoder, uint64_t sequence)
{
    struct paging of = {.state = decoder->state->array.address,
                        .pages_per_row = decoder->kv.pages_per_row,
                        .slots = decoder->kv.slots,
                        .rows = decoder->batch,
                        .first_row = sequence * decoder->batch,
                        .count = decoder->context};
    if (!decoder->kv.pages)
        return;
    of.pages = decoder->kv.pages->array.address;
    DECODER_DO(decoder, take_pages, &of);
}

struct tensor *decoder_prefill(struct decoder *decoder, uint64_t sequence)
{
    uint64_t rows = decoder->batch * decoder->context, width = decoder->shape.width;
    struct tensor *x = activation(decoder, "stream", rows, width);
    struct embedding embedding = {.x = x->array,
                                  .table = decoder->weights.embedding->array,
                                  .tokens = decoder->prompts[sequence]->array.address,
                                  .rows = rows,
                                  .width = width};
    DECODER_DO(decoder, embed, &embedding);
    take_prompt_pages(decoder, sequence);
    for (uint64_t l = 0; l < decoder->shape.layers && session_works(decoder->session); l++) {
        attend_prompt(decoder, l, sequence, x);
        feed_prompt(decoder, l, x);
    }
    struct tensor *y = activation(decoder, "norm", decoder->batch, width);
    struct tensor *logits = make_logits(decoder, decoder->batch);
    normalise(decoder, y->array, array_at(x->array, (decoder->context - 1) * width),
              decoder->context * width, decoder->weights.norm, decoder->batch);
    project(decoder, logits->array, y->array, width, decoder->weights.head, decoder->batch,
            false);
    choose(decoder, logits, 0, decoder->batch, sequence * decoder->batch);
    decoder_release(decoder, y);
    decoder_release(decoder, x);
    return logits;
}

/* --- one token of every row --------------------------------------------------------------- */

/* Into how many parts the context of a row is cut, so that few rows fill the card and many do
 * not leave it half empty at the end. A part costs about 2 % of a row for its start and its
 * share of the result; a large card works on some 264 at once. Told from sizes alone, so that
 * all layouts and devices cut alike. */
static uint64_t splits_for(const struct decoder *decoder)
{
    const uint64_t together = 264;
    uint64_t pairs = decoder->rows * decoder->shape.kv_heads, best = 1;
    uint64_t most = (decoder->kv.slots + 255) / 256;
    double least = INFINITY;
    for (uint64_t splits = 1; splits <= most && splits <= together; splits++) {
        uint64_t turns = (pairs * splits + together - 1) / together;
        double cost = (double)turns * (1 / (double)splits + 0.02);
        if (cost < least) {
            least = cost;
            best = splits;
        }
    }
    return best;
}

void decoder_step_open(struct decoder *decoder)
{
    struct decoder_step *step = &decoder->step;
    const struct model_config *shape = &decoder->shape;
    uint64_t rows = decoder->rows, inner = shape->heads * shape->head_dim;
    step->splits = splits_for(decoder);
    step->x = activation(decoder, "step_stream", rows, shape->width);
    step->y = activation(decoder, "step_norm", rows, shape->width);
    step->qkv = activation(decoder, "step_qkv", rows, qkv_width(decoder));
    step->attention = activation(decoder, "step_attention", rows, inner);
    step->gate_up = activation(decoder, "step_gate_up", rows, 2 * shape->intermediate);
    step->logits = make_logits(decoder, rows);
    step->partial = decoder_words(
        decoder, "step_partial", TAG_activations,
        cache_attention_partial(rows, shape->heads, shape->head_dim, step->splits));
}

void decoder_step_close(struct decoder *decoder)
{
    struct decoder_step *step = &decoder->step;
    struct tensor *const all[] = {step->partial, step->logits, step->gate_up, step->attention,
                                  step->qkv,     step->y,      step->x};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        decoder_release(decoder, all[i]);
}

static void step_layer(struct decoder *decoder, uint64_t l)
{
    const struct decoder_layer *layer = &decoder->weights.layers[l];
    struct decoder_step *step = &decoder->step;
    uint64_t rows = decoder->rows, width = decoder->shape.width;
    uint64_t inner = decoder->shape.heads * decoder->shape.head_dim;
    struct heads heads = heads_of(decoder, step->qkv->array, rows, 1);
    normalise(decoder, step->y->array, step->x->array, width, layer->input_norm, rows);
    project(decoder, step->qkv->array, step->y->array, width, layer->qkv, rows, false);
    decoder_kv_reserve(decoder, l, decoder->sequences, 1);
    place(decoder, &heads, l, 0, decoder->state->array.address);
    struct cache_attention attention = {.of = heads,
                                        .cache = decoder_kv_view(decoder, l),
                                        .out = step->attention->array,
                                        .state = decoder->state->array.address,
                                        .window = window_of(decoder, l),
                                        .splits = step->splits,
                                        .partial = step->partial->array.address};
    DECODER_DO(decoder, attend_cache, &attention);
    project(decoder, step->x->array, step->attention->array, inner, layer->out, rows, true);
    add_bias(decoder, step->x->array, layer->out_bias, rows);
    feed_forward(decoder, layer, step->x->array, step->y->array, step->gate_up->array, rows);
}

void decoder_step(struct decoder *decoder)
{
    struct decoder_step *step = &decoder->step;
    uint64_t state = decoder->state->array.address, width = decoder->shape.width;
    struct embedding embedding = {.x = step->x->array,
                                  .table = decoder->weights.embedding->array,
                                  .tokens = decoder->history->array.address,
                                  .state = state,
                                  .rows = decoder->rows,
                                  .width = width};
    DECODER_DO(decoder, embed, &embedding);
    if (decoder->kv.pages) {
        struct paging paging = {.pages = decoder->kv.pages->array.address,
                                .state = state,
                                .pages_per_row = decoder->kv.pages_per_row,
                                .slots = decoder->kv.slots,
                                .rows = decoder->rows};
        DECODER_DO(decoder, take_pages, &paging);
    }
    for (uint64_t l = 0; l < decoder->shape.layers && session_works(decoder->session); l++)
        step_layer(decoder, l);
    normalise(decoder, step->y->array, step->x->array, width, decoder->weights.norm,
              decoder->rows);
    project(decoder, step->logits->array, step->y->array, width, decoder->weights.head,
            decoder->rows, false);
    choose(decoder, step->logits, state, decoder->rows, 0);
    DECODER_DO(decoder, advance, state);
}
