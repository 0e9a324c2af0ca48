/* decoder_cache.cu: rotary positions, writing keys and values into the cache, pages, and the
 * choice of the next token. */
#include "kernels/cuda/decoder.cuh"

enum { THREADS = 128, WIDE = 1024 };

/* --- rotary positions and the cache ---------------------------------------------------------
 */

/* One token: its angles are shared by all heads. Each thread turns pairs (i, i + half). */
template <typename T> struct token {
    T *qkv;
    const T *bias;
    const float *cosine, *sine;
    T *keys, *values; /* of its cache row: block or pool */
    struct cache_slot slot;
    bool stored;
};

template <typename T> __device__ __forceinline__ float with_bias(const token<T> &t, uint32_t i)
{
    float x = to_float(t.qkv[i]);
    return t.bias ? x + to_float(t.bias[i]) : x;
}

template <typename T>
__device__ void turn(const token<T> &t, uint32_t heads, uint32_t half, uint32_t pair)
{
    uint32_t h = pair / half, i = pair % half, at = h * 2 * half + i;
    float x = with_bias(t, at), y = with_bias(t, at + half);
    float c = t.cosine[i], s = t.sine[i];
    T low = from_float<T>(x * c - y * s), high = from_float<T>(y * c + x * s);
    t.qkv[at] = low;
    t.qkv[at + half] = high;
    if (h < heads || !t.stored)
        return;
    T *key = t.keys + t.slot.first + (h - heads) * t.slot.stride;
    key[i] = low;
    key[half + i] = high;
}

template <typename T>
__device__ void keep_value(const token<T> &t, uint32_t first, uint32_t d, uint32_t element)
{
    T value = t.qkv[first + element];
    if (t.bias) {
        value = from_float<T>(with_bias(t, first + element));
        t.qkv[first + element] = value;
    }
    if (t.stored)
        t.values[t.slot.first + element / d * t.slot.stride + element % d] = value;
}

template <typename T> static __global__ void place_kernel(const struct placement of)
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
    for (uint32_t pair = threadIdx.x; pair < turned * half; pair += THREADS)
        turn(t, heads, half, pair);
    for (uint32_t i = threadIdx.x; i < kv_heads * d; i += THREADS)
        keep_value(t, turned * d, d, i);
}

extern "C" int launch_place(void *stream, const struct placement *of)
{
    return with_type(of->of.qkv.dtype, [&](auto zero) {
        return launch(stream, (unsigned)of->of.rows, THREADS, place_kernel<decltype(zero)>,
                      *of);
    });
}

/* --- pages ----------------------------------------------------------------------------------
 */

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

static __global__ void advance_kernel(struct decoder_state *state)
{
    state->position++;
    state->step++;
}

extern "C" int launch_advance(void *stream, uint64_t state)
{
    return launch(stream, 1, 1, advance_kernel, pointer<struct decoder_state>(state));
}

/* --- the largest logit ----------------------------------------------------------------------
 */

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
