/* few_rows.cuh: products of at most FEW_ROWS rows, and how they are cut. */
#ifndef HIGHWATER_KERNELS_CUDA_FEW_ROWS_CUH
#define HIGHWATER_KERNELS_CUDA_FEW_ROWS_CUH

#include "kernels/cuda/decoder.cuh"

enum { FEW_ROWS = 32 };

/* A block makes 16 * tiles outputs with this many warps along `in`. */
struct few_rows_shape {
    int tiles; /* 1 or 2 */
    int warps; /* 8 or 16 */
};
/* Enough blocks to fill the card come first; then each row of x is read less often. */
static inline few_rows_shape few_rows_best(uint64_t rows, uint64_t out)
{
    (void)rows;
    if (out < 8192)
        return {1, 8};
    return {2, 8};
}
int launch_few_rows_as(void *stream, const struct projection &of, const few_rows_shape &as);

#endif
