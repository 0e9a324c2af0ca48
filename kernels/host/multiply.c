/* y = x * w^T in tiles: a tile of y is held in float32 while both operands pass by in blocks of
 * `in`, converted to float32. Sums of one block are made before they are added to the tile,
 * which keeps the error of a long sum small. */
#include "kernels/host/convert.h"
#include "kernels/host/host_ops.h"

#include <string.h>

enum { TILE_ROWS = 64, TILE_OUT = 16, BLOCK_IN = 256 };

typedef float lane __attribute__((vector_size(TILE_OUT * sizeof(float))));

struct tile {
    lane sum[TILE_ROWS];
    lane w[BLOCK_IN]; /* transposed: TILE_OUT outputs for each input */
    float line[BLOCK_IN];
    uint64_t row, rows, out, outs; /* where it lies in y, and its true size */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void load_weights(struct tile *tile, const struct product *of, uint64_t first,
                         uint64_t count)
{
    memset(tile->w, 0, sizeof tile->w);
    for (uint64_t o = 0; o < tile->outs; o++) {
        host_load(of->w, (tile->out + o) * of->in + first, count, tile->line);
        for (uint64_t i = 0; i < count; i++)
            tile->w[i][o] = tile->line[i];
    }
}

static void add_block(struct tile *tile, const struct product *of, uint64_t first,
                      uint64_t count)
{
    load_weights(tile, of, first, count);
    for (uint64_t r = 0; r < tile->rows; r++) {
        host_load(of->x, (tile->row + r) * of->in + first, count, tile->line);
        lane sum = {0};
        for (uint64_t i = 0; i < count; i++)
            sum += tile->line[i] * tile->w[i];
        tile->sum[r] += sum;
    }
}

static void finish(struct tile *tile, const struct product *of)
{
    float line[TILE_OUT] = {0}, bias[TILE_OUT] = {0};
    if (of->bias.address)
        host_load(of->bias, tile->out, tile->outs, bias);
    for (uint64_t r = 0; r < tile->rows; r++) {
        for (uint64_t o = 0; o < tile->outs; o++)
            line[o] = tile->sum[r][o] + bias[o];
        host_store(of->y, (tile->row + r) * of->out + tile->out, tile->outs, line);
    }
}

enum outcome host_multiply(struct math *math, const struct product *product)
{
    (void)math;
    struct tile tile;
    for (uint64_t out = 0; out < product->out; out += TILE_OUT)
        for (uint64_t row = 0; row < product->rows; row += TILE_ROWS) {
            tile.row = row, tile.rows = least(TILE_ROWS, product->rows - row);
            tile.out = out, tile.outs = least(TILE_OUT, product->out - out);
            memset(tile.sum, 0, sizeof tile.sum);
            for (uint64_t in = 0; in < product->in; in += BLOCK_IN)
                add_block(&tile, product, in, least(BLOCK_IN, product->in - in));
            finish(&tile, product);
        }
    return OUTCOME_OK;
}
