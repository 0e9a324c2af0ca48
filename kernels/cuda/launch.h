/* launch: the kernels, as C sees them. Each call queues one kernel on `stream` (a cudaStream_t)
 * and returns its cudaError_t. Sizes are elements, addresses those of first elements. */
#ifndef HIGHWATER_KERNELS_CUDA_LAUNCH_H
#define HIGHWATER_KERNELS_CUDA_LAUNCH_H

#include "kernels/dtype.h"
#include "kernels/fill.h"

#ifdef __cplusplus
extern "C" {
#endif

int launch_fill_normal(void *stream, uint64_t to, enum dtype dtype, const struct fill *fill);

/* x[rows, features] += bias[features], then GELU when asked for; in place */
int launch_bias(void *stream, uint64_t x, uint64_t bias, enum dtype dtype, uint64_t rows,
                uint64_t features, int gelu);

/* SQUARE_SUMS partial sums of squares; their sum is that of all `count` elements. */
#define SQUARE_SUMS 1024
int launch_square_sums(void *stream, uint64_t x, enum dtype dtype, uint64_t count,
                       uint64_t sums);

int launch_violation(void *stream);

/* The architectures that machine code was made for, as 90 for sm_90; 0 behind the last. */
unsigned launch_built_for(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
