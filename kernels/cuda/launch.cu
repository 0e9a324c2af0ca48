/* The kernels of struct ops beside products. */
#include "kernels/cuda/launch.cuh"
#include "kernels/random.h"

/* --- generated values: random.h is the formula, shared with the host ---------------------- */

/* A thread makes the four features of one counter. */
template <typename T>
static __global__ void fill_normal(T *to, const struct fill fill, uint64_t quads)
{
    uint64_t per_line = (fill.features + 3) / 4;
    uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += step) {
        uint64_t line = i / per_line, quad = i % per_line;
        float value[4];
        random_normals(&fill, line / fill.positions, line % fill.positions, quad, value);
        T *first = to + line * fill.features + 4 * quad;
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (4 * quad + j < fill.features)
                first[j] = from_float<T>(value[j]);
    }
}

extern "C" int launch_fill_normal(void *stream, uint64_t to, enum dtype dtype,
                                  const struct fill *fill)
{
    uint64_t quads = fill->rows * fill->positions * ((fill->features + 3) / 4);
    return with_type(dtype, [&](auto zero) {
        using T = decltype(zero);
        return launch(stream, blocks_for(quads, 256), 256, fill_normal<T>, pointer<T>(to),
                      *fill, quads);
    });
}

/* --- bias and GELU ------------------------------------------------------------------------ */

/* In place and bound by memory, so each thread moves 16 bytes at a time, keeps its part of the
 * bias in registers and has several rows in flight. */
enum { ROWS_IN_FLIGHT = 4 };

static __device__ __forceinline__ float gelu_of(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

template <typename T, int COUNT, bool GELU>
static __global__ void add_bias(T *x, const T *bias, uint64_t rows, uint64_t columns)
{
    typedef Pack<T, COUNT> pack;
    uint64_t column = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t step = (uint64_t)gridDim.y * blockDim.y;
    if (column >= columns)
        return;
    pack shift = ((const pack *)bias)[column];
    pack *to = (pack *)x + column;
    for (uint64_t row = (uint64_t)blockIdx.y * blockDim.y + threadIdx.y; row < rows;
         row += step * ROWS_IN_FLIGHT) {
        pack in[ROWS_IN_FLIGHT];
#pragma unroll
        for (int r = 0; r < ROWS_IN_FLIGHT; r++)
            if (row + r * step < rows)
                in[r] = to[(row + r * step) * columns];
#pragma unroll
        for (int r = 0; r < ROWS_IN_FLIGHT; r++) {
            if (row + r * step >= rows)
                break;
            pack out;
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                float value = to_float(in[r].value[i]) + to_float(shift.value[i]);
                out.value[i] = from_float<T>(GELU ? gelu_of(value) : value);
            }
            to[(row + r * step) * columns] = out;
        }
    }
}

template <typename T, int COUNT>
static int launch_packed(void *stream, uint64_t x, uint64_t bias, uint64_t rows,
                         uint64_t features, int gelu)
{
    uint64_t columns = features / COUNT;
    unsigned width = 1;
    while (width < 256 && width < columns)
        width *= 2;
    dim3 block(width, 256 / width);
    uint64_t across = (columns + width - 1) / width;
    uint64_t lines = (rows + block.y * ROWS_IN_FLIGHT - 1) / (block.y * ROWS_IN_FLIGHT);
    uint64_t down = 1 + 16384 / across; /* as many blocks as fill any card */
    dim3 grid((unsigned)across, (unsigned)(lines < down ? lines : down));
    return launch(stream, grid, block,
                  gelu ? add_bias<T, COUNT, true> : add_bias<T, COUNT, false>, pointer<T>(x),
                  pointer<const T>(bias), rows, columns);
}

extern "C" int launch_bias(void *stream, uint64_t x, uint64_t bias, enum dtype dtype,
                           uint64_t rows, uint64_t features, int gelu)
{
    return with_type(dtype, [&](auto zero) {
        using T = decltype(zero);
        constexpr int most = 16 / sizeof(T);
        bool packs = features % most == 0 && x % 16 == 0 && bias % 16 == 0;
        return packs ? launch_packed<T, most>(stream, x, bias, rows, features, gelu)
                     : launch_packed<T, 1>(stream, x, bias, rows, features, gelu);
    });
}

/* --- sums in float64, in an order that depends on the count alone ------------------------- */

enum { SUM_THREADS = 256 };

template <typename T>
static __global__ void square_sums(const T *x, uint64_t count, double *sums)
{
    __shared__ double part[SUM_THREADS];
    double sum = 0;
    uint64_t step = (uint64_t)gridDim.x * SUM_THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * SUM_THREADS + threadIdx.x; i < count; i += step) {
        double value = (double)to_float(x[i]);
        sum += value * value;
    }
    part[threadIdx.x] = sum;
    for (int half = SUM_THREADS / 2; half > 0; half /= 2) {
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
        return launch(stream, SQUARE_SUMS, SUM_THREADS, square_sums<T>, pointer<const T>(x),
                      count, pointer<double>(sums));
    });
}

/* --- what was built, and the kernel that breaks on purpose -------------------------------- */

#define ENTRIES(...)                                                                           \
    {                                                                                          \
        __VA_ARGS__, 0                                                                         \
    }
static const unsigned architectures[] = ENTRIES(__CUDA_ARCH_LIST__);

/* The list is in units of 10: 900 is sm_90. */
extern "C" unsigned launch_built_for(unsigned index)
{
    return index < sizeof architectures / sizeof *architectures ? architectures[index] / 10 : 0;
}

static __global__ void violate(int *nowhere)
{
    *(volatile int *)nowhere = 1;
}

extern "C" int launch_violation(void *stream)
{
    return launch(stream, 1, 1, violate, (int *)(uintptr_t)64);
}
