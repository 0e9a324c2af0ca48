/* decoder_cache.cu: rotary positions, writing keys and values into the cache, pages, and the
 * choice of the next token. */
#include "kernels/cuda/decoder.cuh"

enum { THREADS = 128, WIDE = 1024 };

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
__device__ __forceinline__ void load_biased(const token<T> &t, uint32_t i, float (&x)[N])
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
__device__ __forceinline__ void turn(const token<T> &t, uint32_t heads, uint32_t half,
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
__device__ __forceinline__ void keep_value(const token<T> &t, uint32_t first, uint32_t d,
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

template <typename T, int N> static __global__ void place_kernel(const struct placement of)
{
    __shared__ float cosine[HEAD_DIM_LIMIT / 2], sine[HEAD_DIM_LIMIT / 2];
    uint32_t d = (uint32_t)of.of.head_dim, half = d / 2, heads = (uint32_t)of.of.heads;
    uint32_t kv_heads = (uint32_t)of.of.kv_heads, turned = heads + kv_heads;
    uint64_t begin = of.state ? ((const struct decoder_state *)of.state)->position : 0;
    uint32_t tokens = (uint32_t)of.of.tokens, within = blockIdx.x % tokens;
    uint64_t position = begin + within, row = of.first_row + blockIdx.x / tokens;
    for (uint32_t i = threadIdx.x; i < half; i += THREADS) {
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
    for (uint32_t pair = threadIdx.x * N; pair < turned * half; pair += THREADS * N)
        turn<T, N>(t, heads, half, pair);
    for (uint32_t i = threadIdx.x * N; i < kv_heads * d; i += THREADS * N)
        keep_value<T, N>(t, turned * d, d, i);
}

/* Pieces of 16 bytes where half a head is whole pieces; blocks of the cache are aligned. */
extern "C" int launch_place(void *stream, const struct placement *of)
{
    bool packed =
        aligned(of->of.qkv.address | of->bias.address, of->of.head_dim / 2, of->of.qkv.dtype);
    return with_type(of->of.qkv.dtype, [&](auto zero) {
        using T = decltype(zero);
        constexpr int most = 16 / sizeof(T);
        return launch(stream, (unsigned)of->of.rows, THREADS,
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

static __global__ void choose_kernel(const struct choice of)
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

extern "C" int launch_choose(void *stream, const struct choice *of)
{
    return launch(stream, (unsigned)of->rows, WIDE, choose_kernel, *of);
}
