/* estimate: bytes of weights and of a KV cache by arithmetic from numbers; no device.
 *
 * What the figures leave out is said by whoever prints them: nothing here knows of rounding by
 * an allocator, activations, workspaces, or what context and libraries take.
 */
#ifndef HIGHWATER_MODEL_ESTIMATE_H
#define HIGHWATER_MODEL_ESTIMATE_H

#include "harness/base/text.h"

#include <stdbool.h>
#include <stdint.h>

/* parameters x bits / 8, rounded up to whole bytes. -1: more than 64 bits hold. */
int estimate_weights(uint64_t parameters, uint64_t bits, uint64_t *bytes,
                     struct text *why) MUST_CHECK;

#define PAGE_TOKENS 16u /* of a paged cache */

/* One key and one value vector of `head_dim` numbers per layer, KV head and token that is
 * kept. */
struct estimate_cache {
    uint64_t layers;
    uint64_t kv_heads; /* not the query heads: models with grouped attention have fewer */
    uint64_t head_dim;
    uint64_t context;   /* tokens per sequence */
    uint64_t window;    /* the most that are kept of them; 0: all */
    bool paged;         /* in whole pages of PAGE_TOKENS */
    uint64_t sequences; /* resident at once */
    uint64_t bits;      /* per stored number */
};
/* Tokens that a sequence has room for. */
int estimate_kept(const struct estimate_cache *cache, uint64_t *tokens,
                  struct text *why) MUST_CHECK;
int estimate_cache(const struct estimate_cache *cache, uint64_t *bytes,
                   struct text *why) MUST_CHECK;

#endif
