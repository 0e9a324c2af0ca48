/* decoder_kernels.cuh: device arrays with a host copy, for the decoder's kernel test and
 * bench. */
#ifndef HIGHWATER_TESTS_DECODER_KERNELS_CUH
#define HIGHWATER_TESTS_DECODER_KERNELS_CUH

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/attention_cache.h"
#include "kernels/cuda/attention_prompt.h"
#include "kernels/cuda/decoder.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static inline void must(int error, const char *what)
{
    if (error == 0)
        return;
    printf("FAILED %s: %s\n", what, cudaGetErrorString((cudaError_t)error));
    exit(1);
}

static inline double next_random()
{
    static uint64_t state = 88172645463325252ull;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0 * 2 - 1;
}

static inline float round_to(enum dtype dtype, float x)
{
    if (dtype == DTYPE_float16)
        return __half2float(__float2half_rn(x));
    return dtype == DTYPE_bfloat16 ? __bfloat162float(__float2bfloat16_rn(x)) : x;
}

/* Values already rounded to the dtype, on both sides. */
struct values {
    enum dtype dtype;
    std::vector<float> host;
    void *device = nullptr;

    values(enum dtype as, size_t count) : dtype(as), host(count)
    {
        must(cudaMalloc(&device, count * dtype_bytes(as) + 16), "cudaMalloc");
        must(cudaMemset(device, 0, count * dtype_bytes(as)), "cudaMemset");
    }
    ~values()
    {
        cudaFree(device);
    }
    values(const values &) = delete;

    struct array array() const
    {
        return {(uint64_t)device, dtype};
    }
    void random(float scale)
    {
        for (float &x : host)
            x = round_to(dtype, scale * (float)next_random());
        upload();
    }
    void upload()
    {
        std::vector<uint16_t> narrow(host.size());
        for (size_t i = 0; i < host.size() && dtype != DTYPE_float32; i++) {
            __half h = __float2half_rn(host[i]);
            __nv_bfloat16 b = __float2bfloat16_rn(host[i]);
            memcpy(&narrow[i], dtype == DTYPE_float16 ? (void *)&h : (void *)&b, 2);
        }
        const void *from = dtype == DTYPE_float32 ? (void *)host.data() : narrow.data();
        must(cudaMemcpy(device, from, host.size() * dtype_bytes(dtype), cudaMemcpyHostToDevice),
             "upload");
    }
    std::vector<float> read() const
    {
        must(cudaDeviceSynchronize(), "kernel");
        std::vector<float> wide(host.size());
        std::vector<uint16_t> narrow(host.size());
        void *to = dtype == DTYPE_float32 ? (void *)wide.data() : narrow.data();
        must(cudaMemcpy(to, device, host.size() * dtype_bytes(dtype), cudaMemcpyDeviceToHost),
             "download");
        for (size_t i = 0; i < host.size() && dtype != DTYPE_float32; i++) {
            __half h;
            __nv_bfloat16 b;
            memcpy(dtype == DTYPE_float16 ? (void *)&h : (void *)&b, &narrow[i], 2);
            wide[i] = dtype == DTYPE_float16 ? __half2float(h) : __bfloat162float(b);
        }
        return wide;
    }
};

/* Plain data on the device. */
template <typename T> struct words {
    T *device = nullptr;
    explicit words(const std::vector<T> &from)
    {
        must(cudaMalloc(&device, from.size() * sizeof(T)), "cudaMalloc");
        must(cudaMemcpy(device, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice),
             "upload");
    }
    words(const words &) = delete; /* lives as long as the program */
    std::vector<T> read(size_t count) const
    {
        std::vector<T> out(count);
        must(cudaDeviceSynchronize(), "kernel");
        must(cudaMemcpy(out.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost),
             "download");
        return out;
    }
    uint64_t address() const
    {
        return (uint64_t)device;
    }
};

#endif
