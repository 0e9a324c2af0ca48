/* Every operation of dense on the GPU against the reference arithmetic, at odd sizes and in
 * every dtype. Generated values must be equal bit for bit; products within `allowed` of the
 * largest magnitude of the result; bias with GELU, on the same input, within one rounding
 * (float32: four, for two erff). tf32 at width 1000 would miss the first of them by far. */
#include "kernels/backends.h"
#include "kernels/host/convert.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double allowed[DTYPES] = {1e-5, 2e-3, 1.6e-2};
static const double rounding[DTYPES] = {0x1p-21, 0x1p-10, 0x1p-7};

static struct device cuda;
static struct math there = {.device = &cuda}, here;
static int failures;

static void must(enum outcome outcome, const char *what)
{
    if (outcome == OUTCOME_OK)
        return;
    printf("FAILED %s: %s\n", what, text_string(&cuda.error));
    exit(1);
}

/* The same array on both sides. */
struct pair {
    struct array gpu, host;
    uint64_t count, bytes;
};

static struct pair make(enum dtype dtype, uint64_t count)
{
    struct pair pair = {.count = count, .bytes = count * dtype_bytes(dtype)};
    pair.gpu.dtype = pair.host.dtype = dtype;
    must(cuda.ops->segment_alloc(&cuda, pair.bytes, &pair.gpu.address), "cudaMalloc");
    pair.host.address = (uint64_t)(uintptr_t)xcalloc(count, dtype_bytes(dtype));
    return pair;
}

static void release(struct pair *pair)
{
    cuda.ops->segment_free(&cuda, pair->gpu.address, pair->bytes);
    free((void *)(uintptr_t)pair->host.address);
}

static struct pair filled(enum dtype dtype, struct fill fill)
{
    struct pair pair = make(dtype, fill.rows * fill.positions * fill.features);
    unsigned char *copy = xmalloc(pair.bytes);
    must(there.ops->fill_normal(&there, pair.gpu, &fill), "fill");
    must(here.ops->fill_normal(&here, pair.host, &fill), "fill");
    must(cuda.ops->to_host(&cuda, copy, pair.gpu.address, pair.bytes), "copy");
    if (memcmp(copy, (void *)(uintptr_t)pair.host.address, pair.bytes) != 0) {
        printf("FAILED fill %s tensor %u: not bit for bit\n", dtype_names[dtype], fill.tensor);
        failures++;
    }
    free(copy);
    return pair;
}

/* Largest difference, as a share of the largest magnitude; the host's side then takes the GPU's
 * values, so that the next operation starts from the same input on both. */
static double difference(struct pair *pair)
{
    float *gpu = xmalloc(pair->count * sizeof *gpu),
          *host = xmalloc(pair->count * sizeof *host);
    double largest = 0, off = 0;
    host_load(pair->host, 0, pair->count, host);
    must(cuda.ops->to_host(&cuda, (void *)(uintptr_t)pair->host.address, pair->gpu.address,
                           pair->bytes),
         "copy");
    host_load(pair->host, 0, pair->count, gpu);
    for (uint64_t i = 0; i < pair->count; i++) {
        double d = fabs((double)gpu[i] - (double)host[i]);
        off = d >= off || isnan(d) ? d : off;
        largest = fmax(largest, fabs((double)host[i]));
    }
    free(gpu);
    free(host);
    return off / largest;
}

static void judge(const char *what, enum dtype dtype, uint64_t width, double off, double most)
{
    bool good = off <= most; /* false for NaN */
    failures += !good;
    if (!good)
        printf("FAILED %s %s width %lu: off by %.3g, allowed %.3g\n", what, dtype_names[dtype],
               (unsigned long)width, off, most);
}

static double multiply(struct pair *y, const struct pair *x, const struct pair *w,
                       const struct pair *bias, uint64_t rows, uint64_t in, uint64_t out)
{
    struct product gpu = {
        .y = y->gpu, .x = x->gpu, .w = w->gpu, .rows = rows, .in = in, .out = out};
    struct product host = {
        .y = y->host, .x = x->host, .w = w->host, .rows = rows, .in = in, .out = out};
    if (bias)
        gpu.bias = bias->gpu, host.bias = bias->host;
    must(there.ops->multiply(&there, &gpu), "multiply");
    must(here.ops->multiply(&here, &host), "multiply");
    return difference(y);
}

static void compare(enum dtype dtype, uint64_t batch, uint64_t context, uint64_t width)
{
    uint64_t rows = batch * context, hidden = 4 * width;
    struct fill fill = {.seed = 7,
                        .tensor = 1,
                        .sequence = 1,
                        .rows = batch,
                        .positions = context,
                        .features = width,
                        .scale = 1};
    struct pair x = filled(dtype, fill);
    fill = (struct fill){7, 2, 0, hidden, 1, width, 0.02f};
    struct pair w1 = filled(dtype, fill);
    fill = (struct fill){7, 3, 0, 1, 1, hidden, 0.02f};
    struct pair b1 = filled(dtype, fill);
    fill = (struct fill){7, 4, 0, width, 1, hidden, 0.02f};
    struct pair w2 = filled(dtype, fill);
    fill = (struct fill){7, 5, 0, 1, 1, width, 0.02f};
    struct pair b2 = filled(dtype, fill);
    struct pair h = make(dtype, rows * hidden), y = make(dtype, rows * width);
    double on_gpu, on_host, first = multiply(&h, &x, &w1, NULL, rows, width, hidden);
    must(there.ops->bias_gelu(&there, h.gpu, b1.gpu, rows, hidden), "gelu");
    must(here.ops->bias_gelu(&here, h.host, b1.host, rows, hidden), "gelu");
    double gelu = difference(&h);
    double second = multiply(&y, &h, &w2, &b2, rows, hidden, width);
    must(there.ops->mean_square(&there, y.gpu, y.count, &on_gpu), "mean_square");
    must(here.ops->mean_square(&here, y.host, y.count, &on_host), "mean_square");
    judge("multiply", dtype, width, first, allowed[dtype]);
    judge("bias_gelu", dtype, width, gelu, rounding[dtype]);
    judge("multiply+bias", dtype, width, second, allowed[dtype]);
    judge("mean_square", dtype, width, fabs(on_gpu / on_host - 1), 1e-12);
    printf("%-8s %lu x %lu x %lu: multiply %.2g, gelu %.2g, biased %.2g\n", dtype_names[dtype],
           (unsigned long)batch, (unsigned long)context, (unsigned long)width, first, gelu,
           second);
    struct pair *all[] = {&x, &w1, &b1, &w2, &b2, &h, &y};
    for (size_t i = 0; i < 7; i++)
        release(all[i]);
}

int main(void)
{
    static const uint64_t sizes[] = {1, 3, 17, 129, 1000};
    struct device_setting setting = {.ordinal = 0};
    if (device_open(&cuda, backend_find("cuda")->device, &setting) != OUTCOME_OK) {
        printf("FAILED to open the device: %s\n", text_string(&cuda.error));
        return 1;
    }
    there.ops = backend_find("cuda")->ops;
    here.ops = backend_find("host")->ops;
    must(cuda.ops->segment_alloc(&cuda, WORKSPACE_BYTES, &there.workspace), "workspace");
    must(there.ops->open(&there), "libraries");
    for (int dtype = 0; dtype < DTYPES; dtype++)
        for (size_t i = 0; i < 5; i++) {
            compare((enum dtype)dtype, 1, 1, sizes[i]);
            compare((enum dtype)dtype, 3, 17, sizes[i]);
        }
    for (int dtype = 0; dtype < DTYPES; dtype++)
        compare((enum dtype)dtype, 2, 129, 256);
    there.ops->close(&there);
    cuda.ops->segment_free(&cuda, there.workspace, WORKSPACE_BYTES);
    device_close(&cuda);
    printf(failures ? "%d comparisons FAILED\n" : "all comparisons hold\n", failures);
    return failures != 0;
}
