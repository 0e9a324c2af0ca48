/* host_decoder: the rows of ops_decoder_host, one topic a file; ops_decoder.h says what they
 * do. */
#ifndef HIGHWATER_KERNELS_HOST_DECODER_H
#define HIGHWATER_KERNELS_HOST_DECODER_H

#include "kernels/ops_decoder.h"

enum outcome host_embed(struct math *math, const struct embedding *of);
enum outcome host_normalise(struct math *math, const struct norm *of);
enum outcome host_project(struct math *math, const struct projection *of);
enum outcome host_add_bias(struct math *math, const struct row_bias *of);
enum outcome host_gate(struct math *math, const struct gating *of);
enum outcome host_choose(struct math *math, const struct choice *of);
enum outcome host_store_words(struct math *math, uint64_t to, const uint64_t *words,
                              uint64_t count);
enum outcome host_advance(struct math *math, uint64_t state);
enum outcome host_place(struct math *math, const struct placement *of);
enum outcome host_attend_prompt(struct math *math, const struct prompt_attention *of);
enum outcome host_attend_cache(struct math *math, const struct cache_attention *of);
enum outcome host_take_pages(struct math *math, const struct paging *of);
enum outcome host_copy_rows(struct math *math, const struct row_copy *of);

#endif
