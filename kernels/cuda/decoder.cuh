/* decoder.cuh: what the decoder's kernels share: dtypes, the cache's addresses, launchers. */
#ifndef HIGHWATER_KERNELS_CUDA_DECODER_CUH
#define HIGHWATER_KERNELS_CUDA_DECODER_CUH

#ifndef _Noreturn
#define _Noreturn __attribute__((noreturn)) /* C11's word, in headers shared with C++ */
#endif
extern "C" {
#include "kernels/ops_decoder.h"
}

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

/* Queue the work of one operation; errors are cudaGetLastError()'s. */
void launch_embed(const struct embedding &of, cudaStream_t stream);
void launch_normalise(const struct norm &of, cudaStream_t stream);
void launch_add_bias(const struct row_bias &of, cudaStream_t stream);
void launch_place(const struct placement &of, cudaStream_t stream);
void launch_attend_prompt(const struct prompt_attention &of, cudaStream_t stream);
void launch_attend_cache(const struct cache_attention &of, cudaStream_t stream);
void launch_gate(const struct gating &of, cudaStream_t stream);
void launch_choose(const struct choice &of, cudaStream_t stream);
void launch_take_pages(const struct paging &of, cudaStream_t stream);
void launch_advance(uint64_t state, cudaStream_t stream);
/* A product of few rows, bound by reading w. false: not for this shape; nothing was queued.
 * `scratch` holds few_rows_scratch() bytes, zero before the first use and after each. */
bool launch_few_rows(const struct projection &of, void *scratch, size_t scratch_bytes,
                     cudaStream_t stream);

/* Which types a launcher instantiates: calls body with `T` bound to the element type. */
#define WITH_TYPE(dtype, ...)                                                                  \
    do {                                                                                       \
        if ((dtype) == DTYPE_float32) {                                                        \
            using T = float;                                                                   \
            __VA_ARGS__;                                                                       \
        } else if ((dtype) == DTYPE_float16) {                                                 \
            using T = __half;                                                                  \
            __VA_ARGS__;                                                                       \
        } else {                                                                               \
            using T = __nv_bfloat16;                                                           \
            __VA_ARGS__;                                                                       \
        }                                                                                      \
    } while (0)

static __device__ __forceinline__ float to_float(float x) { return x; }
static __device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
static __device__ __forceinline__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <typename T> __device__ __forceinline__ T from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x) { return x; }
template <> __device__ __forceinline__ __half from_float<__half>(float x)
{
    return __float2half_rn(x);
}
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}

/* As many elements as a 16-byte access holds. */
template <typename T> struct pack {
    static constexpr int size = 16 / sizeof(T);
    union {
        uint4 raw;
        T at[size];
    };
    __device__ pack() {}
};
template <typename T> __device__ __forceinline__ pack<T> pack_load(const T *from)
{
    pack<T> p;
    p.raw = *reinterpret_cast<const uint4 *>(from);
    return p;
}
template <typename T> __device__ __forceinline__ void pack_store(T *to, const pack<T> &p)
{
    *reinterpret_cast<uint4 *>(to) = p.raw;
}

/* Element offset in a block (or pool) of head h's vector at `slot` of cache row `row`. */
static __device__ __forceinline__ uint64_t cache_offset(const struct cache &cache, uint64_t row,
                                                        uint64_t h, uint64_t slot)
{
    if (!cache.pages)
        return (((row % cache.batch) * cache.kv_heads + h) * cache.slots + slot) * cache.head_dim;
    const uint32_t *table = reinterpret_cast<const uint32_t *>(cache.pages);
    uint64_t page = table[row * cache.pages_per_row + slot / PAGE_TOKENS];
    return ((page * cache.kv_heads + h) * PAGE_TOKENS + slot % PAGE_TOKENS) * cache.head_dim;
}
template <typename T>
__device__ __forceinline__ T *cache_block(const struct cache &cache, uint64_t addresses,
                                          uint64_t row)
{
    return reinterpret_cast<T *>(
        reinterpret_cast<const uint64_t *>(addresses)[row / cache.batch]);
}

static __device__ __forceinline__ float warp_sum(float x)
{
    for (int step = 16; step; step /= 2)
        x += __shfl_xor_sync(~0u, x, step);
    return x;
}

static inline bool aligned(uint64_t address, uint64_t elements, enum dtype dtype)
{
    return address % 16 == 0 && elements * dtype_bytes(dtype) % 16 == 0;
}

#endif
