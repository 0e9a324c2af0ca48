/* launch.cuh: what the .cu files share: launching by return code, and elements as float32. */
#ifndef HIGHWATER_KERNELS_CUDA_LAUNCH_CUH
#define HIGHWATER_KERNELS_CUDA_LAUNCH_CUH

#include "kernels/cuda/launch.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

static __device__ __forceinline__ float to_float(float x)
{
    return x;
}
static __device__ __forceinline__ float to_float(__half x)
{
    return __half2float(x);
}
static __device__ __forceinline__ float to_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
template <typename T> static __device__ __forceinline__ T from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x)
{
    return x;
}
template <> __device__ __forceinline__ __half from_float<__half>(float x)
{
    return __float2half_rn(x);
}
template <> __device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float x)
{
    return __float2bfloat16_rn(x);
}

/* COUNT neighbouring elements that move in one access. */
template <typename T, int COUNT> struct alignas(sizeof(T) * COUNT) Pack {
    T value[COUNT];
};

template <typename T> static T *pointer(uint64_t address)
{
    return (T *)(uintptr_t)address;
}

/* The launch's own error, never a stale one. */
template <typename... Parameters, typename... Arguments>
static int launch(void *stream, dim3 grid, dim3 block, void (*kernel)(Parameters...),
                  Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = (cudaStream_t)stream;
    return (int)cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

/* call(T()) with the element type of `dtype`. */
template <typename Call> static int with_type(enum dtype dtype, Call call)
{
    switch (dtype) {
    case DTYPE_float32:
        return call(float());
    case DTYPE_float16:
        return call(__half());
    case DTYPE_bfloat16:
        return call(__nv_bfloat16());
    default:
        return (int)cudaErrorInvalidValue;
    }
}

/* Blocks for a grid-stride loop over `items`: enough to fill any card, few enough to launch. */
static inline unsigned blocks_for(uint64_t items, unsigned threads)
{
    uint64_t blocks = (items + threads - 1) / threads;
    return (unsigned)(blocks < 16384 ? blocks : 16384);
}

#endif
