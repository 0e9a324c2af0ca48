/* The reference arithmetic of struct ops, in plain C. Compiled with -ffp-contract=off: see
 * random.h.
 */
#include "kernels/host/convert.h"
#include "kernels/ops_decoder.h"
#include "kernels/random.h"

#include <math.h>
#include <string.h>

/* --- generated values --------------------------------------------------------------------- */

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

static enum outcome host_fill_normal(struct math *math, struct array to,
                                     const struct fill *fill)
{
    (void)math;
    for (uint64_t row = 0; row < fill->rows; row++)
        for (uint64_t position = 0; position < fill->positions; position++)
            fill_line(to, fill, row, position);
    return OUTCOME_OK;
}

/* --- element by element ------------------------------------------------------------------- */

enum { CHUNK = 512 };

static float gelu(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.70710678f));
}

static uint64_t chunk_of(uint64_t left)
{
    return left < CHUNK ? left : CHUNK;
}

static enum outcome host_bias_gelu(struct math *math, struct array x, struct array bias,
                                   uint64_t rows, uint64_t features)
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

static enum outcome host_mean_square(struct math *math, struct array x, uint64_t count,
                                     double *mean)
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

/* --- products ----------------------------------------------------------------------------- */

/* y = x * w^T in tiles: a tile of y is held in float32 while both operands pass by in blocks of
 * `in`, converted to float32. Sums of one block are made before they are added to the tile,
 * which keeps the error of a long sum small. */
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

static enum outcome host_multiply(struct math *math, const struct product *product)
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

/* --- the table ---------------------------------------------------------------------------- */

static void facts(struct ops_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    strcpy(facts->backend, "reference");
}

static enum outcome open_nothing(struct math *math)
{
    (void)math;
    return OUTCOME_OK;
}

static void close_nothing(struct math *math)
{
    (void)math;
}

const struct ops ops_host = {
    .facts = facts,
    .open = open_nothing,
    .close = close_nothing,
    .fill_normal = host_fill_normal,
    .multiply = host_multiply,
    .bias_gelu = host_bias_gelu,
    .mean_square = host_mean_square,
    .decoder = &ops_decoder_host,
};
