/* decoder_kv: the cache in its layouts.
 *
 *   static  one key and one value block per layer and request, of all slots, from the start
 *   grow    the same blocks, but of the tokens that are there: each step takes new ones, copies
 *           the old contents over and gives the old ones back, one tensor after the other, as
 *           programs do that append by concatenation; so one tensor is held twice for a moment
 *   paged   one pool of pages per layer for keys and one for values; rows take pages in the
 *           order in which they need them
 *
 * With kv_window = N a row keeps its last N tokens, in a ring.
 */
#ifndef HIGHWATER_KERNELS_WORKLOADS_DECODER_KV_H
#define HIGHWATER_KERNELS_WORKLOADS_DECODER_KV_H

#include "kernels/ops_attention.h"

struct decoder_kv {
    uint64_t slots;           /* tokens kept per row when all are there */
    uint64_t pages_per_row;   /* paged */
    struct tensor **blocks;   /* [layer][key, value][sequence]; paged: [layer][key, value] */
    uint64_t *held;           /* grow: slots of each block of [layer][sequence] now */
    struct tensor *addresses; /* of the blocks, on the device */
    struct tensor *pages;
};

struct decoder;
void decoder_kv_open(struct decoder *decoder);
void decoder_kv_close(struct decoder *decoder);
void decoder_kv_restart(struct decoder *decoder); /* all rows empty again */
/* Room for `tokens` more of a request (grow: new blocks), of each if it is `sequences`. */
void decoder_kv_reserve(struct decoder *decoder, uint64_t layer, uint64_t sequence,
                        uint64_t tokens);
struct cache decoder_kv_view(const struct decoder *decoder, uint64_t layer);

#endif
