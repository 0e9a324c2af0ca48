/* How fast the decoder's kernels are at the shapes of an 8-billion-parameter model: width 4096,
 * 32 query and 8 key-value heads of 128, intermediate 14336, bfloat16. Prints a table; the
 * share of the copy's bandwidth is of bytes that must move. */
#include "decoder_kernels.cuh"

#include <cublas_v2.h>
#include <functional>

static cublasHandle_t handle;
static char *pool; /* uninitialised numbers would slow or speed nothing, NaNs included */
static const uint64_t pool_bytes = 12ull << 30;
static double copy_rate;

/* Median of several timings of `times` calls, in microseconds a call. */
static double measure(int times, const std::function<void(int)> &call)
{
    cudaEvent_t begin, end;
    cudaEventCreate(&begin), cudaEventCreate(&end);
    std::vector<float> ms(3);
    call(0);
    for (float &x : ms) {
        cudaEventRecord(begin);
        for (int i = 0; i < times; i++)
            call(i);
        cudaEventRecord(end);
        must(cudaEventSynchronize(end), "measure");
        cudaEventElapsedTime(&x, begin, end);
    }
    if (ms[0] > ms[1])
        std::swap(ms[0], ms[1]);
    return 1000.0 * (ms[2] < ms[0] ? ms[0] : ms[2] > ms[1] ? ms[1] : ms[2]) / times;
}

static struct array at(uint64_t offset, enum dtype dtype = DTYPE_bfloat16)
{
    return {(uint64_t)pool + offset, dtype};
}

static void bench_copy()
{
    double us = measure(5, [](int) {
        cudaMemcpyAsync(pool, pool + (4ull << 30), 4ull << 30, cudaMemcpyDeviceToDevice);
    });
    copy_rate = 2 * (double)(4ull << 30) / us; /* bytes a microsecond */
    printf("copy                          %8.1f us  %6.2f TB/s\n", us, copy_rate / 1e6);
}

static void blas(uint64_t rows, uint64_t in, uint64_t out, uint64_t w)
{
    const float one = 1, zero = 0;
    cublasStatus_t status = cublasGemmEx(
        handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)out, (int)rows, (int)in, &one, pool + w,
        CUDA_R_16BF, (int)in, pool, CUDA_R_16BF, (int)in, &zero, pool + (2ull << 30),
        CUDA_R_16BF, (int)out, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    must(status != CUBLAS_STATUS_SUCCESS, "cublasGemmEx");
}

static const struct {
    const char *name;
    uint64_t in, out;
} products[] = {{"qkv", 4096, 6144},
                {"out", 4096, 4096},
                {"gate_up", 4096, 28672},
                {"down", 14336, 4096},
                {"head", 4096, 128256}};

/* Products of the few rows of a decode step, bound by reading w, which is another one each time
 * so that no cache holds it. */
static void bench_few_rows()
{
    for (uint64_t rows : {1, 8, 16, 32})
        for (auto &p : products) {
            uint64_t bytes = p.in * p.out * 2, places = (8ull << 30) / bytes;
            double us = measure(bytes > 1e9 ? 4 : 40, [&](int i) {
                blas(rows, p.in, p.out, (3ull << 30) + (uint64_t)i % places * bytes);
            });
            printf("blas %4d rows %-8s %8.1f us %3.0f%%\n", (int)rows, p.name, us,
                   100 * (double)bytes / us / copy_rate);
        }
}

static void bench_prompt()
{
    for (int n = 0; n < 4; n++) {
        uint64_t rows = n == 1 ? 8 : n == 2 ? 32 : 1, tokens = n == 2 ? 2048 : 8192;
        uint64_t window = n == 3 ? 1024 : 0;
        struct prompt_attention of = {};
        of.of = {at(0), rows * tokens, tokens, 32, 8, 128};
        of.out = at(2ull << 30), of.window = window;
        double us = measure(2, [&](int) { must(launch_attend_prompt(0, &of), "prompt"); });
        double pairs = window ? (double)tokens * window : (double)tokens * tokens / 2;
        printf("prompt %2dx%d window %-4d %9.1f us  %6.1f TFLOP/s\n", (int)rows, (int)tokens,
               (int)window, us, 4 * pairs * 128 * 32 * (double)rows / us / 1e6);
    }
}

static void bench_cache()
{
    for (int n = 0; n < 4; n++) {
        uint64_t rows = n == 0 ? 1 : n == 1 ? 8 : 32, context = n >= 2 ? 2048 : 8192;
        uint64_t slots = context + 64, per_row = slots / PAGE_TOKENS;
        uint64_t block = 8 * slots * 128 * 2;
        std::vector<uint64_t> addresses;
        for (int values = 0; values < 2; values++)
            for (uint64_t r = 0; r < rows; r++)
                addresses.push_back((uint64_t)pool + (4ull << 30) +
                                    (n == 3 ? values * rows : r + values * rows) * block);
        std::vector<uint32_t> page(rows * per_row);
        for (size_t i = 0; i < page.size(); i++)
            page[i] = (uint32_t)(i % rows * per_row + i / rows * 37 % per_row);
        words<uint64_t> blocks(addresses);
        words<uint32_t> pages(page);
        words<decoder_state> state({decoder_state{(uint32_t)context - 1, 0, 0, 0}});
        struct cache cache = {DTYPE_bfloat16,
                              blocks.address(),
                              blocks.address() + 8 * rows,
                              n == 3 ? pages.address() : 0,
                              per_row,
                              1,
                              slots,
                              8,
                              128};
        printf("cache %2dx%d%s", (int)rows, (int)context, n == 3 ? " paged" : "");
        for (uint64_t splits : {1, 2, 4, 8, 16, 32, 64}) {
            struct cache_attention of = {
                {at(0), rows, 1, 32, 8, 128}, cache, at(1ull << 30), state.address(), 0, splits,
                (uint64_t)pool + (2ull << 30)};
            double us = measure(20, [&](int) { must(launch_attend_cache(0, &of), "cache"); });
            printf(" | %d: %.1f us %.0f%%", (int)splits, us,
                   100 * 2.0 * (double)rows * 8 * (double)context * 256 / us / copy_rate);
        }
        printf("\n");
    }
}

static void bench_rows()
{
    const uint64_t rows = 8192;
    struct norm norm = {at(1ull << 30), at(0), at(2ull << 30), rows, 4096, 4096, 1e-5f};
    double us = measure(20, [&](int) { must(launch_normalise(0, &norm), "norm"); });
    printf("norm  8192 rows %8.1f us %3.0f%%\n", us, 100 * 2.0 * rows * 8192 / us / copy_rate);
    struct gating gating = {at(0), {}, rows, 14336};
    us = measure(20, [&](int) { must(launch_gate(0, &gating), "gate"); });
    printf("gate  8192 rows %8.1f us %3.0f%%\n", us, 100 * 3.0 * rows * 28672 / us / copy_rate);
    words<uint64_t> blocks({(uint64_t)pool + (4ull << 30), (uint64_t)pool + (5ull << 30)});
    struct token_placement place = {};
    place.of = {at(0), rows, rows, 32, 8, 128};
    place.frequencies = (uint64_t)pool + (2ull << 30);
    place.cache = {
        DTYPE_bfloat16, blocks.address(), blocks.address() + 8, 0, 0, 1, rows, 8, 128};
    us = measure(20, [&](int) { must(launch_place(0, &place), "place"); });
    printf("place 8192 rows %8.1f us %3.0f%%\n", us,
           100.0 * rows * (12288 + 10240 + 4096) / us / copy_rate);
    struct token_choice choice = {
        (uint64_t)pool, (uint64_t)pool + (2ull << 30), 0, 32, 128256, 0, 32};
    us = measure(20, [&](int) { must(launch_choose(0, &choice), "choose"); });
    printf("choose 32 rows  %8.1f us\n", us);
    for (auto &p : products) {
        if (p.out > 100000)
            continue;
        us = measure(4, [&](int) { blas(rows, p.in, p.out, 6ull << 30); });
        printf("blas 8192 rows %-8s %8.1f us %6.1f TFLOP/s\n", p.name, us,
               2.0 * rows * (double)(p.in * p.out) / us / 1e6);
    }
}

int main()
{
    must(cudaMalloc(&pool, pool_bytes), "cudaMalloc");
    struct fill fill = {1, 1, 0, 1, pool_bytes / 2 / 4096, 4096, 0.02f};
    double us = measure(1, [&](int) {
        must(launch_fill_normal(0, (uint64_t)pool, DTYPE_bfloat16, &fill), "fill");
    });
    printf("fill 12 GiB                   %8.1f us  %6.2f TB/s\n", us, pool_bytes / us / 1e6);
    must(cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS, "cublasCreate");
    bench_copy();
    bench_prompt();
    bench_cache();
    bench_few_rows();
    bench_rows();
    return 0;
}
