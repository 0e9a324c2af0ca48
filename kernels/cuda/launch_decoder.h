/* launch_decoder: the decoder's kernels beside attention, as C sees them. Each call queues the
 * work of one operation of ops_decoder.h on `stream` (a cudaStream_t) and returns its
 * cudaError_t. */
#ifndef HIGHWATER_KERNELS_CUDA_LAUNCH_DECODER_H
#define HIGHWATER_KERNELS_CUDA_LAUNCH_DECODER_H

#if defined(__cplusplus) && !defined(_Noreturn)
#define _Noreturn __attribute__((noreturn)) /* C11's word, in headers that C++ reads too */
#endif

#ifdef __cplusplus
extern "C" {
#endif
#include "kernels/ops_decoder.h"

int launch_embed(void *stream, const struct embedding *of);
int launch_normalise(void *stream, const struct norm *of);
int launch_place(void *stream, const struct token_placement *of);
int launch_gate(void *stream, const struct gating *of);
int launch_choose(void *stream, const struct token_choice *of);
int launch_take_pages(void *stream, const struct paging *of);
/* Up to STORE_WORDS words travel with the launch itself. */
#define STORE_WORDS 64
struct stored_words {
    uint64_t to, count, word[STORE_WORDS];
};
int launch_store(void *stream, const struct stored_words *of);
int launch_advance(void *stream, uint64_t state);

#ifdef __cplusplus
}
#endif

#endif
