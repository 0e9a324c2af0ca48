#include "kernels/host/convert.h"
#include "kernels/host/host_ops.h"

#include <math.h>

enum { CHUNK = 512 };

static float gelu(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

static uint64_t chunk_of(uint64_t left)
{
    return left < CHUNK ? left : CHUNK;
}

enum outcome host_bias_gelu(struct math *math, struct array x, struct array bias, uint64_t rows,
                            uint64_t features)
{
    (void)math;
    float value[CHUNK], shift[CHUNK];
    for (uint64_t first = 0; first < features; first += CHUNK) {
        uint64_t count = chunk_of(features - first);
        host_load(bias, first, count, shift);
        for (uint64_t row = 0; row < rows; row++) {
            host_load(x, row * features + first, count, value);
            for (uint64_t i = 0; i < count; i++)
                value[i] = gelu(value[i] + shift[i]);
            host_store(x, row * features + first, count, value);
        }
    }
    return OUTCOME_OK;
}

enum outcome host_mean_square(struct math *math, struct array x, uint64_t count, double *mean)
{
    (void)math;
    float value[CHUNK];
    double sum = 0;
    for (uint64_t first = 0; first < count; first += CHUNK) {
        uint64_t length = chunk_of(count - first);
        host_load(x, first, length, value);
        for (uint64_t i = 0; i < length; i++)
            sum += (double)value[i] * (double)value[i];
    }
    *mean = sum / (double)count;
    return OUTCOME_OK;
}
