/* decoder_rows.c: what is done to each row by itself. */
#include "kernels/host/convert.h"
#include "kernels/host/host_decoder.h"
#include "kernels/host/host_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct decoder_state *state_at(uint64_t address)
{
    return (struct decoder_state *)(uintptr_t)address;
}

enum outcome host_embed(struct math *math, const struct embedding *of)
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

enum outcome host_normalise(struct math *math, const struct norm *of)
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
enum outcome host_project(struct math *math, const struct projection *of)
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
        host_multiply(math, &product);
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

enum outcome host_add_bias(struct math *math, const struct row_bias *of)
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

enum outcome host_gate(struct math *math, const struct gating *of)
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

enum outcome host_choose(struct math *math, const struct choice *of)
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

enum outcome host_advance(struct math *math, uint64_t state)
{
    (void)math;
    state_at(state)->position++;
    state_at(state)->step++;
    return OUTCOME_OK;
}

enum outcome host_store_words(struct math *math, uint64_t to, const uint64_t *words,
                              uint64_t count)
{
    (void)math;
    memcpy((void *)(uintptr_t)to, words, count * sizeof(*words));
    return OUTCOME_OK;
}

enum outcome host_copy_rows(struct math *math, const struct row_copy *of)
{
    (void)math;
    for (uint64_t r = 0; r < of->rows; r++)
        memcpy((char *)(uintptr_t)of->to + r * of->to_stride,
               (const char *)(uintptr_t)of->from + r * of->from_stride, of->bytes);
    return OUTCOME_OK;
}
