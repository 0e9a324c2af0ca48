/* attention.cuh: what the attention kernels share. */
#ifndef HIGHWATER_KERNELS_CUDA_ATTENTION_CUH
#define HIGHWATER_KERNELS_CUDA_ATTENTION_CUH

#include "kernels/cuda/decoder.cuh"

#include <math.h>

/* 1 / sqrt(head_dim), times log2(e): weights are powers of two. */
static inline float attention_scale(uint64_t head_dim)
{
    return (float)(1.4426950408889634 / sqrt((double)head_dim));
}

enum { GRID_LIMIT = 65535 }; /* blocks in y and z */

#endif
