#include "harness/device/cuda/device_cuda.h"
#include "kernels/cuda/blas.h"
#include "kernels/cuda/launch.h"
#include "kernels/ops_decoder.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

static void facts(struct ops_facts *facts)
{
    int version = 0;
    *facts = (struct ops_facts){.backend = ""};
    blas_version(facts->backend);
    if (cudaRuntimeGetVersion(&version) == cudaSuccess)
        snprintf(facts->runtime, sizeof facts->runtime, "cuda-%d.%d", version / 1000,
                 version % 1000 / 10);
    for (unsigned i = 0; i < sizeof facts->built_for / sizeof *facts->built_for; i++)
        facts->built_for[i] = launch_built_for(i);
}

static enum outcome open_libraries(struct math *math)
{
    struct blas *blas;
    enum outcome outcome = blas_open(math, &blas);
    if (outcome == OUTCOME_OK)
        math->state = blas;
    return outcome;
}

static void close_libraries(struct math *math)
{
    blas_close(math->state);
    math->state = NULL;
}

static enum outcome fill_normal(struct math *math, struct array to, const struct fill *fill)
{
    return device_cuda_outcome(
        math->device,
        launch_fill_normal(device_cuda_stream(math->device), to.address, to.dtype, fill),
        "fill_normal");
}

static enum outcome bias_gelu(struct math *math, struct array x, struct array bias,
                              uint64_t rows, uint64_t features)
{
    return device_cuda_outcome(math->device,
                               launch_bias(device_cuda_stream(math->device), x.address,
                                           bias.address, x.dtype, rows, features, 1),
                               "bias_gelu");
}

static enum outcome multiply(struct math *math, const struct product *product)
{
    bool biased;
    enum outcome outcome = blas_multiply(math, math->state, product, &biased);
    if (outcome != OUTCOME_OK || biased || !product->bias.address)
        return outcome;
    return device_cuda_outcome(math->device,
                               launch_bias(device_cuda_stream(math->device), product->y.address,
                                           product->bias.address, product->y.dtype,
                                           product->rows, product->out, 0),
                               "bias");
}

/* The partial sums lie in the workspace: the same stream, so no product is using it. */
static enum outcome mean_square(struct math *math, struct array x, uint64_t count, double *mean)
{
    double sums[SQUARE_SUMS], sum = 0;
    enum outcome outcome =
        device_cuda_outcome(math->device,
                            launch_square_sums(device_cuda_stream(math->device), x.address,
                                               x.dtype, count, math->workspace),
                            "square_sums");
    if (outcome == OUTCOME_OK)
        outcome = math->device->ops->to_host(math->device, sums, math->workspace, sizeof sums);
    if (outcome != OUTCOME_OK)
        return outcome;
    for (int i = 0; i < SQUARE_SUMS; i++)
        sum += sums[i];
    *mean = sum / (double)count;
    return OUTCOME_OK;
}

static enum outcome violate(struct device *device)
{
    return device_cuda_outcome(device, launch_violation(device_cuda_stream(device)),
                               "violation");
}

const struct ops ops_cuda = {
    .facts = facts,
    .open = open_libraries,
    .close = close_libraries,
    .fill_normal = fill_normal,
    .multiply = multiply,
    .bias_gelu = bias_gelu,
    .mean_square = mean_square,
    .violate = violate,
    .decoder = &ops_decoder_cuda,
};
