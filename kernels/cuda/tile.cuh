/* tile.cuh: tensor-core tiles of 16-bit numbers for the attention kernels (mma m16n8k16).
 *
 * A shared tile is [rows][D] in 16-byte chunks; chunk c of row r stands at c ^ (r % 8), so that
 * eight rows of one column of chunks lie in different banks. Fragment layouts are those of the
 * PTX manual: of a 16x8 result a lane holds rows lane/4 and lane/4 + 8, columns 2*(lane%4) and
 * the next.
 */
#ifndef HIGHWATER_KERNELS_CUDA_TILE_CUH
#define HIGHWATER_KERNELS_CUDA_TILE_CUH

#include "kernels/cuda/decoder.cuh"

template <int D> __device__ __forceinline__ int tile_at(int row, int chunk)
{
    return row * D + ((chunk ^ (row & 7)) << 3);
}

template <typename T>
__device__ __forceinline__ void multiply_tile(float (&c)[4], const uint32_t (&a)[4],
                                              uint32_t b0, uint32_t b1);
#define MULTIPLY_TILE(type, name)                                                              \
    template <>                                                                                \
    __device__ __forceinline__ void multiply_tile<type>(float(&c)[4], const uint32_t(&a)[4],   \
                                                        uint32_t b0, uint32_t b1)              \
    {                                                                                          \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." name "." name                    \
                     ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"            \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                          \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));          \
    }
MULTIPLY_TILE(__nv_bfloat16, "bf16")
MULTIPLY_TILE(__half, "f16")
#undef MULTIPLY_TILE

__device__ __forceinline__ void load_tiles(uint32_t (&r)[4], const void *shared)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}
__device__ __forceinline__ void load_tiles_turned(uint32_t (&r)[4], const void *shared)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
}

/* Starts to copy 16 bytes from global to shared memory, zeros when not `there`; what was
 * started together is committed as a group; wait until at most LEFT groups are under way. */
__device__ __forceinline__ void fetch(void *shared, const void *from, bool there)
{
    uint32_t at = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(at), "l"(from),
                 "r"(there ? 16 : 0));
}
__device__ __forceinline__ void fetch_commit()
{
    asm volatile("cp.async.commit_group;\n");
}
template <int LEFT> __device__ __forceinline__ void fetch_wait()
{
    asm volatile("cp.async.wait_group %0;\n" ::"n"(LEFT));
}

/* One chunk of a row of d elements, of which d may be odd: element by element, zeros beyond. */
template <typename T>
__device__ __forceinline__ void copy_chunk(T *shared, const T *row, int chunk, int d,
                                           bool there)
{
    for (int j = 0; j < 8; j++) {
        int i = chunk * 8 + j;
        shared[j] = there && i < d ? row[i] : from_float<T>(0.0f);
    }
}

template <typename T> __device__ __forceinline__ uint32_t pair_of(float low, float high);
template <> __device__ __forceinline__ uint32_t pair_of<__nv_bfloat16>(float low, float high)
{
    __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<uint32_t *>(&pair);
}
template <> __device__ __forceinline__ uint32_t pair_of<__half>(float low, float high)
{
    __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<uint32_t *>(&pair);
}

__device__ __forceinline__ float quad_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}
__device__ __forceinline__ float quad_sum(float x)
{
    x += __shfl_xor_sync(~0u, x, 1);
    return x + __shfl_xor_sync(~0u, x, 2);
}

#endif
