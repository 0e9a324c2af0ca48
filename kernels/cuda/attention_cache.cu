/* Attention of one token per row over the cache, bound by reading it.
 *
 * The context of a row is cut into splits, so that one row fills the card; a block takes one
 * split of one key-value head and computes all query heads that share it (up to 16 at a time)
 * on the tensor cores. Its four warps take turns at groups of 16 slots, each with a pipeline of
 * its own into shared memory, and are combined in order at the end; a second kernel combines
 * splits in order. Nothing depends on timing, so every cache layout gives the same bits.
 */
#include "kernels/cuda/attention_cache.h"
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/tile.cuh"

enum { WARPS = 4, THREADS = WARPS * 32, GROUP = PAGE_TOKENS, HEADS = 16 };

/* What a block works on. */
struct cache_part {
    uint32_t row, kv, split;
    uint32_t position, begin, end; /* slots of this split */
};

/* Slots that hold tokens the row may see, cut to this split's share, whole groups. */
static __device__ __forceinline__ cache_part find_part(const struct cache_attention &of)
{
    cache_part p;
    p.split = blockIdx.x % (uint32_t)of.splits, p.row = blockIdx.x / (uint32_t)of.splits;
    p.kv = blockIdx.y;
    p.position = ((const struct decoder_state *)of.state)->position;
    uint32_t slots = (uint32_t)of.cache.slots, window = (uint32_t)of.window;
    uint32_t used = min(p.position + 1, slots), first = 0;
    if (window && p.position >= window && p.position < slots)
        first = (p.position - window + 1) / GROUP * GROUP;
    uint32_t groups = (used - first + GROUP - 1) / GROUP, splits = (uint32_t)of.splits;
    uint32_t each = (groups + splits - 1) / splits * GROUP;
    p.begin = min(first + p.split * each, used);
    p.end = min(p.begin + each, used);
    return p;
}

/* Is the token in this slot within the window? The slot holds the newest position that falls
 * on it. */
static __device__ __forceinline__ bool seen(const struct cache_attention &of,
                                            const cache_part &p, uint32_t slot)
{
    uint32_t slots = (uint32_t)of.cache.slots;
    uint32_t age = p.position < slots ? p.position - slot : (p.position - slot) % slots;
    return slot < p.end && (of.window == 0 || age < of.window);
}

template <typename T, int D>
static __device__ __forceinline__ void fetch_group(T *tile, const T *block,
                                                   const struct cache_attention &of,
                                                   const cache_part &p, uint32_t slot)
{
    constexpr int chunks = D / 8;
    uint32_t d = (uint32_t)of.cache.head_dim;
    struct cache_slot at = cache_find(of.cache, p.row, slot); /* a group lies in one page */
    const T *first = block + at.first + p.kv * at.stride;
#pragma unroll
    for (int i = threadIdx.x % 32; i < GROUP * chunks; i += 32) {
        uint32_t r = i / chunks, c = i % chunks;
        bool there = slot + r < p.end && c * 8 < d;
        fetch(tile + tile_at<D>(r, c), there ? first + r * d + c * 8 : first, there);
    }
}

/* Sums of one warp: rows are query heads lane / 4 and lane / 4 + 8. */
template <int D> struct sums {
    float out[D / 8][4];
    float largest[2], sum[2];
};

template <typename T, int D>
static __device__ __forceinline__ void
add_group(sums<D> &run, const uint32_t (&q)[D / 16][4], const T *keys, const T *values,
          const struct cache_attention &of, const cache_part &p, uint32_t slot, float scale)
{
    int lane = threadIdx.x % 32;
    float s[2][4] = {};
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        uint32_t b[4];
        load_tiles(b, keys + tile_at<D>(lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
        multiply_tile<T>(s[0], q[k], b[0], b[1]);
        multiply_tile<T>(s[1], q[k], b[2], b[3]);
    }
#pragma unroll
    for (int n = 0; n < 2; n++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            if (!seen(of, p, slot + n * 8 + lane % 4 * 2 + e))
                s[n][e] = s[n][e + 2] = -INFINITY;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float largest =
            fmaxf(fmaxf(s[0][2 * r], s[0][2 * r + 1]), fmaxf(s[1][2 * r], s[1][2 * r + 1]));
        largest = fmaxf(quad_max(largest), run.largest[r]);
        float zero = largest == -INFINITY ? 0.0f : largest * scale;
        float keep = exp2f(run.largest[r] * scale - zero), sum = 0;
        run.largest[r] = largest;
#pragma unroll
        for (int n = 0; n < 2; n++)
#pragma unroll
            for (int e = 2 * r; e < 2 * r + 2; e++) {
                s[n][e] = exp2f(s[n][e] * scale - zero);
                sum += s[n][e];
            }
        run.sum[r] = run.sum[r] * keep + sum;
#pragma unroll
        for (int n = 0; n < D / 8; n++) {
            run.out[n][2 * r] *= keep;
            run.out[n][2 * r + 1] *= keep;
        }
    }
    uint32_t w[4] = {pair_of<T>(s[0][0], s[0][1]), pair_of<T>(s[0][2], s[0][3]),
                     pair_of<T>(s[1][0], s[1][1]), pair_of<T>(s[1][2], s[1][3])};
#pragma unroll
    for (int n = 0; n < D / 16; n++) {
        uint32_t b[4];
        load_tiles_turned(b, values + tile_at<D>(lane % 16, 2 * n + lane / 16));
        multiply_tile<T>(run.out[2 * n], w, b[0], b[1]);
        multiply_tile<T>(run.out[2 * n + 1], w, b[2], b[3]);
    }
}

/* Query heads first … of this key-value head as the left operand; zeros past the last. */
template <typename T, int D>
static __device__ __forceinline__ void load_queries(uint32_t (&q)[D / 16][4],
                                                    const struct heads &of, const cache_part &p,
                                                    uint32_t first, uint32_t count)
{
    int lane = threadIdx.x % 32;
    uint32_t d = (uint32_t)of.head_dim;
    const T *row = (const T *)of.qkv.address + p.row * (of.heads + 2 * of.kv_heads) * d;
#pragma unroll
    for (int k = 0; k < D / 16; k++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            uint32_t h = lane / 4 + e % 2 * 8, i = k * 16 + e / 2 * 8 + lane % 4 * 2;
            bool there = h < count && i < d;
            q[k][e] = there ? *(const uint32_t *)(row + (first + h) * d + i) : 0;
        }
}

/* Sums of all warps, in order of warps, into the split's partial result:
 * [row][head][split][d + 2]: weighted values, largest score times scale, sum of weights. */
template <int D>
static __device__ __forceinline__ void
combine_warps(const sums<D> &run, float *shared, const struct cache_attention &of,
              const cache_part &p, uint32_t first, uint32_t count, float scale)
{
    constexpr int row = D + 2;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float *mine = shared + warp * HEADS * row;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float *to = mine + (lane / 4 + 8 * r) * row, sum = quad_sum(run.sum[r]);
#pragma unroll
        for (int n = 0; n < D / 8; n++) {
            to[n * 8 + lane % 4 * 2] = run.out[n][2 * r];
            to[n * 8 + lane % 4 * 2 + 1] = run.out[n][2 * r + 1];
        }
        to[D] = run.largest[r] * scale;
        to[D + 1] = sum;
    }
    __syncthreads();
    uint32_t d = (uint32_t)of.cache.head_dim;
    for (uint32_t i = threadIdx.x; i < count * (d + 2); i += THREADS) {
        uint32_t h = i / (d + 2), at = i % (d + 2), column = at < d ? at : at - d + D;
        float largest = -INFINITY, total = 0;
        for (int w = 0; w < WARPS; w++)
            largest = fmaxf(largest, shared[(w * HEADS + h) * row + D]);
        for (int w = 0; w < WARPS && largest > -INFINITY; w++)
            total += shared[(w * HEADS + h) * row + column] *
                     exp2f(shared[(w * HEADS + h) * row + D] - largest);
        float *to = (float *)of.partial +
                    ((p.row * of.of.heads + first + h) * of.splits + p.split) * (d + 2);
        to[at] = column == D ? largest : total;
    }
    __syncthreads();
}

template <typename T, int D, int STAGES>
static __global__ void __launch_bounds__(THREADS)
    cache_kernel(const struct cache_attention of, float scale)
{
    extern __shared__ uint4 memory[];
    constexpr int tile = GROUP * D;
    T *mine = (T *)memory + threadIdx.x / 32 * STAGES * 2 * tile;
    cache_part p = find_part(of);
    const T *keys = cache_block<T>(of.cache, of.cache.keys, p.row);
    const T *values = cache_block<T>(of.cache, of.cache.values, p.row);
    uint32_t shared_heads = (uint32_t)(of.of.heads / of.of.kv_heads);
    for (uint32_t done = 0; done < shared_heads; done += HEADS) {
        uint32_t first = p.kv * shared_heads + done, count = min(shared_heads - done, HEADS);
        uint32_t q[D / 16][4];
        sums<D> run;
        memset(&run, 0, sizeof(run));
        run.largest[0] = run.largest[1] = -INFINITY;
        uint32_t fetched = p.begin + threadIdx.x / 32 * GROUP;
        for (int stage = 0; stage < STAGES - 1; stage++, fetched += WARPS * GROUP) {
            if (fetched < p.end) {
                fetch_group<T, D>(mine + stage * 2 * tile, keys, of, p, fetched);
                fetch_group<T, D>(mine + (stage * 2 + 1) * tile, values, of, p, fetched);
            }
            fetch_commit();
        }
        load_queries<T, D>(q, of.of, p, first, count);
        int stage = 0;
        for (uint32_t slot = p.begin + threadIdx.x / 32 * GROUP; slot < p.end;
             slot += WARPS * GROUP, fetched += WARPS * GROUP) {
            fetch_wait<STAGES - 2>();
            __syncwarp();
            T *next = mine + (stage + STAGES - 1) % STAGES * 2 * tile;
            if (fetched < p.end) {
                fetch_group<T, D>(next, keys, of, p, fetched);
                fetch_group<T, D>(next + tile, values, of, p, fetched);
            }
            fetch_commit();
            add_group<T, D>(run, q, mine + stage * 2 * tile, mine + (stage * 2 + 1) * tile, of,
                            p, slot, scale);
            stage = (stage + 1) % STAGES;
        }
        fetch_wait<0>();
        __syncthreads();
        combine_warps<D>(run, (float *)memory, of, p, first, count, scale);
    }
}

/* One block for each row and head. */
template <typename T>
static __global__ void combine_kernel(const float *partial, T *out, uint32_t d, uint32_t splits)
{
    const float *from = partial + (uint64_t)blockIdx.x * splits * (d + 2);
    float largest = -INFINITY, sum = 0;
    for (uint32_t s = 0; s < splits; s++)
        largest = fmaxf(largest, from[s * (d + 2) + d]);
    for (uint32_t s = 0; s < splits; s++)
        sum += from[s * (d + 2) + d + 1] * exp2f(from[s * (d + 2) + d] - largest);
    for (uint32_t i = threadIdx.x; i < d; i += blockDim.x) {
        float total = 0;
        for (uint32_t s = 0; s < splits; s++)
            total += from[s * (d + 2) + i] * exp2f(from[s * (d + 2) + d] - largest);
        out[(uint64_t)blockIdx.x * d + i] = from_float<T>(total / sum);
    }
}

template <typename T, int D, int STAGES>
static int start(void *stream, const struct cache_attention &of)
{
    constexpr size_t pipeline = (size_t)WARPS * STAGES * 2 * GROUP * D * sizeof(T);
    constexpr size_t sums = (size_t)WARPS * HEADS * (D + 2) * sizeof(float);
    dim3 grid((unsigned)(of.splits * of.of.rows), (unsigned)of.of.kv_heads);
    return launch_with(stream, grid, THREADS, pipeline > sums ? pipeline : sums,
                       cache_kernel<T, D, STAGES>, of, attention_scale(of.of.head_dim));
}

template <typename T> static int choose(void *stream, const struct cache_attention &of)
{
    if (of.of.head_dim <= 64)
        return start<T, 64, 4>(stream, of);
    if (of.of.head_dim <= 128)
        return start<T, 128, 3>(stream, of);
    return start<T, 256, 2>(stream, of);
}

/* --- float32, and heads that cannot be moved in 16-byte pieces ---------------------------- */

enum { LANE_DIMS = HEAD_DIM_LIMIT / 32 };

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

static int attend_cache_any(void *stream, const struct cache_attention &of)
{
    unsigned pairs = (unsigned)((of.of.rows * of.of.heads + WARPS - 1) / WARPS);
    return with_type(of.of.qkv.dtype, [&](auto zero) {
        return launch(stream, dim3(pairs, (unsigned)of.splits), WARPS * 32,
                      any_kernel<decltype(zero)>, of, attention_scale(of.of.head_dim));
    });
}

/* --- the choice --------------------------------------------------------------------------- */

extern "C" int launch_attend_cache(void *stream, const struct cache_attention *of)
{
    const struct heads &h = of->of;
    bool packed = h.head_dim * dtype_bytes(h.qkv.dtype) % 16 == 0;
    int error;
    if (h.qkv.dtype == DTYPE_float32 || !packed)
        error = attend_cache_any(stream, *of);
    else if (h.qkv.dtype == DTYPE_float16)
        error = choose<__half>(stream, *of);
    else
        error = choose<__nv_bfloat16>(stream, *of);
    if (error)
        return error;
    return with_type(h.qkv.dtype, [&](auto zero) {
        using T = decltype(zero);
        return launch(stream, (unsigned)(h.rows * h.heads), THREADS, combine_kernel<T>,
                      pointer<const float>(of->partial), pointer<T>(of->out.address),
                      (uint32_t)h.head_dim, (uint32_t)of->splits);
    });
}
