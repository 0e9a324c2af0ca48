/* Attention of a whole prompt, in tiles: a block holds ROWS queries of one
 * head and walks over the keys before them, 64 at a time, with a running softmax (Dao et al.,
 * 2022). No matrix of scores exists in memory. Scores and sums are float32.
 *
 * Each of four warps owns 16 * M rows: with M = 2 every key fragment read from shared memory is
 * used twice, which is what keeps the tensor cores fed. Keys of the next tile are fetched while
 * scores of this one are turned into weights, values while scores are made.
 *
 * Tensor cores would round float32: it has a kernel of plain multiply-add, at the end.
 */
#include "kernels/cuda/attention_prompt.h"
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/tile.cuh"

enum { WARPS = 4, THREADS = WARPS * 32, KEYS = 64 };

struct prompt_view {
    const void *qkv;
    void *out;
    uint64_t stride; /* of a token in qkv */
    int tokens, heads, kv_heads, d, window;
    float scale; /* of scores, log2(e) included */
};

/* Rows first … of one head's vectors into a shared tile; zeros past the prompt and past d. */
template <typename T, int D, int ROWS, bool PACKED>
static __device__ __forceinline__ void fetch_tile(T *tile, const T *base,
                                                  const prompt_view &view, int first)
{
    constexpr int chunks = D / 8;
#pragma unroll
    for (int i = threadIdx.x; i < ROWS * chunks; i += THREADS) {
        int r = i / chunks, c = i % chunks;
        bool there = first + r < view.tokens;
        const T *row = base + (uint64_t)(there ? first + r : 0) * view.stride;
        T *to = tile + tile_at<D>(r, c);
        if (PACKED)
            fetch(to, c * 8 < view.d ? row + c * 8 : row, there && c * 8 < view.d);
        else
            copy_chunk(to, row, c, view.d, there);
    }
}

/* What a warp keeps of its rows; index [m][0|1] is row 16 m + lane / 4 (+ 8). */
template <int D, int M> struct running {
    float out[M][D / 8][4];
    float largest[M][2], sum[M][2];
};

template <typename T, int D, int M>
static __device__ __forceinline__ void make_scores(float (&s)[M][KEYS / 8][4], const T *queries,
                                                   const T *keys)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    memset(s, 0, sizeof(s));
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
        uint32_t q[M][4];
#pragma unroll
        for (int m = 0; m < M; m++)
            load_tiles(
                q[m], queries + tile_at<D>((warp * M + m) * 16 + lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int n = 0; n < KEYS / 16; n++) {
            uint32_t b[4];
            load_tiles(
                b, keys + tile_at<D>(n * 16 + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
#pragma unroll
            for (int m = 0; m < M; m++) {
                multiply_tile<T>(s[m][2 * n], q[m], b[0], b[1]);
                multiply_tile<T>(s[m][2 * n + 1], q[m], b[2], b[3]);
            }
        }
    }
}

/* Scores that must not count become -inf. */
template <int M>
static __device__ __forceinline__ void mask_scores(float (&s)[M][KEYS / 8][4],
                                                   const prompt_view &view, int query, int key)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                int q = query + m * 16 + lane / 4 + e / 2 * 8;
                int k = key + n * 8 + lane % 4 * 2 + e % 2;
                if (k > q || k >= view.tokens || (view.window && k + view.window <= q))
                    s[m][n][e] = -INFINITY;
            }
}

/* Scores become weights; what was summed before is scaled to the new largest score. */
template <int D, int M>
static __device__ __forceinline__ void weigh(float (&s)[M][KEYS / 8][4], running<D, M> &run,
                                             float scale)
{
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float largest = run.largest[m][r];
#pragma unroll
            for (int n = 0; n < KEYS / 8; n++)
                largest = fmaxf(largest, fmaxf(s[m][n][2 * r], s[m][n][2 * r + 1]));
            largest = quad_max(largest);
            float zero = largest == -INFINITY ? 0.0f : largest * scale;
            float keep = exp2f(run.largest[m][r] * scale - zero);
            run.largest[m][r] = largest;
            float sum = 0;
#pragma unroll
            for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                for (int e = 2 * r; e < 2 * r + 2; e++) {
                    s[m][n][e] = exp2f(s[m][n][e] * scale - zero);
                    sum += s[m][n][e];
                }
            run.sum[m][r] = run.sum[m][r] * keep + sum;
#pragma unroll
            for (int n = 0; n < D / 8; n++) {
                run.out[m][n][2 * r] *= keep;
                run.out[m][n][2 * r + 1] *= keep;
            }
        }
}

template <typename T, int D, int M>
static __device__ __forceinline__ void add_values(running<D, M> &run,
                                                  float (&s)[M][KEYS / 8][4], const T *values)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < KEYS / 16; k++) {
        uint32_t p[M][4];
#pragma unroll
        for (int m = 0; m < M; m++) {
            p[m][0] = pair_of<T>(s[m][2 * k][0], s[m][2 * k][1]);
            p[m][1] = pair_of<T>(s[m][2 * k][2], s[m][2 * k][3]);
            p[m][2] = pair_of<T>(s[m][2 * k + 1][0], s[m][2 * k + 1][1]);
            p[m][3] = pair_of<T>(s[m][2 * k + 1][2], s[m][2 * k + 1][3]);
        }
#pragma unroll
        for (int n = 0; n < D / 16; n++) {
            uint32_t b[4];
            load_tiles_turned(b, values + tile_at<D>(k * 16 + lane % 16, 2 * n + lane / 16));
#pragma unroll
            for (int m = 0; m < M; m++) {
                multiply_tile<T>(run.out[m][2 * n], p[m], b[0], b[1]);
                multiply_tile<T>(run.out[m][2 * n + 1], p[m], b[2], b[3]);
            }
        }
    }
}

/* Through the queries' place, which only this warp's rows read, so that whole rows are
 * written. */
template <typename T, int D, int M, bool PACKED>
static __device__ __forceinline__ void write_out(const running<D, M> &run, T *tile,
                                                 const prompt_view &view, T *out, int first)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int m = 0; m < M; m++)
#pragma unroll
        for (int r = 0; r < 2; r++) {
            float sum = quad_sum(run.sum[m][r]);
            float scale = sum > 0 ? 1.0f / sum : 0.0f;
            int row = (warp * M + m) * 16 + r * 8 + lane / 4;
#pragma unroll
            for (int n = 0; n < D / 8; n++)
                *(uint32_t *)(tile + tile_at<D>(row, n) + lane % 4 * 2) =
                    pair_of<T>(run.out[m][n][2 * r] * scale, run.out[m][n][2 * r + 1] * scale);
        }
    __syncwarp();
    for (int i = lane; i < 16 * M * (D / 8); i += 32) {
        int row = warp * M * 16 + i / (D / 8), c = i % (D / 8);
        if (first + row >= view.tokens || c * 8 >= view.d)
            continue;
        const T *from = tile + tile_at<D>(row, c);
        T *to = out + (uint64_t)(first + row) * view.heads * view.d + c * 8;
        if (PACKED)
            *(uint4 *)to = *(const uint4 *)from;
        else
            for (int j = 0; j < 8 && c * 8 + j < view.d; j++)
                to[j] = from[j];
    }
}

template <typename T, int D, int M, bool PACKED>
static __global__ void __launch_bounds__(THREADS, D > 128 ? 1 : 2)
    prompt_kernel(const prompt_view view)
{
    constexpr int ROWS = WARPS * M * 16;
    extern __shared__ uint4 memory[];
    T *queries = (T *)memory, *keys = queries + ROWS * D, *values = keys + KEYS * D;
    int head = blockIdx.x, kv = head / (view.heads / view.kv_heads);
    int first = (int)(gridDim.y - 1 - blockIdx.y) * ROWS; /* the longest blocks start first */
    const T *token = (const T *)view.qkv + (uint64_t)blockIdx.z * view.tokens * view.stride;
    const T *key = token + (uint64_t)(view.heads + kv) * view.d;
    const T *value = key + (uint64_t)view.kv_heads * view.d;

    running<D, M> run;
    memset(run.out, 0, sizeof(run.out));
#pragma unroll
    for (int m = 0; m < M; m++) {
        run.largest[m][0] = run.largest[m][1] = -INFINITY;
        run.sum[m][0] = run.sum[m][1] = 0;
    }
    int end = min(view.tokens, first + ROWS);
    int begin =
        view.window && first >= view.window ? (first - view.window + 1) / KEYS * KEYS : 0;
    int mine = first + threadIdx.x / 32 * M * 16; /* first row of this warp */
    fetch_tile<T, D, ROWS, PACKED>(queries, token + (uint64_t)head * view.d, view, first);
    fetch_tile<T, D, KEYS, PACKED>(keys, key, view, begin);
    fetch_commit();
    for (int at = begin; at < end; at += KEYS) {
        float s[M][KEYS / 8][4];
        fetch_wait<0>();
        __syncthreads(); /* keys are here; values of the tile before were used by all */
        fetch_tile<T, D, KEYS, PACKED>(values, value, view, at);
        fetch_commit();
        make_scores<T, D, M>(s, queries, keys);
        fetch_wait<0>();
        __syncthreads();
        if (at + KEYS < end)
            fetch_tile<T, D, KEYS, PACKED>(keys, key, view, at + KEYS);
        fetch_commit();
        if (at + KEYS > mine || (view.window && at + view.window <= mine + M * 16))
            mask_scores<M>(s, view, mine, at);
        weigh<D, M>(s, run, view.scale);
        add_values<T, D, M>(run, s, values);
    }
    T *out = (T *)view.out + (uint64_t)blockIdx.z * view.tokens * view.heads * view.d;
    write_out<T, D, M, PACKED>(run, queries, view, out + (uint64_t)head * view.d, first);
}

/* PACKED: rows may be moved in 16-byte pieces. */
template <typename T, int D, int M, bool PACKED>
static int start(void *stream, const prompt_view &view, unsigned sequences)
{
    constexpr int rows = WARPS * M * 16;
    constexpr size_t bytes = (size_t)(rows + 2 * KEYS) * D * sizeof(T);
    int error = 0;
    for (unsigned at = 0; at < sequences && error == 0; at += GRID_LIMIT) {
        unsigned part = sequences - at < GRID_LIMIT ? sequences - at : GRID_LIMIT;
        prompt_view here = view;
        here.qkv = (const T *)view.qkv + (uint64_t)at * view.tokens * view.stride;
        here.out = (T *)view.out + (uint64_t)at * view.tokens * view.heads * view.d;
        dim3 grid((unsigned)view.heads, (unsigned)((view.tokens + rows - 1) / rows), part);
        error = launch_with(stream, grid, THREADS, bytes, prompt_kernel<T, D, M, PACKED>, here);
    }
    return error;
}

template <typename T, bool PACKED>
static int choose(void *stream, const prompt_view &view, unsigned sequences)
{
    if (view.d <= 64)
        return start<T, 64, 2, PACKED>(stream, view, sequences);
    if (view.d <= 128)
        return start<T, 128, 2, PACKED>(stream, view, sequences);
    return start<T, 256, 1, PACKED>(stream, view, sequences);
}

/* --- float32: no tensor cores ------------------------------------------------------------- */

/* A block holds FLOAT_QUERIES rows of one head and walks over the keys, FLOAT_KEYS at a time.
 * Thread (x, y) of 16 x 16 makes scores of rows 2 y … and keys x, x + 16, and sums dimensions
 * x, x + 16, … */
enum { FLOAT_QUERIES = 32, FLOAT_KEYS = 32, SIDE = 16 };

struct float_view {
    const float *qkv;
    float *out;
    uint64_t stride;
    int tokens, heads, kv_heads, d, window;
    float scale;
};

template <int D>
static __device__ void load_rows(float (*tile)[D + 1], const float *base,
                                 const float_view &view, int first, int rows)
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
static __device__ void make_float_scores(float (&s)[2][2], const float (*queries)[D + 1],
                                         const float (*keys)[D + 1], const float_view &view,
                                         int first, int at)
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
static __device__ void weigh_float(const float (&s)[2][2], float (&out)[2][D / SIDE],
                                   float (&largest)[2], float (&sum)[2],
                                   float (*weights)[FLOAT_KEYS + 1], float scale)
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
    extern __shared__ float float_memory[];
    float(*queries)[D + 1] = (float(*)[D + 1]) float_memory;
    float(*keys)[D + 1] = queries + FLOAT_QUERIES;
    float(*weights)[FLOAT_KEYS + 1] = (float(*)[FLOAT_KEYS + 1])(keys + FLOAT_KEYS);
    int head = blockIdx.x, kv = head / (view.heads / view.kv_heads);
    int first = (int)(gridDim.y - 1 - blockIdx.y) * FLOAT_QUERIES, y = threadIdx.y * 2;
    const float *token = view.qkv + (uint64_t)blockIdx.z * view.tokens * view.stride;
    const float *key = token + (uint64_t)(view.heads + kv) * view.d;
    float out[2][D / SIDE] = {}, largest[2] = {-INFINITY, -INFINITY}, sum[2] = {};
    load_rows<D>(queries, token + (uint64_t)head * view.d, view, first, FLOAT_QUERIES);
    int begin = view.window && first >= view.window
                    ? (first - view.window + 1) / FLOAT_KEYS * FLOAT_KEYS
                    : 0;
    for (int at = begin; at < min(view.tokens, first + FLOAT_QUERIES); at += FLOAT_KEYS) {
        float s[2][2];
        __syncthreads();
        load_rows<D>(keys, key, view, at, FLOAT_KEYS);
        __syncthreads();
        make_float_scores<D>(s, queries, keys, view, first, at);
        weigh_float<D>(s, out, largest, sum, weights, view.scale);
        __syncthreads();
        load_rows<D>(keys, key + (uint64_t)view.kv_heads * view.d, view, at,
                     FLOAT_KEYS); /* values */
        __syncthreads();
        for (int k = 0; k < FLOAT_KEYS; k++)
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

template <int D>
static int start_float(void *stream, const float_view &view, unsigned sequences)
{
    size_t bytes = ((FLOAT_QUERIES + FLOAT_KEYS) * (D + 1) + FLOAT_QUERIES * (FLOAT_KEYS + 1)) *
                   sizeof(float);
    int error = 0;
    for (unsigned at = 0; at < sequences && error == 0; at += GRID_LIMIT) {
        unsigned part = sequences - at < GRID_LIMIT ? sequences - at : GRID_LIMIT;
        float_view here = view;
        here.qkv += (uint64_t)at * view.tokens * view.stride;
        here.out += (uint64_t)at * view.tokens * view.heads * view.d;
        dim3 grid((unsigned)view.heads,
                  (unsigned)((view.tokens + FLOAT_QUERIES - 1) / FLOAT_QUERIES), part);
        error = launch_with(stream, grid, dim3(SIDE, SIDE), bytes, float_kernel<D>, here);
    }
    return error;
}

static int attend_prompt_float(void *stream, const struct prompt_attention &of)
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
        return start_float<64>(stream, view, sequences);
    if (h.head_dim <= 128)
        return start_float<128>(stream, view, sequences);
    return start_float<256>(stream, view, sequences);
}

/* --- the choice --------------------------------------------------------------------------- */

extern "C" int launch_attend_prompt(void *stream, const struct prompt_attention *of)
{
    const struct heads &h = of->of;
    if (h.qkv.dtype == DTYPE_float32)
        return attend_prompt_float(stream, *of);
    prompt_view view = {};
    view.qkv = pointer<const void>(h.qkv.address);
    view.out = pointer<void>(of->out.address);
    view.stride = (h.heads + 2 * h.kv_heads) * h.head_dim;
    view.tokens = (int)h.tokens, view.heads = (int)h.heads, view.kv_heads = (int)h.kv_heads;
    view.d = (int)h.head_dim;
    view.window = of->window < h.tokens ? (int)of->window : 0;
    view.scale = attention_scale(h.head_dim);
    bool packed = aligned(h.qkv.address | of->out.address, h.head_dim, h.qkv.dtype);
    unsigned sequences = (unsigned)(h.rows / h.tokens);
    if (h.qkv.dtype == DTYPE_float16)
        return (packed ? choose<__half, true> : choose<__half, false>)(stream, view, sequences);
    return (packed ? choose<__nv_bfloat16, true> : choose<__nv_bfloat16, false>)(stream, view,
                                                                                 sequences);
}
