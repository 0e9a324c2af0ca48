/* decoder_rows.cu: what is done to each row by itself: embedding, norm, gate, bias. All are bound
 * by memory: a row is read in 16-byte pieces where its address and width allow. */
#include "kernels/cuda/decoder.cuh"

enum { THREADS = 256 };

/* --- embedding ------------------------------------------------------------------------------ */

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

void launch_embed(const struct embedding &of, cudaStream_t stream)
{
    unsigned rows = (unsigned)of.rows;
    const uint32_t *tokens = (const uint32_t *)of.tokens;
    const struct decoder_state *state = (const struct decoder_state *)of.state;
    if (aligned(of.x.address | of.table.address, of.width, of.x.dtype)) {
        uint64_t width = of.width * dtype_bytes(of.x.dtype) / sizeof(uint4);
        embed_kernel<<<rows, THREADS, 0, stream>>>((uint4 *)of.x.address,
                                                   (const uint4 *)of.table.address, tokens,
                                                   state, width);
        return;
    }
    WITH_TYPE(of.x.dtype, embed_kernel<<<rows, THREADS, 0, stream>>>(
                              (T *)of.x.address, (const T *)of.table.address, tokens, state,
                              of.width));
}

/* --- RMS norm ------------------------------------------------------------------------------- */

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

void launch_normalise(const struct norm &of, cudaStream_t stream)
{
    bool packed = aligned(of.x.address | of.y.address | of.weight.address, of.width, of.x.dtype) &&
                  aligned(0, of.stride, of.x.dtype);
    WITH_TYPE(of.x.dtype, {
        auto kernel = packed ? norm_kernel<T> : norm_kernel_any<T>;
        kernel<<<(unsigned)of.rows, THREADS, 0, stream>>>(
            (T *)of.y.address, (const T *)of.x.address, (const T *)of.weight.address, of.width,
            of.stride, of.eps);
    });
}

/* --- gate and bias -------------------------------------------------------------------------- */

static __device__ __forceinline__ float silu(float x)
{
    return x / (1.0f + __expf(-x));
}

template <typename T> static __global__ void gate_kernel(T *rows, uint64_t inner)
{
    constexpr int size = pack<T>::size;
    uint64_t i = ((uint64_t)blockIdx.x * THREADS + threadIdx.x) * size;
    if (i >= inner)
        return;
    for (int part = 0; part < 4; part++) { /* rows of a block: blockIdx.y * 4 … */
        T *row = rows + ((uint64_t)blockIdx.y * 4 + part) * 2 * inner;
        pack<T> gate = pack_load(row + i), up = pack_load(row + inner + i);
        for (int j = 0; j < size; j++)
            gate.at[j] = from_float<T>(silu(to_float(gate.at[j])) * to_float(up.at[j]));
        pack_store(row + i, gate);
    }
}

template <typename T>
static __global__ void gate_kernel_any(T *rows, const T *bias, uint64_t inner, uint64_t first)
{
    T *row = rows + (first + blockIdx.y) * 2 * inner;
    uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= inner)
        return;
    float gate = to_float(row[i]), up = to_float(row[inner + i]);
    if (bias) {
        gate += to_float(bias[i]);
        up += to_float(bias[inner + i]);
    }
    row[i] = from_float<T>(silu(gate) * up);
}

void launch_gate(const struct gating &of, cudaStream_t stream)
{
    uint64_t packed = 0, rows = of.rows;
    if (!of.bias.address && aligned(of.gate_up.address, of.inner, of.gate_up.dtype))
        packed = rows / 4; /* groups of four rows */
    WITH_TYPE(of.gate_up.dtype, {
        T *x = (T *)of.gate_up.address;
        uint64_t wide = (of.inner / pack<T>::size + THREADS - 1) / THREADS;
        for (uint64_t at = 0; at < packed; at += 65535) {
            dim3 grid((unsigned)wide, (unsigned)(packed - at < 65535 ? packed - at : 65535));
            gate_kernel<<<grid, THREADS, 0, stream>>>(x + at * 4 * 2 * of.inner, of.inner);
        }
        for (uint64_t at = packed * 4; at < rows; at += 65535) {
            dim3 grid((unsigned)((of.inner + THREADS - 1) / THREADS),
                      (unsigned)(rows - at < 65535 ? rows - at : 65535));
            gate_kernel_any<<<grid, THREADS, 0, stream>>>(x, (const T *)of.bias.address, of.inner,
                                                          at);
        }
    });
}

template <typename T> static __global__ void bias_kernel(T *x, const T *bias, uint64_t width)
{
    for (uint64_t i = threadIdx.x; i < width; i += THREADS) {
        uint64_t at = (uint64_t)blockIdx.x * width + i;
        x[at] = from_float<T>(to_float(x[at]) + to_float(bias[i]));
    }
}

void launch_add_bias(const struct row_bias &of, cudaStream_t stream)
{
    WITH_TYPE(of.x.dtype, bias_kernel<<<(unsigned)of.rows, THREADS, 0, stream>>>(
                              (T *)of.x.address, (const T *)of.bias.address, of.width));
}
