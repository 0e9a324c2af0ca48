/* Generated values; random.h is the formula, shared with the host. */
#include "kernels/cuda/launch.cuh"
#include "kernels/random.h"

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
