/* Compiled with -ffp-contract=off: see random.h. */
#include "kernels/random.h"
#include "kernels/host/convert.h"
#include "kernels/host/host_ops.h"

static void fill_line(struct array to, const struct fill *fill, uint64_t row, uint64_t position)
{
    uint64_t line = (row * fill->positions + position) * fill->features;
    for (uint64_t first = 0; first < fill->features; first += 4) {
        uint64_t count = fill->features - first < 4 ? fill->features - first : 4;
        float value[4];
        random_normals(fill, row, position, first / 4, value);
        host_store(to, line + first, count, value);
    }
}

enum outcome host_fill_normal(struct math *math, struct array to, const struct fill *fill)
{
    (void)math;
    for (uint64_t row = 0; row < fill->rows; row++)
        for (uint64_t position = 0; position < fill->positions; position++)
            fill_line(to, fill, row, position);
    return OUTCOME_OK;
}
