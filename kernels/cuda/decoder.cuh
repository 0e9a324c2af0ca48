/* decoder.cuh: what the decoder's kernels share: 16-byte access and the cache's
 * addresses. */
#ifndef HIGHWATER_KERNELS_CUDA_DECODER_CUH
#define HIGHWATER_KERNELS_CUDA_DECODER_CUH

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch_decoder.h"

/* Like launch(), with dynamic shared memory. */
template <typename... Parameters, typename... Arguments>
static int launch_with(void *stream, dim3 grid, dim3 block, size_t shared,
                       void (*kernel)(Parameters...), Arguments... arguments)
{
    if (shared > 48 << 10) {
        cudaError_t error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
        if (error != cudaSuccess)
            return (int)error;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = (cudaStream_t)stream;
    return (int)cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

/* As many elements as a 16-byte access holds. */
template <typename T> struct pack {
    static constexpr int size = 16 / sizeof(T);
    union {
        uint4 raw;
        T at[size];
    };
    __device__ pack()
    {
    }
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

/* Where in a block (or pool) the vectors of one slot of cache row `row` lie: that of head h at
 * first + h * stride, in elements. */
struct cache_slot {
    uint64_t first, stride;
};
static __device__ __forceinline__ struct cache_slot cache_find(const struct cache &cache,
                                                               uint64_t row, uint64_t slot)
{
    uint64_t d = cache.head_dim, h = cache.kv_heads;
    if (!cache.pages)
        return {((uint32_t)row % (uint32_t)cache.batch * h * cache.slots + slot) * d,
                cache.slots * d};
    const uint32_t *table = reinterpret_cast<const uint32_t *>(cache.pages);
    uint64_t page = table[row * cache.pages_per_row + slot / PAGE_TOKENS];
    return {(page * h * PAGE_TOKENS + slot % PAGE_TOKENS) * d, PAGE_TOKENS * d};
}
template <typename T>
__device__ __forceinline__ T *cache_block(const struct cache &cache, uint64_t addresses,
                                          uint64_t row)
{
    return reinterpret_cast<T *>(
        reinterpret_cast<const uint64_t *>(addresses)[(uint32_t)row / (uint32_t)cache.batch]);
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
