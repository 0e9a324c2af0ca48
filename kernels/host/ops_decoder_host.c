/* The reference arithmetic of struct ops_decoder, in plain C. */
#include "kernels/ops_decoder.h"
#include "kernels/host/convert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct decoder_state *state_at(uint64_t address)
{
    return (struct decoder_state *)(uintptr_t)address;
}

/* --- each row by itself ------------------------------------------------------------------- */

static enum outcome host_embed(struct math *math, const struct embedding *of)
{
    const uint32_t *tokens = (const uint32_t *)(uintptr_t)of->tokens;
    uint64_t bytes = of->width * dtype_bytes(of->x.dtype);
    (void)math;
    if (of->state)
        tokens += state_at(of->state)->step * of->rows;
    for (uint64_t r = 0; r < of->rows; r++)
        memcpy((char *)(uintptr_t)of->x.address + r * bytes,
               (const char *)(uintptr_t)of->table.address + tokens[r] * bytes, bytes);
    return OUTCOME_OK;
}

static enum outcome host_normalise(struct math *math, const struct norm *of)
{
    float *x = xmalloc(of->width * sizeof(float)), *w = xmalloc(of->width * sizeof(float));
    (void)math;
    host_load(of->weight, 0, of->width, w);
    for (uint64_t r = 0; r < of->rows; r++) {
        double sum = 0;
        host_load(of->x, r * of->stride, of->width, x);
        for (uint64_t i = 0; i < of->width; i++)
            sum += (double)x[i] * x[i];
        float scale = 1.0f / sqrtf((float)(sum / (double)of->width) + of->eps);
        for (uint64_t i = 0; i < of->width; i++)
            x[i] = x[i] * scale * w[i];
        host_store(of->y, r * of->width, of->width, x);
    }
    free(x);
    free(w);
    return OUTCOME_OK;
}

enum { PROJECT_ROWS = 64 };

/* Some rows at a time: gathered, multiplied in float32, added, and rounded once. */
static enum outcome host_project(struct math *math, const struct projection *of)
{
    uint64_t line = of->in * dtype_bytes(of->x.dtype);
    char *x = xmalloc(PROJECT_ROWS * line);
    float *sum = xmalloc(PROJECT_ROWS * of->out * sizeof(float));
    float *before = xmalloc(of->out * sizeof(float));
    for (uint64_t r = 0; r < of->rows; r += PROJECT_ROWS) {
        uint64_t rows = of->rows - r < PROJECT_ROWS ? of->rows - r : PROJECT_ROWS;
        for (uint64_t i = 0; i < rows; i++)
            memcpy(x + i * line,
                   (const char *)(uintptr_t)array_at(of->x, (r + i) * of->stride).address,
                   line);
        struct product product = {.y = {(uint64_t)(uintptr_t)sum, DTYPE_float32},
                                  .x = {(uint64_t)(uintptr_t)x, of->x.dtype},
                                  .w = of->w,
                                  .rows = rows,
                                  .in = of->in,
                                  .out = of->out};
        ops_host.multiply(math, &product);
        for (uint64_t i = 0; i < rows; i++) {
            float *out = sum + i * of->out;
            if (of->add)
                host_load(of->y, (r + i) * of->out, of->out, before);
            for (uint64_t o = 0; of->add && o < of->out; o++)
                out[o] += before[o];
            host_store(of->y, (r + i) * of->out, of->out, out);
        }
    }
    free(x);
    free(sum);
    free(before);
    return OUTCOME_OK;
}

static enum outcome host_add_bias(struct math *math, const struct row_bias *of)
{
    float *x = xmalloc(of->width * sizeof(float)), *bias = xmalloc(of->width * sizeof(float));
    (void)math;
    host_load(of->bias, 0, of->width, bias);
    for (uint64_t r = 0; r < of->rows; r++) {
        host_load(of->x, r * of->width, of->width, x);
        for (uint64_t i = 0; i < of->width; i++)
            x[i] += bias[i];
        host_store(of->x, r * of->width, of->width, x);
    }
    free(x);
    free(bias);
    return OUTCOME_OK;
}

static enum outcome host_gate(struct math *math, const struct gating *of)
{
    uint64_t inner = of->inner;
    float *x = xmalloc(2 * inner * sizeof(float)), *bias = xcalloc(2 * inner, sizeof(float));
    (void)math;
    if (of->bias.address)
        host_load(of->bias, 0, 2 * inner, bias);
    for (uint64_t r = 0; r < of->rows; r++) {
        host_load(of->gate_up, r * 2 * inner, 2 * inner, x);
        for (uint64_t i = 0; i < inner; i++) {
            float gate = x[i] + bias[i], up = x[inner + i] + bias[inner + i];
            x[i] = gate / (1.0f + expf(-gate)) * up;
        }
        host_store(of->gate_up, r * 2 * inner, inner, x);
    }
    free(x);
    free(bias);
    return OUTCOME_OK;
}

static enum outcome host_choose(struct math *math, const struct token_choice *of)
{
    const float *logits = (const float *)(uintptr_t)of->logits;
    uint32_t *tokens = (uint32_t *)(uintptr_t)of->tokens + of->first_row;
    (void)math;
    if (of->state)
        tokens += (state_at(of->state)->step + (uint64_t)1) * of->all_rows;
    for (uint64_t r = 0; r < of->rows; r++, logits += of->vocabulary) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < of->vocabulary; i++)
            if (logits[i] > logits[best])
                best = i;
        tokens[r] = best;
    }
    return OUTCOME_OK;
}

static enum outcome host_advance(struct math *math, uint64_t state)
{
    (void)math;
    state_at(state)->position++;
    state_at(state)->step++;
    return OUTCOME_OK;
}

static enum outcome host_store_words(struct math *math, uint64_t to, const uint64_t *words,
                                     uint64_t count)
{
    (void)math;
    memcpy((void *)(uintptr_t)to, words, count * sizeof(*words));
    return OUTCOME_OK;
}

static enum outcome host_copy_rows(struct math *math, const struct row_copy *of)
{
    (void)math;
    for (uint64_t r = 0; r < of->rows; r++)
        memcpy((char *)(uintptr_t)of->to + r * of->to_stride,
               (const char *)(uintptr_t)of->from + r * of->from_stride, of->bytes);
    return OUTCOME_OK;
}

/* --- rotary positions, the cache and attention -------------------------------------------- */

/* Head h's vector at `slot` of cache row `row`; `addresses` is cache->keys or cache->values. */
static struct array vector_at(const struct cache *cache, uint64_t addresses, uint64_t row,
                              uint64_t h, uint64_t slot)
{
    const uint64_t *blocks = (const uint64_t *)(uintptr_t)addresses;
    struct array block = {blocks[row / cache->batch], cache->dtype};
    if (!cache->pages)
        return array_at(block,
                        ((row % cache->batch * cache->kv_heads + h) * cache->slots + slot) *
                            cache->head_dim);
    const uint32_t *table = (const uint32_t *)(uintptr_t)cache->pages;
    uint64_t page = table[row * cache->pages_per_row + slot / PAGE_TOKENS];
    return array_at(block, ((page * cache->kv_heads + h) * PAGE_TOKENS + slot % PAGE_TOKENS) *
                               cache->head_dim);
}

static void turn(float *x, uint64_t head_dim, const float *frequencies, uint64_t position)
{
    uint64_t half = head_dim / 2;
    for (uint64_t i = 0; i < half; i++) {
        float angle = (float)position * frequencies[i];
        float c = cosf(angle), s = sinf(angle), low = x[i], high = x[half + i];
        x[i] = low * c - high * s;
        x[half + i] = high * c + low * s;
    }
}

static void place_row(const struct token_placement *of, const float *bias, uint64_t row,
                      float *x)
{
    const struct heads *h = &of->of;
    uint64_t d = h->head_dim, width = (h->heads + 2 * h->kv_heads) * d;
    uint64_t begin = of->state ? state_at(of->state)->position : 0;
    uint64_t within = row % h->tokens, position = begin + within;
    uint64_t cache_row = of->first_row + row / h->tokens, slot = position % of->cache.slots;
    host_load(h->qkv, row * width, width, x);
    for (uint64_t i = 0; bias && i < width; i++)
        x[i] += bias[i];
    for (uint64_t i = 0; i < h->heads + h->kv_heads; i++)
        turn(x + i * d, d, (const float *)(uintptr_t)of->frequencies, position);
    host_store(h->qkv, row * width, width, x);
    if (within + of->cache.slots < h->tokens)
        return; /* a later token would overwrite it */
    for (uint64_t i = 0; i < h->kv_heads; i++) {
        const float *key = x + (h->heads + i) * d, *value = key + h->kv_heads * d;
        host_store(vector_at(&of->cache, of->cache.keys, cache_row, i, slot), 0, d, key);
        host_store(vector_at(&of->cache, of->cache.values, cache_row, i, slot), 0, d, value);
    }
}

static enum outcome host_place(struct math *math, const struct token_placement *of)
{
    uint64_t width = (of->of.heads + 2 * of->of.kv_heads) * of->of.head_dim;
    float *x = xmalloc(width * sizeof(float)), *bias = NULL;
    (void)math;
    if (of->bias.address) {
        bias = xmalloc(width * sizeof(float));
        host_load(of->bias, 0, width, bias);
    }
    for (uint64_t row = 0; row < of->of.rows; row++)
        place_row(of, bias, row, x);
    free(x);
    free(bias);
    return OUTCOME_OK;
}

/* softmax(query · keys / sqrt(d)) · values over `count` vectors; `weights` has room for
 * them. */
static void attend(const float *query, const float *keys, const float *values, uint64_t count,
                   uint64_t d, float *weights, float *out)
{
    float largest = -INFINITY, sum = 0, scale = 1.0f / sqrtf((float)d);
    for (uint64_t j = 0; j < count; j++) {
        float score = 0;
        for (uint64_t i = 0; i < d; i++)
            score += query[i] * keys[j * d + i];
        weights[j] = score * scale;
        largest = fmaxf(largest, weights[j]);
    }
    for (uint64_t i = 0; i < d; i++)
        out[i] = 0;
    for (uint64_t j = 0; j < count; j++) {
        float weight = expf(weights[j] - largest);
        sum += weight;
        for (uint64_t i = 0; i < d; i++)
            out[i] += weight * values[j * d + i];
    }
    for (uint64_t i = 0; i < d; i++)
        out[i] /= sum;
}

/* One key-value head of one request row: its vectors as float32, then all its queries. */
static void attend_row(const struct prompt_attention *of, uint64_t row, uint64_t kv,
                       float *room)
{
    const struct heads *h = &of->of;
    uint64_t d = h->head_dim, n = h->tokens, width = (h->heads + 2 * h->kv_heads) * d;
    float *keys = room, *values = keys + n * d, *weights = values + n * d;
    float *query = weights + n, *out = query + d;
    uint64_t group = h->heads / h->kv_heads;
    for (uint64_t t = 0; t < n; t++) {
        uint64_t at = (row * n + t) * width + (h->heads + kv) * d;
        host_load(h->qkv, at, d, keys + t * d);
        host_load(h->qkv, at + h->kv_heads * d, d, values + t * d);
    }
    for (uint64_t t = 0; t < n; t++) {
        uint64_t first = of->window && t + 1 > of->window ? t + 1 - of->window : 0;
        for (uint64_t head = kv * group; head < (kv + 1) * group; head++) {
            host_load(h->qkv, (row * n + t) * width + head * d, d, query);
            attend(query, keys + first * d, values + first * d, t + 1 - first, d, weights, out);
            host_store(of->out, ((row * n + t) * h->heads + head) * d, d, out);
        }
    }
}

static enum outcome host_attend_prompt(struct math *math, const struct prompt_attention *of)
{
    const struct heads *h = &of->of;
    float *room =
        xmalloc((2 * h->tokens * h->head_dim + h->tokens + 2 * h->head_dim) * sizeof(float));
    (void)math;
    for (uint64_t row = 0; row < h->rows / h->tokens; row++)
        for (uint64_t kv = 0; kv < h->kv_heads; kv++)
            attend_row(of, row, kv, room);
    free(room);
    return OUTCOME_OK;
}

/* The slots that the newest token of a row may see, oldest slot number first. */
static uint64_t gather(const struct cache_attention *of, uint64_t row, uint64_t kv, float *keys,
                       float *values)
{
    const struct cache *cache = &of->cache;
    uint64_t position = state_at(of->state)->position, d = cache->head_dim, count = 0;
    uint64_t used = position + 1 < cache->slots ? position + 1 : cache->slots;
    for (uint64_t slot = 0; slot < used; slot++) {
        uint64_t age =
            (position - slot) % cache->slots; /* slots hold the newest that falls there */
        if (of->window && age >= of->window)
            continue;
        host_load(vector_at(cache, cache->keys, row, kv, slot), 0, d, keys + count * d);
        host_load(vector_at(cache, cache->values, row, kv, slot), 0, d, values + count * d);
        count++;
    }
    return count;
}

static enum outcome host_attend_cache(struct math *math, const struct cache_attention *of)
{
    const struct heads *h = &of->of;
    uint64_t d = h->head_dim, slots = of->cache.slots, group = h->heads / h->kv_heads;
    float *keys = xmalloc((2 * slots * d + slots + 2 * d) * sizeof(float));
    float *values = keys + slots * d, *weights = values + slots * d;
    float *query = weights + slots, *out = query + d;
    (void)math;
    for (uint64_t row = 0; row < h->rows; row++)
        for (uint64_t kv = 0; kv < h->kv_heads; kv++) {
            uint64_t count = gather(of, row, kv, keys, values);
            for (uint64_t head = kv * group; head < (kv + 1) * group; head++) {
                host_load(h->qkv, (row * (h->heads + 2 * h->kv_heads) + head) * d, d, query);
                attend(query, keys, values, count, d, weights, out);
                host_store(of->out, (row * h->heads + head) * d, d, out);
            }
        }
    free(keys);
    return OUTCOME_OK;
}

static enum outcome host_take_pages(struct math *math, const struct paging *of)
{
    struct decoder_state *state = state_at(of->state);
    uint32_t *pages = (uint32_t *)(uintptr_t)of->pages;
    uint64_t begin = 0, end = 0;
    (void)math;
    if (of->count) {
        uint64_t kept = of->count < of->slots ? of->count : of->slots;
        end = (kept + PAGE_TOKENS - 1) / PAGE_TOKENS;
    } else if (state->position < of->slots && state->position % PAGE_TOKENS == 0) {
        begin = state->position / PAGE_TOKENS;
        end = begin + 1;
    }
    for (uint64_t page = begin; page < end; page++)
        for (uint64_t row = 0; row < of->rows; row++)
            pages[(of->first_row + row) * of->pages_per_row + page] = state->next_page++;
    return OUTCOME_OK;
}

/* --- the table ---------------------------------------------------------------------------- */

/* Steps are not recorded: they run as they come. */
const struct ops_decoder ops_decoder_host = {
    .embed = host_embed,
    .normalise = host_normalise,
    .project = host_project,
    .add_bias = host_add_bias,
    .place = host_place,
    .attend_prompt = host_attend_prompt,
    .attend_cache = host_attend_cache,
    .gate = host_gate,
    .choose = host_choose,
    .take_pages = host_take_pages,
    .copy_rows = host_copy_rows,
    .store = host_store_words,
    .advance = host_advance,
};
