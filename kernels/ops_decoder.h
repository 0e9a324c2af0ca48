/* ops_decoder: what a decoder with a KV cache asks of a device, beside struct ops.
 *
 * Rules of struct ops hold: queued in order, float32 accumulation. Tokens are uint32.
 */
#ifndef HIGHWATER_KERNELS_OPS_DECODER_H
#define HIGHWATER_KERNELS_OPS_DECODER_H

#include "kernels/ops_attention.h"

/* x[row] = table[tokens[row]]; with a state tokens[step * rows + row] */
struct embedding {
    struct array x, table;
    uint64_t tokens, state;
    uint64_t rows, width;
};
/* y[row] = x[row * stride …] / sqrt(mean of squares + eps) * weight */
struct norm {
    struct array y, x, weight;
    uint64_t rows, width, stride;
    float eps;
};
/* y[rows, out] = x[rows, in] * w[out, in]^T, added to y when `add`. Rows of x start `stride`
 * elements apart. y may be float32 when x and w are narrower. */
struct projection {
    struct array y, x, w;
    uint64_t rows, in, out, stride;
    bool add;
};
/* x[row] += bias */
struct row_bias {
    struct array x, bias;
    uint64_t rows, width;
};
/* gate_up[row][0 … inner) = silu(gate + bias) * (up + bias), in place; the row is [gate |
 * up] */
struct gating {
    struct array gate_up, bias; /* bias[2 * inner], address 0: none */
    uint64_t rows, inner;
};
/* tokens[step * all_rows + first_row + row] = index of the largest logit (the first of equals);
 * step is 0 without a state, else the state's step + 1. */
struct token_choice {
    uint64_t logits; /* float32 [rows][vocabulary] */
    uint64_t tokens, state;
    uint64_t rows, vocabulary, first_row, all_rows;
};
struct recording; /* a captured sequence of operations */

struct ops_decoder {
    enum outcome (*embed)(struct math *math, const struct embedding *of);
    enum outcome (*normalise)(struct math *math, const struct norm *of);
    enum outcome (*project)(struct math *math, const struct projection *of);
    enum outcome (*add_bias)(struct math *math, const struct row_bias *of);
    enum outcome (*place)(struct math *math, const struct token_placement *of);
    enum outcome (*attend_prompt)(struct math *math, const struct prompt_attention *of);
    enum outcome (*attend_cache)(struct math *math, const struct cache_attention *of);
    enum outcome (*gate)(struct math *math, const struct gating *of);
    enum outcome (*choose)(struct math *math, const struct token_choice *of);
    enum outcome (*take_pages)(struct math *math, const struct paging *of);
    enum outcome (*copy_rows)(struct math *math, const struct row_copy *of);
    /* Writes `count` words to the device in order with all else; they are copied before it
     * returns, and nothing waits. */
    enum outcome (*store)(struct math *math, uint64_t to, const uint64_t *words,
                          uint64_t count);
    /* position and step each one further */
    enum outcome (*advance)(struct math *math, uint64_t state);
    /* Recording: between begin and end operations are noted, not done. NULL: the device has
     * none and steps run as they come. */
    enum outcome (*record_begin)(struct math *math);
    enum outcome (*record_end)(struct math *math, struct recording **recording);
    enum outcome (*play)(struct math *math, struct recording *recording);
    void (*recording_release)(struct math *math, struct recording *recording);
};

extern const struct ops_decoder ops_decoder_host;
extern const struct ops_decoder ops_decoder_cuda; /* only in programs that link CUDA */

#endif
