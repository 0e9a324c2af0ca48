/* few_rows.cu: y = x * w^T for the few rows of a decode step, bound by reading w once.
 *
 * Weights are the left operand of the tensor cores (16 outputs a tile), rows of x the right one
 * (8 a tile). A sum over `in` may be taken in any order, so a lane takes 16 neighbouring bytes
 * of each of its two weight rows and of its row of x, and calls them the positions of two
 * consecutive products: w goes from memory to registers in whole pieces, once, without shared
 * memory. A block's warps take turns along `in`; their sums are added in order at the end.
 */
#include "kernels/cuda/few_rows.cuh"
#include "kernels/cuda/tile.cuh"

enum { STEP = 64 }; /* of `in`, a warp a turn: two pieces of 32 */

struct view {
    const void *x, *w;
    void *y;
    uint32_t rows, in, out;
    uint64_t stride;
    bool add;
};

static __device__ __forceinline__ uint4 load_weights(const void *from)
{
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(from));
    return v;
}

/* What a lane holds of one step: weights of rows lane / 4 and + 8 of each tile, in two halves.
 */
template <int M> struct weights {
    uint4 part[M][2][2];
};

template <typename T, int M>
__device__ __forceinline__ void load_step(weights<M> &a, const T *w, const view &of,
                                          uint32_t out, uint32_t k)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            uint32_t row = min(out + m * 16 + r * 8 + lane / 4, of.out - 1);
#pragma unroll
            for (int half = 0; half < 2; half++) {
                uint32_t at = k + half * 32 + lane % 4 * 8;
                a.part[m][r][half] = at < of.in ? load_weights(w + (uint64_t)row * of.in + at)
                                                : make_uint4(0, 0, 0, 0);
            }
        }
}

template <typename T, int M, int N>
__device__ __forceinline__ void add_step(float (&sum)[M][N][4], const weights<M> &a, const T *x,
                                         const view &of, uint32_t k)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        uint32_t at = k + half * 32 + lane % 4 * 8;
#pragma unroll
        for (int n = 0; n < N; n++) {
            uint32_t row = n * 8 + lane / 4;
            uint4 b = make_uint4(0, 0, 0, 0);
            if (row < of.rows && at < of.in)
                b = __ldg((const uint4 *)(x + row * of.stride + at));
#pragma unroll
            for (int m = 0; m < M; m++) {
                const uint4 &low = a.part[m][0][half], &high = a.part[m][1][half];
                uint32_t first[4] = {low.x, high.x, low.y, high.y};
                uint32_t second[4] = {low.z, high.z, low.w, high.w};
                multiply_tile<T>(sum[m][n], first, b.x, b.y);
                multiply_tile<T>(sum[m][n], second, b.z, b.w);
            }
        }
    }
}

/* Sums of all warps in order; shared is [warp][row of x][output]. */
template <typename Y, int M, int N, int WARPS>
__device__ __forceinline__ void finish(const float (&sum)[M][N][4], float *shared,
                                       const view &of, uint32_t out)
{
    constexpr int outs = M * 16, rows = N * 8;
    int lane = threadIdx.x % 32;
    float *mine = shared + threadIdx.x / 32 * outs * rows;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < N; n++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                mine[(n * 8 + lane % 4 * 2 + e % 2) * outs + m * 16 + lane / 4 + e / 2 * 8] =
                    sum[m][n][e];
    __syncthreads();
    Y *y = (Y *)of.y;
    for (int i = threadIdx.x; i < outs * rows; i += WARPS * 32) {
        uint32_t row = i / outs, o = out + i % outs;
        if (row >= of.rows || o >= of.out)
            continue;
        float total = 0;
        for (int w = 0; w < WARPS; w++)
            total += shared[w * outs * rows + i];
        uint64_t at = (uint64_t)row * of.out + o;
        y[at] = from_float<Y>(of.add ? to_float(y[at]) + total : total);
    }
}

template <typename T, typename Y, int M, int N, int WARPS>
static __global__ void __launch_bounds__(WARPS * 32) few_rows_kernel(const view of)
{
    extern __shared__ float shared[];
    const T *w = (const T *)of.w, *x = (const T *)of.x;
    uint32_t out = blockIdx.x * M * 16, k = threadIdx.x / 32 * STEP;
    float sum[M][N][4] = {};
    weights<M> here, next;
    load_step<T, M>(here, w, of, out, k);
    for (; k < of.in; k += WARPS * STEP) {
        load_step<T, M>(next, w, of, out, k + WARPS * STEP);
        add_step<T, M, N>(sum, here, x, of, k);
        here = next;
    }
    finish<Y, M, N, WARPS>(sum, shared, of, out);
}

template <typename T, typename Y, int M, int N, int WARPS>
static int start(void *stream, const view &of)
{
    constexpr size_t bytes = (size_t)WARPS * M * 16 * N * 8 * sizeof(float);
    return launch_with(stream, (of.out + M * 16 - 1) / (M * 16), WARPS * 32, bytes,
                       few_rows_kernel<T, Y, M, N, WARPS>, of);
}

template <typename T, typename Y, int N>
static int shape(void *stream, const view &of, const few_rows_shape &as)
{
    if (as.tiles == 1)
        return as.warps == 8 ? start<T, Y, 1, N, 8>(stream, of)
                             : start<T, Y, 1, N, 16>(stream, of);
    return as.warps == 8 ? start<T, Y, 2, N, 8>(stream, of) : start<T, Y, 2, N, 16>(stream, of);
}

template <typename T, typename Y>
static int choose(void *stream, const view &of, const few_rows_shape &as)
{
    if (of.rows <= 8)
        return shape<T, Y, 1>(stream, of, as);
    if (of.rows <= 16)
        return shape<T, Y, 2>(stream, of, as);
    return shape<T, Y, 4>(stream, of, as);
}

int launch_few_rows_as(void *stream, const struct projection &of, const few_rows_shape &as)
{
    view v = {};
    v.x = pointer<const void>(of.x.address), v.w = pointer<const void>(of.w.address);
    v.y = pointer<void>(of.y.address);
    v.rows = (uint32_t)of.rows, v.in = (uint32_t)of.in, v.out = (uint32_t)of.out;
    v.stride = of.stride, v.add = of.add;
    bool wide = of.y.dtype == DTYPE_float32;
    if (of.w.dtype == DTYPE_float16)
        return (wide ? choose<__half, float> : choose<__half, __half>)(stream, v, as);
    return (wide ? choose<__nv_bfloat16, float> : choose<__nv_bfloat16, __nv_bfloat16>)(stream,
                                                                                        v, as);
}

extern "C" bool few_rows_fits(const struct projection *of)
{
    return of->w.dtype != DTYPE_float32 && of->rows <= FEW_ROWS &&
           aligned(of->x.address | of->w.address, of->in, of->w.dtype) &&
           aligned(0, of->stride, of->w.dtype);
}

extern "C" int launch_few_rows(void *stream, const struct projection *of)
{
    return launch_few_rows_as(stream, *of, few_rows_best(of->rows, of->out));
}
