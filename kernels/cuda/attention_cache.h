/* attention_cache: as launch_decoder.h, of the operation attend_cache. */
#ifndef HIGHWATER_KERNELS_CUDA_ATTENTION_CACHE_H
#define HIGHWATER_KERNELS_CUDA_ATTENTION_CACHE_H

#include "kernels/cuda/launch_decoder.h"

#ifdef __cplusplus
extern "C"
#endif
    int
    launch_attend_cache(void *stream, const struct cache_attention *of);

#endif
