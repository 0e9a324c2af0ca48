/* cuBLAS counts in columns: a row-major [rows, in] matrix is its column-major [in, rows] one.
 * So y = x * w^T is asked for as y^T = w * x^T, with w transposed and x as it lies.
 *
 * A product with a bias goes through cuBLASLt, which adds it for nothing; where it has no way
 * (odd sizes), the plain product does and the caller adds the bias. Accumulation is in float32,
 * also where a product is split over blocks of `in`; tf32 and emulation are never asked for. */
#include "kernels/cuda/blas.h"
#include "harness/device/cuda/device_cuda.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLANS = 32 };
/* More than the handle takes (71,303,168 bytes) or a product's module. */
#define LIBRARY_BYTES ((uint64_t)96 << 20)

/* How a product with a bias is made; found once for its sizes and alignment. */
struct product_plan {
    uint64_t rows, in, out, alignment;
    enum dtype dtype, result;
    bool possible;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t w, x, y;
    cublasLtMatmulAlgo_t algorithm;
};

struct blas {
    cublasHandle_t handle;
    struct product_plan plan[PLANS]; /* the oldest is replaced */
    size_t plans;
};

static cudaDataType_t type_of(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_float16:
        return CUDA_R_16F;
    case DTYPE_bfloat16:
        return CUDA_R_16BF;
    default:
        return CUDA_R_32F;
    }
}

void blas_version(char version[32])
{
    int major = 0, minor = 0, patch = 0;
    cublasGetProperty(MAJOR_VERSION, &major);
    cublasGetProperty(MINOR_VERSION, &minor);
    cublasGetProperty(PATCH_LEVEL, &patch);
    snprintf(version, 32, "cublas-%d.%d.%d", major, minor, patch);
}

/* cuBLAS hides refused memory behind other names: when it fails and the device has no room for
 * what a library takes, that is the cause. */
static enum outcome judge(struct device *device, cublasStatus_t status, const char *call)
{
    char reason[96];
    if (status == CUBLAS_STATUS_SUCCESS)
        return OUTCOME_OK;
    bool may_be_memory = status == CUBLAS_STATUS_NOT_INITIALIZED ||
                         status == CUBLAS_STATUS_INTERNAL_ERROR ||
                         status == CUBLAS_STATUS_EXECUTION_FAILED;
    enum outcome earlier = device->ops->synchronise(device);
    if (earlier == OUTCOME_FAILED)
        return earlier; /* a kernel before it broke the context */
    if (status == CUBLAS_STATUS_ALLOC_FAILED ||
        (may_be_memory && !device_cuda_could_give(device, LIBRARY_BYTES)))
        return OUTCOME_OOM;
    snprintf(reason, sizeof reason, "%s", cublasGetStatusName(status));
    return device_cuda_failed(device, call, reason);
}

/* --- plans ------------------------------------------------------------------------------- */

static void release_plan(struct product_plan *plan)
{
    if (plan->product)
        cublasLtMatmulDescDestroy(plan->product);
    if (plan->w)
        cublasLtMatrixLayoutDestroy(plan->w);
    if (plan->x)
        cublasLtMatrixLayoutDestroy(plan->x);
    if (plan->y)
        cublasLtMatrixLayoutDestroy(plan->y);
    *plan = (struct product_plan){.possible = false};
}

static bool describe_product(struct product_plan *plan)
{
    cublasOperation_t turned = CUBLAS_OP_T;
    cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    cudaDataType_t bias = type_of(plan->result);
    return cublasLtMatmulDescCreate(&plan->product, CUBLAS_COMPUTE_32F, CUDA_R_32F) == 0 &&
           cublasLtMatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_TRANSA, &turned,
                                          sizeof turned) == 0 &&
           cublasLtMatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                          &epilogue, sizeof epilogue) == 0 &&
           cublasLtMatmulDescSetAttribute(plan->product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                                          &bias, sizeof bias) == 0 &&
           cublasLtMatrixLayoutCreate(&plan->w, type_of(plan->dtype), plan->in, plan->out,
                                      (int64_t)plan->in) == 0 &&
           cublasLtMatrixLayoutCreate(&plan->x, type_of(plan->dtype), plan->in, plan->rows,
                                      (int64_t)plan->in) == 0 &&
           cublasLtMatrixLayoutCreate(&plan->y, type_of(plan->result), plan->out, plan->rows,
                                      (int64_t)plan->out) == 0;
}

static bool prefer(cublasLtMatmulPreference_t preference, uint32_t alignment)
{
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    uint64_t workspace = WORKSPACE_BYTES;
    uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    for (size_t i = 0; i < 4; i++)
        if (cublasLtMatmulPreferenceSetAttribute(preference, alignments[i], &alignment,
                                                 sizeof alignment) != 0)
            return false;
    return cublasLtMatmulPreferenceSetAttribute(preference,
                                                CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                &workspace, sizeof workspace) == 0 &&
           cublasLtMatmulPreferenceSetAttribute(preference,
                                                CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                &reductions, sizeof reductions) == 0;
}

static bool choose_algorithm(struct blas *blas, struct product_plan *plan)
{
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    if (cublasLtMatmulPreferenceCreate(&preference) != 0)
        return false;
    bool chosen = prefer(preference, (uint32_t)plan->alignment) &&
                  cublasLtMatmulAlgoGetHeuristic((cublasLtHandle_t)blas->handle, plan->product,
                                                 plan->w, plan->x, plan->y, plan->y, preference,
                                                 1, &found, &count) == 0 &&
                  count == 1;
    cublasLtMatmulPreferenceDestroy(preference);
    if (chosen)
        plan->algorithm = found.algo;
    return chosen;
}

static uint64_t alignment_of(const struct product *of)
{
    uint64_t together = of->y.address | of->x.address | of->w.address | of->bias.address;
    uint64_t alignment = together & (0 - together);
    return alignment < 256 ? alignment : 256;
}

static struct product_plan *plan_for(struct blas *blas, const struct product *of)
{
    struct product_plan wanted = {.rows = of->rows,
                                  .in = of->in,
                                  .out = of->out,
                                  .alignment = alignment_of(of),
                                  .dtype = of->x.dtype,
                                  .result = of->y.dtype};
    size_t kept = blas->plans < PLANS ? blas->plans : PLANS;
    for (size_t i = 0; i < kept; i++) {
        struct product_plan *plan = &blas->plan[i];
        if (plan->rows == wanted.rows && plan->in == wanted.in && plan->out == wanted.out &&
            plan->alignment == wanted.alignment && plan->dtype == wanted.dtype &&
            plan->result == wanted.result)
            return plan;
    }
    struct product_plan *plan = &blas->plan[blas->plans++ % PLANS];
    release_plan(plan);
    *plan = wanted;
    plan->possible = describe_product(plan) && choose_algorithm(blas, plan);
    return plan;
}

/* OUTCOME_OK with plan->possible taken back: the library would not after all. */
static enum outcome multiply_biased(struct math *math, struct blas *blas,
                                    struct product_plan *plan, const struct product *of)
{
    const float one = 1, zero = 0;
    const void *bias = (const void *)(uintptr_t)of->bias.address;
    void *y = (void *)(uintptr_t)of->y.address;
    cublasStatus_t status = cublasLtMatmulDescSetAttribute(
        plan->product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            cublasLtMatmul((cublasLtHandle_t)blas->handle, plan->product, &one,
                           (const void *)(uintptr_t)of->w.address, plan->w,
                           (const void *)(uintptr_t)of->x.address, plan->x, &zero, y, plan->y,
                           y, plan->y, &plan->algorithm, (void *)(uintptr_t)math->workspace,
                           WORKSPACE_BYTES, device_cuda_stream(math->device));
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
        plan->possible = false;
        return OUTCOME_OK;
    }
    return judge(math->device, status, "cublasLtMatmul");
}

enum outcome blas_project(struct math *math, struct blas *blas, const struct projection *of)
{
    const float one = 1, kept = of->add ? 1 : 0;
    cudaDataType_t type = type_of(of->x.dtype);
    int64_t in = (int64_t)of->in, out = (int64_t)of->out;
    cublasStatus_t status =
        cublasGemmEx_64(blas->handle, CUBLAS_OP_T, CUBLAS_OP_N, out, (int64_t)of->rows, in,
                        &one, (const void *)(uintptr_t)of->w.address, type, in,
                        (const void *)(uintptr_t)of->x.address, type, (int64_t)of->stride,
                        &kept, (void *)(uintptr_t)of->y.address, type_of(of->y.dtype), out,
                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return judge(math->device, status, "cublasGemmEx");
}

static enum outcome multiply_plain(struct math *math, struct blas *blas,
                                   const struct product *of)
{
    struct projection plain = {.y = of->y,
                               .x = of->x,
                               .w = of->w,
                               .rows = of->rows,
                               .in = of->in,
                               .out = of->out,
                               .stride = of->in};
    return blas_project(math, blas, &plain);
}

enum outcome blas_multiply(struct math *math, struct blas *blas, const struct product *product,
                           bool *biased)
{
    struct product_plan *plan = product->bias.address ? plan_for(blas, product) : NULL;
    if (plan && plan->possible) {
        enum outcome outcome = multiply_biased(math, blas, plan, product);
        *biased = plan->possible;
        if (outcome != OUTCOME_OK || *biased)
            return outcome;
    }
    *biased = false;
    return multiply_plain(math, blas, product);
}

/* --- life -------------------------------------------------------------------------------- */

/* Without a workspace of the caller's (--describe) the library keeps its own. Setting the
 * stream forgets the workspace, so the stream comes first. */
static cublasStatus_t set_up(const struct math *math, cublasHandle_t handle)
{
    cublasStatus_t status = cublasSetStream(handle, device_cuda_stream(math->device));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = cublasSetMathMode(
            handle, CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    if (status == CUBLAS_STATUS_SUCCESS && math->workspace)
        status =
            cublasSetWorkspace(handle, (void *)(uintptr_t)math->workspace, WORKSPACE_BYTES);
    return status;
}

enum outcome blas_open(struct math *math, struct blas **blas)
{
    cublasHandle_t handle;
    cublasStatus_t status = cublasCreate(&handle);
    if (status != CUBLAS_STATUS_SUCCESS)
        return judge(math->device, status, "cublasCreate");
    status = set_up(math, handle);
    if (status != CUBLAS_STATUS_SUCCESS) {
        cublasDestroy(handle);
        return judge(math->device, status, "cublasSetWorkspace");
    }
    struct blas *opened = xcalloc(1, sizeof *opened);
    opened->handle = handle;
    *blas = opened;
    return OUTCOME_OK;
}

void blas_close(struct blas *blas)
{
    for (size_t i = 0; i < PLANS; i++)
        release_plan(&blas->plan[i]);
    cublasDestroy(blas->handle);
    free(blas);
}
