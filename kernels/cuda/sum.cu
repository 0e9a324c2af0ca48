/* Sums in float64, in an order that depends on the count alone. */
#include "kernels/cuda/launch.cuh"

enum { THREADS = 256 };

template <typename T>
static __global__ void square_sums(const T *x, uint64_t count, double *sums)
{
    __shared__ double part[THREADS];
    double sum = 0;
    uint64_t step = (uint64_t)gridDim.x * THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {
        double value = (double)to_float(x[i]);
        sum += value * value;
    }
    part[threadIdx.x] = sum;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = part[0];
}

extern "C" int launch_square_sums(void *stream, uint64_t x, enum dtype dtype, uint64_t count,
                                  uint64_t sums)
{
    return with_type(dtype, [&](auto zero) {
        using T = decltype(zero);
        return launch(stream, SQUARE_SUMS, THREADS, square_sums<T>, pointer<const T>(x), count,
                      pointer<double>(sums));
    });
}
