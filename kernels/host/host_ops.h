/* host_ops: the rows of ops_host, one topic a file; struct ops says what they do. */
#ifndef HIGHWATER_KERNELS_HOST_OPS_H
#define HIGHWATER_KERNELS_HOST_OPS_H

#include "kernels/ops.h"

enum outcome host_fill_normal(struct math *math, struct array to, const struct fill *fill);
enum outcome host_multiply(struct math *math, const struct product *product);
enum outcome host_bias_gelu(struct math *math, struct array x, struct array bias, uint64_t rows,
                            uint64_t features);
enum outcome host_mean_square(struct math *math, struct array x, uint64_t count, double *mean);

#endif
