/* decoder_rows.cu: what is done to each row by itself: embedding, norm, gate. All are bound by
 * memory: a row is read in 16-byte pieces where its address and width allow. */
#include "kernels/cuda/decoder.cuh"

enum { THREADS = 256 };

/* --- embedding ---------------------------------------------------------------------------- */

template <typename T>
static __global__ void embed_kernel(T *x, const T *table, const uint32_t *tokens,
                                    const struct decoder_state *state, uint64_t width)
{
    uint64_t row = blockIdx.x;
    uint64_t step = state ? state->step : 0;
    const T *from = table + (uint64_t)tokens[step * gridDim.x + row] * width;
    for (uint64_t i = threadIdx.x; i < width; i += THREADS)
        x[row * width + i] = from[i];
}

extern "C" int launch_embed(void *stream, const struct embedding *of)
{
    unsigned rows = (unsigned)of->rows;
    const uint32_t *tokens = pointer<const uint32_t>(of->tokens);
    const struct decoder_state *state = pointer<const struct decoder_state>(of->state);
    if (aligned(of->x.address | of->table.address, of->width, of->x.dtype))
        return launch(stream, rows, THREADS, embed_kernel<uint4>, pointer<uint4>(of->x.address),
                      pointer<const uint4>(of->table.address), tokens, state,
                      of->width * dtype_bytes(of->x.dtype) / sizeof(uint4));
    return with_type(of->x.dtype, [&](auto zero) {
        using T = decltype(zero);
        return launch(stream, rows, THREADS, embed_kernel<T>, pointer<T>(of->x.address),
                      pointer<const T>(of->table.address), tokens, state, of->width);
    });
}

/* --- RMS norm ----------------------------------------------------------------------------- */

static __device__ float block_sum(float x)
{
    __shared__ float part[THREADS / 32];
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int i = 0; i < THREADS / 32; i++)
        x += part[i];
    return x;
}

/* The second pass over the row finds it in the first-level cache. */
template <typename T>
static __global__ void norm_kernel(T *y, const T *x, const T *weight, uint64_t width,
                                   uint64_t stride, float eps)
{
    constexpr int size = pack<T>::size;
    x += blockIdx.x * stride;
    y += blockIdx.x * width;
    float sum = 0;
    for (uint64_t i = threadIdx.x * size; i < width; i += THREADS * size) {
        pack<T> p = pack_load(x + i);
        for (int j = 0; j < size; j++)
            sum += to_float(p.at[j]) * to_float(p.at[j]);
    }
    float scale = rsqrtf(block_sum(sum) / (float)width + eps);
    for (uint64_t i = threadIdx.x * size; i < width; i += THREADS * size) {
        pack<T> p = pack_load(x + i), w = pack_load(weight + i), q;
        for (int j = 0; j < size; j++)
            q.at[j] = from_float<T>(to_float(p.at[j]) * scale * to_float(w.at[j]));
        pack_store(y + i, q);
    }
}

template <typename T>
static __global__ void norm_kernel_any(T *y, const T *x, const T *weight, uint64_t width,
                                       uint64_t stride, float eps)
{
    x += blockIdx.x * stride;
    y += blockIdx.x * width;
    float sum = 0;
    for (uint64_t i = threadIdx.x; i < width; i += THREADS)
        sum += to_float(x[i]) * to_float(x[i]);
    float scale = rsqrtf(block_sum(sum) / (float)width + eps);
    for (uint64_t i = threadIdx.x; i < width; i += THREADS)
        y[i] = from_float<T>(to_float(x[i]) * scale * to_float(weight[i]));
}

extern "C" int launch_normalise(void *stream, const struct norm *of)
{
    uint64_t addresses = of->x.address | of->y.address | of->weight.address;
    bool packed =
        aligned(addresses, of->width, of->x.dtype) && aligned(0, of->stride, of->x.dtype);
    return with_type(of->x.dtype, [&](auto zero) {
        using T = decltype(zero);
        return launch(stream, (unsigned)of->rows, THREADS,
                      packed ? norm_kernel<T> : norm_kernel_any<T>, pointer<T>(of->y.address),
                      pointer<const T>(of->x.address), pointer<const T>(of->weight.address),
                      of->width, of->stride, of->eps);
    });
}

/* --- gate  -------------------------------------------------------------------------- */

static __device__ __forceinline__ float silu(float x)
{
    return __fdividef(x, 1.0f + __expf(-x));
}

/* Rows are walked by blockIdx.y, of which there are at most GATE_ROWS. */
enum { GATE_ROWS = 4096 };

template <typename T>
static __global__ void gate_kernel(T *rows, uint64_t count, uint64_t inner)
{
    constexpr int size = pack<T>::size;
    uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * size;
    if (i >= inner)
        return;
    for (uint64_t r = blockIdx.y; r < count; r += gridDim.y) {
        T *row = rows + r * 2 * inner + i;
        pack<T> gate = pack_load(row), up = pack_load(row + inner);
#pragma unroll
        for (int j = 0; j < size; j++)
            gate.at[j] = from_float<T>(silu(to_float(gate.at[j])) * to_float(up.at[j]));
        pack_store(row, gate);
    }
}

template <typename T>
static __global__ void gate_kernel_any(T *rows, const T *bias, uint64_t count, uint64_t inner)
{
    uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= inner)
        return;
    float gate_bias = bias ? to_float(bias[i]) : 0,
          up_bias = bias ? to_float(bias[inner + i]) : 0;
    for (uint64_t r = blockIdx.y; r < count; r += gridDim.y) {
        T *row = rows + r * 2 * inner + i;
        float gate = to_float(row[0]) + gate_bias, up = to_float(row[inner]) + up_bias;
        row[0] = from_float<T>(silu(gate) * up);
    }
}

extern "C" int launch_gate(void *stream, const struct gating *of)
{
    bool packed =
        !of->bias.address && aligned(of->gate_up.address, of->inner, of->gate_up.dtype);
    unsigned down = (unsigned)(of->rows < GATE_ROWS ? of->rows : GATE_ROWS);
    return with_type(of->gate_up.dtype, [&](auto zero) {
        using T = decltype(zero);
        T *x = pointer<T>(of->gate_up.address);
        uint64_t across = packed ? of->inner / pack<T>::size : of->inner;
        dim3 grid((unsigned)((across + THREADS - 1) / THREADS), down);
        if (packed)
            return launch(stream, grid, THREADS, gate_kernel<T>, x, of->rows, of->inner);
        return launch(stream, grid, THREADS, gate_kernel_any<T>, x,
                      pointer<const T>(of->bias.address), of->rows, of->inner);
    });
}
