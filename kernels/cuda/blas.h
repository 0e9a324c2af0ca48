/* blas: products by cuBLAS, in the workspace that the workload's allocator handed out. */
#ifndef HIGHWATER_KERNELS_CUDA_BLAS_H
#define HIGHWATER_KERNELS_CUDA_BLAS_H

#include "kernels/ops_decoder.h"

struct blas; /* the handle, and the plans of products with a bias */

void blas_version(char version[32]); /* "cublas-13.0.2" */
enum outcome blas_open(struct math *math, struct blas **blas) MUST_CHECK;
void blas_close(struct blas *blas);
/* As struct ops says; *biased is false when the bias is still to be added. */
enum outcome blas_multiply(struct math *math, struct blas *blas, const struct product *product,
                           bool *biased) MUST_CHECK;
/* As struct ops_decoder says. */
enum outcome blas_project(struct math *math, struct blas *blas,
                          const struct projection *of) MUST_CHECK;

#endif
