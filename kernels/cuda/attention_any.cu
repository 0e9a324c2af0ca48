/* attention_any.cu: attention in plain multiply-add: all of float32, and in the cache heads
 * whose vectors cannot be moved in 16-byte pieces. */
#include "kernels/cuda/attention.cuh"

/* --- prompt, float32 ---------------------------------------------------------------------- */

/* A block holds QUERIES rows of one head and walks over the keys, KEYS at a time. Thread (x, y)
 * of 16 x 16 makes scores of rows 2 y … and keys x, x + 16, and sums dimensions x, x + 16, … */
enum { QUERIES = 32, KEYS = 32, SIDE = 16 };

struct float_view {
    const float *qkv;
    float *out;
    uint64_t stride;
    int tokens, heads, kv_heads, d, window;
    float scale;
};

template <int D>
__device__ void load_rows(float (*tile)[D + 1], const float *base, const float_view &view,
                          int first, int rows)
{
    for (int i = threadIdx.y * SIDE + threadIdx.x; i < rows * D; i += SIDE * SIDE) {
        int r = i / D, c = i % D;
        bool there = first + r < view.tokens && c < view.d;
        tile[r][c] = there ? base[(uint64_t)(first + r) * view.stride + c] : 0.0f;
    }
}

static __device__ float row_max(float x)
{
    for (int step = 8; step; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(~0u, x, step));
    return x;
}

static __device__ float row_sum(float x)
{
    for (int step = 8; step; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
}

template <int D>
__device__ void make_scores(float (&s)[2][2], const float (*queries)[D + 1],
                            const float (*keys)[D + 1], const float_view &view, int first,
                            int at)
{
    int x = threadIdx.x, y = threadIdx.y * 2;
    s[0][0] = s[0][1] = s[1][0] = s[1][1] = 0;
#pragma unroll 8
    for (int c = 0; c < D; c++)
        for (int r = 0; r < 2; r++)
            for (int k = 0; k < 2; k++)
                s[r][k] = fmaf(queries[y + r][c], keys[x + k * SIDE][c], s[r][k]);
    for (int r = 0; r < 2; r++)
        for (int k = 0; k < 2; k++) {
            int query = first + y + r, key = at + x + k * SIDE;
            if (key > query || key >= view.tokens ||
                (view.window && key + view.window <= query))
                s[r][k] = -INFINITY;
        }
}

/* Weights into shared memory; what was summed before is scaled to the new largest score. */
template <int D>
__device__ void weigh(const float (&s)[2][2], float (&out)[2][D / SIDE], float (&largest)[2],
                      float (&sum)[2], float (*weights)[KEYS + 1], float scale)
{
    int x = threadIdx.x, y = threadIdx.y * 2;
    for (int r = 0; r < 2; r++) {
        float most = fmaxf(largest[r], row_max(fmaxf(s[r][0], s[r][1])));
        float zero = most == -INFINITY ? 0.0f : most * scale;
        float keep = exp2f(largest[r] * scale - zero);
        float a = exp2f(s[r][0] * scale - zero), b = exp2f(s[r][1] * scale - zero);
        largest[r] = most;
        sum[r] = sum[r] * keep + row_sum(a + b);
        for (int c = 0; c < D / SIDE; c++)
            out[r][c] *= keep;
        weights[y + r][x] = a;
        weights[y + r][x + SIDE] = b;
    }
}

template <int D> static __global__ void float_kernel(const float_view view)
{
    extern __shared__ float memory[];
    float(*queries)[D + 1] = (float(*)[D + 1]) memory;
    float(*keys)[D + 1] = queries + QUERIES;
    float(*weights)[KEYS + 1] = (float(*)[KEYS + 1])(keys + KEYS);
    int head = blockIdx.x, kv = head / (view.heads / view.kv_heads);
    int first = (int)(gridDim.y - 1 - blockIdx.y) * QUERIES, y = threadIdx.y * 2;
    const float *token = view.qkv + (uint64_t)blockIdx.z * view.tokens * view.stride;
    const float *key = token + (uint64_t)(view.heads + kv) * view.d;
    float out[2][D / SIDE] = {}, largest[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    load_rows<D>(queries, token + (uint64_t)head * view.d, view, first, QUERIES);
    int begin =
        view.window && first >= view.window ? (first - view.window + 1) / KEYS * KEYS : 0;
    for (int at = begin; at < min(view.tokens, first + QUERIES); at += KEYS) {
        float s[2][2];
        __syncthreads();
        load_rows<D>(keys, key, view, at, KEYS);
        __syncthreads();
        make_scores<D>(s, queries, keys, view, first, at);
        weigh<D>(s, out, largest, sum, weights, view.scale);
        __syncthreads();
        load_rows<D>(keys, key + (uint64_t)view.kv_heads * view.d, view, at, KEYS); /* values */
        __syncthreads();
        for (int k = 0; k < KEYS; k++)
            for (int c = 0; c < D / SIDE; c++)
                for (int r = 0; r < 2; r++)
                    out[r][c] =
                        fmaf(weights[y + r][k], keys[k][threadIdx.x + c * SIDE], out[r][c]);
    }
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < D / SIDE; c++) {
            int row = first + y + r, i = threadIdx.x + c * SIDE;
            uint64_t at = ((uint64_t)blockIdx.z * view.tokens + row) * view.heads + head;
            if (row < view.tokens && i < view.d)
                view.out[at * view.d + i] = out[r][c] / sum[r];
        }
}

template <int D> static int start(void *stream, const float_view &view, unsigned sequences)
{
    size_t bytes = ((QUERIES + KEYS) * (D + 1) + QUERIES * (KEYS + 1)) * sizeof(float);
    int error = 0;
    for (unsigned at = 0; at < sequences && error == 0; at += GRID_LIMIT) {
        unsigned part = sequences - at < GRID_LIMIT ? sequences - at : GRID_LIMIT;
        float_view here = view;
        here.qkv += (uint64_t)at * view.tokens * view.stride;
        here.out += (uint64_t)at * view.tokens * view.heads * view.d;
        dim3 grid((unsigned)view.heads, (unsigned)((view.tokens + QUERIES - 1) / QUERIES),
                  part);
        error = launch_with(stream, grid, dim3(SIDE, SIDE), bytes, float_kernel<D>, here);
    }
    return error;
}

int launch_attend_prompt_float(void *stream, const struct prompt_attention &of)
{
    const struct heads &h = of.of;
    float_view view = {};
    view.qkv = pointer<const float>(h.qkv.address);
    view.out = pointer<float>(of.out.address);
    view.stride = (h.heads + 2 * h.kv_heads) * h.head_dim;
    view.tokens = (int)h.tokens, view.heads = (int)h.heads, view.kv_heads = (int)h.kv_heads;
    view.d = (int)h.head_dim;
    view.window = of.window < h.tokens ? (int)of.window : 0;
    view.scale = attention_scale(h.head_dim);
    unsigned sequences = (unsigned)(h.rows / h.tokens);
    if (h.head_dim <= 64)
        return start<64>(stream, view, sequences);
    if (h.head_dim <= 128)
        return start<128>(stream, view, sequences);
    return start<256>(stream, view, sequences);
}

/* --- cache, any type and head ------------------------------------------------------------- */

enum { WARPS = 4, LANE_DIMS = HEAD_DIM_LIMIT / 32 };

/* One warp walks over one split for one query head; a lane keeps dimensions lane, lane + 32,
 * … */
template <typename T>
static __global__ void any_kernel(const struct cache_attention of, float scale)
{
    uint32_t lane = threadIdx.x % 32, d = (uint32_t)of.of.head_dim,
             heads = (uint32_t)of.of.heads;
    uint64_t pair = (uint64_t)blockIdx.x * WARPS + threadIdx.x / 32;
    uint32_t splits = (uint32_t)of.splits, slots = (uint32_t)of.cache.slots;
    if (pair >= of.of.rows * heads)
        return;
    uint32_t row = (uint32_t)(pair / heads), head = (uint32_t)(pair % heads);
    uint32_t kv = head / (heads / (uint32_t)of.of.kv_heads);
    uint32_t position = ((const struct decoder_state *)of.state)->position;
    uint32_t used = min(position + 1, slots), each = (used + splits - 1) / splits;
    uint32_t begin = min(blockIdx.y * each, used), end = min(begin + each, used);
    const T *query = (const T *)of.of.qkv.address +
                     ((uint64_t)row * (heads + 2 * of.of.kv_heads) + head) * d;
    const T *keys = cache_block<T>(of.cache, of.cache.keys, row);
    const T *values = cache_block<T>(of.cache, of.cache.values, row);
    float q[LANE_DIMS], out[LANE_DIMS] = {}, largest = -INFINITY, sum = 0;
    for (uint32_t j = 0; j < LANE_DIMS; j++)
        q[j] = lane + j * 32 < d ? to_float(query[lane + j * 32]) : 0.0f;
    for (uint32_t slot = begin; slot < end; slot++) {
        uint32_t age = position < slots ? position - slot : (position - slot) % slots;
        if (of.window && age >= of.window)
            continue;
        struct cache_slot at = cache_find(of.cache, row, slot);
        uint64_t vector = at.first + kv * at.stride;
        float score = 0;
        for (uint32_t j = 0; j < LANE_DIMS; j++)
            if (lane + j * 32 < d)
                score = fmaf(q[j], to_float(keys[vector + lane + j * 32]), score);
        score = warp_sum(score) * scale;
        float most = fmaxf(largest, score), keep = exp2f(largest - most);
        float weight = exp2f(score - most);
        largest = most;
        sum = sum * keep + weight;
        for (uint32_t j = 0; j < LANE_DIMS; j++)
            if (lane + j * 32 < d)
                out[j] = fmaf(weight, to_float(values[vector + lane + j * 32]), out[j] * keep);
    }
    float *to = (float *)of.partial + (pair * splits + blockIdx.y) * (d + 2);
    for (uint32_t j = 0; j < LANE_DIMS; j++)
        if (lane + j * 32 < d)
            to[lane + j * 32] = out[j];
    if (lane == 0)
        to[d] = largest, to[d + 1] = sum;
}

int launch_attend_cache_any(void *stream, const struct cache_attention &of)
{
    unsigned pairs = (unsigned)((of.of.rows * of.of.heads + WARPS - 1) / WARPS);
    return with_type(of.of.qkv.dtype, [&](auto zero) {
        return launch(stream, dim3(pairs, (unsigned)of.splits), WARPS * 32,
                      any_kernel<decltype(zero)>, of, attention_scale(of.of.head_dim));
    });
}
