/* ops: what workloads may ask of a device, beside memory. One table per kind of arithmetic:
 * CUDA kernels with cuBLAS, or reference code in plain C. The simulated device has none.
 *
 * Matrices are row-major and dense; sizes are elements. Every operation works on the dtype of
 * its arrays and accumulates in float32, which is true float32: never tf32. Operations are
 * queued in order; an outcome other than OUTCOME_OK says that the operation could not be
 * queued, or that one before it failed. The reason is in math->device->error.
 *
 * Further topics (attention, loss, …) get a header ops_TOPIC.h with a table of their own and a
 * pointer to it in struct ops.
 */
#ifndef HIGHWATER_KERNELS_OPS_H
#define HIGHWATER_KERNELS_OPS_H

#include "harness/device/device.h"
#include "kernels/dtype.h"
#include "kernels/fill.h"

/* Memory for library workspaces and for partial sums, taken before the libraries are opened. */
#define WORKSPACE_BYTES 33554432u

struct array {
    uint64_t address; /* of the first element */
    enum dtype dtype;
};

struct ops;
/* A device with its libraries opened. */
struct math {
    const struct ops *ops;
    struct device *device;
    uint64_t workspace; /* address of WORKSPACE_BYTES, aligned to 256 */
    void *state;        /* the table's own */
};

/* y[rows, out] = x[rows, in] * w[out, in]^T (+ bias[out], unless its address is 0). x and w
 * have one dtype, y and bias have one. */
struct product {
    struct array y, x, w, bias;
    uint64_t rows, in, out;
};

/* What a build has, told without touching a device. */
struct ops_facts {
    char backend[32];       /* "cublas-13.0.2", "reference" */
    char runtime[32];       /* "cuda-13.0", "" where there is none */
    unsigned built_for[16]; /* CUDA architectures, 0 ends: 80, 90, … */
};

struct ops_decoder; /* ops_decoder.h */
struct ops {
    void (*facts)(struct ops_facts *facts);
    /* Opens libraries on math->device with math->workspace. */
    enum outcome (*open)(struct math *math);
    void (*close)(struct math *math);
    enum outcome (*fill_normal)(struct math *math, struct array to, const struct fill *fill);
    enum outcome (*multiply)(struct math *math, const struct product *product);
    /* x[rows, features] = gelu(x + bias[features]) in place, with the exact (erf) GELU */
    enum outcome (*bias_gelu)(struct math *math, struct array x, struct array bias,
                              uint64_t rows, uint64_t features);
    /* Mean of the squares of `count` > 0 elements; waits for all that was queued. The sum is
     * made in float64 in a fixed order. */
    enum outcome (*mean_square)(struct math *math, struct array x, uint64_t count,
                                double *mean);
    /* Writes out of all bounds, as a broken kernel would; the failure shows at the next
     * synchronisation. NULL where that would end the program itself. */
    enum outcome (*violate)(struct device *device);
    const struct ops_decoder *decoder;
};

extern const struct ops ops_host;
/* Only in programs that link CUDA. */
extern const struct ops ops_cuda;

#endif
