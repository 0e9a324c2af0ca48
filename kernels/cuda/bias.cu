/* Bias and GELU in place: bound by memory, so each thread moves 16 bytes at a time, keeps its
 * part of the bias in registers and has several rows in flight. */
#include "kernels/cuda/launch.cuh"

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
