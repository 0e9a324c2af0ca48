/* ops_attention: attention over a KV cache, and the cache itself.
 *
 * A row is one token of one request. Where tokens of several requests stand in one matrix they
 * are ordered [request row][token]. Device arrays of integers (addresses, page tables, the
 * state) are given by address.
 */
#ifndef HIGHWATER_KERNELS_OPS_ATTENTION_H
#define HIGHWATER_KERNELS_OPS_ATTENTION_H

#include "harness/model/estimate.h" /* PAGE_TOKENS */
#include "kernels/ops.h"

#include <stdbool.h>

#define HEAD_DIM_LIMIT 256u /* the widest head that the attention kernels take */

/* `array` moved on by so many elements. */
static inline struct array array_at(struct array array, uint64_t elements)
{
    array.address += elements * dtype_bytes(array.dtype);
    return array;
}

/* On the device, so that a recorded step can be played again. */
struct decoder_state {
    uint32_t position;  /* of the token that the next step reads: tokens cached per row */
    uint32_t step;      /* row of the token history that the next step reads */
    uint32_t next_page; /* of the pool: pages are handed out in rising order */
    uint32_t spare;
};

/* One layer's keys and values. A request's block is [batch][kv_heads][slots][head_dim]; with
 * pages the pool is [page][kv_heads][PAGE_TOKENS][head_dim] and a row's slot s lies in page
 * pages[row][s / PAGE_TOKENS]. Position p stands in slot p % slots. */
struct cache {
    enum dtype dtype;
    uint64_t keys, values; /* arrays of uint64 addresses: the block of each request (or pool) */
    uint64_t pages;        /* array uint32 [rows][pages_per_row]; 0: none */
    uint64_t pages_per_row;
    uint64_t batch; /* rows of one request */
    uint64_t slots, kv_heads, head_dim;
};

/* What one projection made: [rows][(heads + 2 kv_heads) * head_dim], query, key, value. */
struct heads {
    struct array qkv;
    uint64_t rows, tokens; /* rows = request rows * tokens */
    uint64_t heads, kv_heads, head_dim;
};
/* Adds the bias (address 0: none), turns queries and keys in place to their positions, and
 * copies keys and values into the cache, where only the last `slots` tokens of a row stay.
 * Row i is token i % tokens of cache row first_row + i / tokens; positions count from 0, with a
 * state from its position. */
struct token_placement {
    struct heads of;
    struct array bias;
    uint64_t frequencies; /* float [head_dim / 2] */
    uint64_t state, first_row;
    struct cache cache;
};
/* out[row][heads * head_dim]: each token sees itself and those before it in its row, at most
 * `window` in all (0: no bound). */
struct prompt_attention {
    struct heads of;
    struct array out;
    uint64_t window;
};
/* The same for one token per row at the state's position, over the cache. The context is cut
 * into `splits` parts that are combined in order; `partial` holds
 * cache_attention_partial(…) float32 in between. */
struct cache_attention {
    struct heads of; /* tokens = 1 */
    struct cache cache;
    struct array out;
    uint64_t state, window, splits;
    uint64_t partial;
};
static inline uint64_t cache_attention_partial(uint64_t rows, uint64_t heads, uint64_t head_dim,
                                               uint64_t splits)
{
    return rows * heads * splits * (head_dim + 2);
}
/* Hands pages to rows first_row … for positions 0 … count - 1, or with count = 0 for the
 * state's position, in the order of positions; the state counts them. */
struct paging {
    uint64_t pages, state;
    uint64_t pages_per_row, slots;
    uint64_t rows, first_row, count;
};
/* Rows of `bytes`, their starts so far apart, from one place to another. */
struct row_copy {
    uint64_t to, from, bytes, to_stride, from_stride, rows;
};

#endif
