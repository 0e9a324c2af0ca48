/* The decoder's kernels beside attention. What is done to each row by itself (embedding, norm,
 * gate) is bound by memory: a row is read in 16-byte pieces where its address and width allow.
 */
#include "kernels/cuda/decoder.cuh"

enum { ROW_THREADS = 256, PLACE_THREADS = 128, WIDE = 1024 };

/* --- embedding ---------------------------------------------------------------------------- */

template <typename T>
static __global__ void embed_kernel(T *x, const T *table, const uint32_t *tokens,
                                    const struct decoder_state *state, uint64_t width)
{
    uint64_t row = blockIdx.x;
    uint64_t step = state ? state->step : 0;
    const T *from = table + (uint64_t)tokens[step * gridDim.x + row] * width;
    for (uint64_t i = threadIdx.x; i < width; i += ROW_THREADS)
        x[row * width + i] = from[i];
}

extern "C" int launch_embed(void *stream, const struct embedding *of)
{
    unsigned rows = (unsigned)of->rows;
    const uint32_t *tokens = pointer<const uint32_t>(of->tokens);
    const struct decoder_state *state = pointer<const struct decoder_state>(of->state);
    if (aligned(of->x.address | of->table.address, of->width, of->x.dtype))
        return launch(stream, rows, ROW_THREADS, embed_kernel<uint4>,
                      pointer<uint4>(of->x.address), pointer<const uint4>(of->table.address),
                      tokens, state, of->width * dtype_bytes(of->x.dtype) / sizeof(uint4));
    return with_type(of->x.dtype, [&](auto zero) {
        using T = decltype(zero);
        return launch(stream, rows, ROW_THREADS, embed_kernel<T>, pointer<T>(of->x.address),
                      pointer<const T>(of->table.address), tokens, state, of->width);
    });
}

/* --- RMS norm ----------------------------------------------------------------------------- */

static __device__ float block_sum(float x)
{
    __shared__ float part[ROW_THREADS / 32];
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int i = 0; i < ROW_THREADS / 32; i++)
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
    for (uint64_t i = threadIdx.x * size; i < width; i += ROW_THREADS * size) {
        pack<T> p = pack_load(x + i);
        for (int j = 0; j < size; j++)
            sum += to_float(p.at[j]) * to_float(p.at[j]);
    }
    float scale = rsqrtf(block_sum(sum) / (float)width + eps);
    for (uint64_t i = threadIdx.x * size; i < width; i += ROW_THREADS * size) {
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
    for (uint64_t i = threadIdx.x; i < width; i += ROW_THREADS)
        sum += to_float(x[i]) * to_float(x[i]);
    float scale = rsqrtf(block_sum(sum) / (float)width + eps);
    for (uint64_t i = threadIdx.x; i < width; i += ROW_THREADS)
        y[i] = from_float<T>(to_float(x[i]) * scale * to_float(weight[i]));
}

extern "C" int launch_normalise(void *stream, const struct norm *of)
{
    uint64_t addresses = of->x.address | of->y.address | of->weight.address;
    bool packed =
        aligned(addresses, of->width, of->x.dtype) && aligned(0, of->stride, of->x.dtype);
    return with_type(of->x.dtype, [&](auto zero) {
        using T = decltype(zero);
        return launch(stream, (unsigned)of->rows, ROW_THREADS,
                      packed ? norm_kernel<T> : norm_kernel_any<T>, pointer<T>(of->y.address),
                      pointer<const T>(of->x.address), pointer<const T>(of->weight.address),
                      of->width, of->stride, of->eps);
    });
}

/* --- gate --------------------------------------------------------------------------------- */

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
    uint64_t i = ((uint64_t)blockIdx.x * ROW_THREADS + threadIdx.x) * size;
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
    uint64_t i = (uint64_t)blockIdx.x * ROW_THREADS + threadIdx.x;
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
        dim3 grid((unsigned)((across + ROW_THREADS - 1) / ROW_THREADS), down);
        if (packed)
            return launch(stream, grid, ROW_THREADS, gate_kernel<T>, x, of->rows, of->inner);
        return launch(stream, grid, ROW_THREADS, gate_kernel_any<T>, x,
                      pointer<const T>(of->bias.address), of->rows, of->inner);
    });
}

/* --- rotary positions and the cache ------------------------------------------------------- */

/* One token: its angles are shared by all heads. Each thread turns N neighbouring pairs
 * (i, i + half) at a time. */
template <typename T> struct token {
    T *qkv;
    const T *bias;
    const float *cosine, *sine;
    T *keys, *values; /* of its cache row: block or pool */
    struct cache_slot slot;
    bool stored;
};

/* Elements i … of the token, bias added. */
template <typename T, int N>
static __device__ __forceinline__ void load_biased(const token<T> &t, uint32_t i, float (&x)[N])
{
    Pack<T, N> in = *(const Pack<T, N> *)(t.qkv + i);
#pragma unroll
    for (int j = 0; j < N; j++)
        x[j] = to_float(in.value[j]);
    if (!t.bias)
        return;
    in = *(const Pack<T, N> *)(t.bias + i);
#pragma unroll
    for (int j = 0; j < N; j++)
        x[j] += to_float(in.value[j]);
}

template <typename T, int N>
static __device__ __forceinline__ void turn(const token<T> &t, uint32_t heads, uint32_t half,
                                            uint32_t pair)
{
    uint32_t h = pair / half, i = pair % half, at = h * 2 * half + i;
    float x[N], y[N];
    Pack<T, N> low, high;
    load_biased<T, N>(t, at, x);
    load_biased<T, N>(t, at + half, y);
#pragma unroll
    for (int j = 0; j < N; j++) {
        float c = t.cosine[i + j], s = t.sine[i + j];
        low.value[j] = from_float<T>(x[j] * c - y[j] * s);
        high.value[j] = from_float<T>(y[j] * c + x[j] * s);
    }
    *(Pack<T, N> *)(t.qkv + at) = low;
    *(Pack<T, N> *)(t.qkv + at + half) = high;
    if (h < heads || !t.stored)
        return;
    T *key = t.keys + t.slot.first + (h - heads) * t.slot.stride + i;
    *(Pack<T, N> *)key = low;
    *(Pack<T, N> *)(key + half) = high;
}

template <typename T, int N>
static __device__ __forceinline__ void keep_value(const token<T> &t, uint32_t first, uint32_t d,
                                                  uint32_t i)
{
    float x[N];
    Pack<T, N> out;
    load_biased<T, N>(t, first + i, x);
#pragma unroll
    for (int j = 0; j < N; j++)
        out.value[j] = from_float<T>(x[j]);
    if (t.bias)
        *(Pack<T, N> *)(t.qkv + first + i) = out;
    if (t.stored)
        *(Pack<T, N> *)(t.values + t.slot.first + i / d * t.slot.stride + i % d) = out;
}

template <typename T, int N>
static __global__ void place_kernel(const struct token_placement of)
{
    __shared__ float cosine[HEAD_DIM_LIMIT / 2], sine[HEAD_DIM_LIMIT / 2];
    uint32_t d = (uint32_t)of.of.head_dim, half = d / 2, heads = (uint32_t)of.of.heads;
    uint32_t kv_heads = (uint32_t)of.of.kv_heads, turned = heads + kv_heads;
    uint64_t begin = of.state ? ((const struct decoder_state *)of.state)->position : 0;
    uint32_t tokens = (uint32_t)of.of.tokens, within = blockIdx.x % tokens;
    uint64_t position = begin + within, row = of.first_row + blockIdx.x / tokens;
    for (uint32_t i = threadIdx.x; i < half; i += PLACE_THREADS) {
        float angle = (float)position * ((const float *)of.frequencies)[i];
        sincosf(angle, &sine[i], &cosine[i]);
    }
    __syncthreads();
    token<T> t;
    t.qkv = (T *)of.of.qkv.address + (uint64_t)blockIdx.x * (turned + kv_heads) * d;
    t.bias = (const T *)of.bias.address;
    t.cosine = cosine, t.sine = sine;
    t.keys = cache_block<T>(of.cache, of.cache.keys, row);
    t.values = cache_block<T>(of.cache, of.cache.values, row);
    t.slot = cache_find(of.cache, row, position % of.cache.slots);
    t.stored = within + of.cache.slots >= tokens; /* later tokens would overwrite it */
    for (uint32_t pair = threadIdx.x * N; pair < turned * half; pair += PLACE_THREADS * N)
        turn<T, N>(t, heads, half, pair);
    for (uint32_t i = threadIdx.x * N; i < kv_heads * d; i += PLACE_THREADS * N)
        keep_value<T, N>(t, turned * d, d, i);
}

/* Pieces of 16 bytes where half a head is whole pieces; blocks of the cache are aligned. */
extern "C" int launch_place(void *stream, const struct token_placement *of)
{
    bool packed =
        aligned(of->of.qkv.address | of->bias.address, of->of.head_dim / 2, of->of.qkv.dtype);
    return with_type(of->of.qkv.dtype, [&](auto zero) {
        using T = decltype(zero);
        constexpr int most = 16 / sizeof(T);
        return launch(stream, (unsigned)of->of.rows, PLACE_THREADS,
                      packed ? place_kernel<T, most> : place_kernel<T, 1>, *of);
    });
}

/* --- pages -------------------------------------------------------------------------------- */

/* A ring whose pages were all handed out takes no more. */
static __global__ void pages_kernel(const struct paging of)
{
    struct decoder_state *state = (struct decoder_state *)of.state;
    uint64_t position = state->position, begin = 0, end = 0;
    if (of.count) {
        uint64_t kept = of.count < of.slots ? of.count : of.slots;
        end = (kept + PAGE_TOKENS - 1) / PAGE_TOKENS;
    } else if (position < of.slots && position % PAGE_TOKENS == 0) {
        begin = position / PAGE_TOKENS;
        end = begin + 1;
    }
    uint32_t next = state->next_page;
    __syncthreads();
    for (uint64_t i = threadIdx.x; i < (end - begin) * of.rows; i += blockDim.x) {
        uint64_t row = of.first_row + i % of.rows, page = begin + i / of.rows;
        ((uint32_t *)of.pages)[row * of.pages_per_row + page] = next + (uint32_t)i;
    }
    if (threadIdx.x == 0)
        state->next_page = next + (uint32_t)((end - begin) * of.rows);
}

extern "C" int launch_take_pages(void *stream, const struct paging *of)
{
    return launch(stream, 1, WIDE, pages_kernel, *of);
}

static __global__ void store_kernel(const struct stored_words of)
{
    if (threadIdx.x < of.count)
        ((uint64_t *)of.to)[threadIdx.x] = of.word[threadIdx.x];
}

extern "C" int launch_store(void *stream, const struct stored_words *of)
{
    return launch(stream, 1, STORE_WORDS, store_kernel, *of);
}

static __global__ void advance_kernel(struct decoder_state *state)
{
    state->position++;
    state->step++;
}

extern "C" int launch_advance(void *stream, uint64_t state)
{
    return launch(stream, 1, 1, advance_kernel, pointer<struct decoder_state>(state));
}

/* --- the largest logit -------------------------------------------------------------------- */

static __device__ void keep_larger(float &value, uint32_t &index, float other, uint32_t at)
{
    if (other > value || (other == value && at < index)) {
        value = other;
        index = at;
    }
}

static __global__ void choose_kernel(const struct token_choice of)
{
    __shared__ float values[32];
    __shared__ uint32_t indices[32];
    const float *logits = (const float *)of.logits + blockIdx.x * of.vocabulary;
    float value = -INFINITY;
    uint32_t index = 0xffffffffu;
    for (uint64_t i = threadIdx.x; i < of.vocabulary; i += WIDE)
        keep_larger(value, index, logits[i], (uint32_t)i);
    for (int warps = 0; warps < 2; warps++) {
        for (int step = 16; step; step /= 2)
            keep_larger(value, index, __shfl_xor_sync(~0u, value, step),
                        __shfl_xor_sync(~0u, index, step));
        if (warps == 0) {
            values[threadIdx.x / 32] = value;
            indices[threadIdx.x / 32] = index;
            __syncthreads();
            value = values[threadIdx.x % 32];
            index = indices[threadIdx.x % 32];
        }
    }
    uint64_t step = of.state ? ((const struct decoder_state *)of.state)->step + 1ull : 0;
    if (threadIdx.x == 0)
        ((uint32_t *)of.tokens)[step * of.all_rows + of.first_row + blockIdx.x] =
            index < of.vocabulary ? index : 0; /* none is larger: all are NaN */
}

extern "C" int launch_choose(void *stream, const struct token_choice *of)
{
    return launch(stream, (unsigned)of->rows, WIDE, choose_kernel, *of);
}
