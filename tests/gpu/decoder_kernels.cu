/* The decoder's CUDA kernels against plain arithmetic in float64 at sizes that fit no tile. */
#include "decoder_kernels.cuh"

#include <algorithm>
#include <cmath>
#include <string>

static int checks, faults;

static double tolerance(enum dtype dtype)
{
    return dtype == DTYPE_float32 ? 3e-5 : dtype == DTYPE_float16 ? 4e-3 : 2.5e-2;
}

/* Largest difference against the largest value. */
static void compare(const char *what, const std::vector<float> &got,
                    const std::vector<double> &want, enum dtype dtype)
{
    double largest = 1e-9, difference = 0;
    for (size_t i = 0; i < want.size(); i++) {
        largest = std::max(largest, std::fabs(want[i]));
        double d = std::fabs(got[i] - want[i]);
        difference = std::isnan(d) ? INFINITY : std::max(difference, d);
    }
    checks++;
    if (difference / largest <= tolerance(dtype))
        return;
    faults++;
    if (faults < 40)
        printf("WRONG %s %s: off by %.3g of %.3g\n", what,
               dtype == DTYPE_float32   ? "f32"
               : dtype == DTYPE_float16 ? "f16"
                                        : "bf16",
               difference, largest);
}

/* --- attention ---------------------------------------------------------------------------- */

struct shape {
    uint64_t rows, tokens, heads, kv_heads, d, window, slots;
    bool paged, bias;
    uint64_t width() const
    {
        return (heads + 2 * kv_heads) * d;
    }
    std::string name(const char *what) const
    {
        char text[160];
        snprintf(text, sizeof(text),
                 "%s rows %d tokens %d heads %d/%d d %d window %d slots %d%s%s", what,
                 (int)rows, (int)tokens, (int)heads, (int)kv_heads, (int)d, (int)window,
                 (int)slots, paged ? " paged" : "", bias ? " bias" : "");
        return text;
    }
};

/* Token t of a row attends to those before it; x is [tokens][width], placed. */
static void attend(const shape &s, const double *x, uint64_t t, uint64_t window, double *out)
{
    uint64_t first = window && t + 1 > window ? t + 1 - window : 0;
    for (uint64_t h = 0; h < s.heads; h++) {
        uint64_t kv = h / (s.heads / s.kv_heads);
        std::vector<double> weight(t + 1);
        double largest = -INFINITY, sum = 0;
        for (uint64_t j = first; j <= t; j++) {
            double score = 0;
            for (uint64_t i = 0; i < s.d; i++)
                score += x[t * s.width() + h * s.d + i] *
                         x[j * s.width() + (s.heads + kv) * s.d + i];
            weight[j] = score / std::sqrt((double)s.d);
            largest = std::max(largest, weight[j]);
        }
        for (uint64_t j = first; j <= t; j++)
            sum += weight[j] = std::exp(weight[j] - largest);
        for (uint64_t i = 0; i < s.d; i++) {
            double total = 0;
            for (uint64_t j = first; j <= t; j++)
                total += weight[j] * x[j * s.width() + (s.heads + s.kv_heads + kv) * s.d + i];
            out[h * s.d + i] = total / sum;
        }
    }
}

static void test_prompt(const shape &s, enum dtype dtype)
{
    values qkv(dtype, s.rows * s.tokens * s.width()),
        out(dtype, s.rows * s.tokens * s.heads * s.d);
    qkv.random(2);
    struct prompt_attention of = {};
    of.of = {qkv.array(), s.rows * s.tokens, s.tokens, s.heads, s.kv_heads, s.d};
    of.out = out.array(), of.window = s.window;
    must(launch_attend_prompt(0, &of), "attend_prompt");
    std::vector<double> want(out.host.size()), x(qkv.host.begin(), qkv.host.end());
    for (uint64_t r = 0; r < s.rows; r++)
        for (uint64_t t = 0; t < s.tokens; t++)
            attend(s, &x[r * s.tokens * s.width()], t, s.window,
                   &want[(r * s.tokens + t) * s.heads * s.d]);
    compare(s.name("prompt").c_str(), out.read(), want, dtype);
}

/* What place() makes of one token. */
static void place(const shape &s, const float *in, const float *bias, const float *frequencies,
                  uint64_t position, enum dtype dtype, double *out)
{
    uint64_t half = s.d / 2;
    for (uint64_t i = 0; i < s.width(); i++)
        out[i] = in[i] + (s.bias ? bias[i] : 0);
    for (uint64_t h = 0; h < s.heads + s.kv_heads; h++)
        for (uint64_t i = 0; i < half; i++) {
            double *x = &out[h * s.d + i], *y = x + half, a = *x, b = *y;
            double angle = (float)position * frequencies[i];
            *x = a * std::cos(angle) - b * std::sin(angle);
            *y = b * std::cos(angle) + a * std::sin(angle);
        }
    for (uint64_t i = 0; i < s.width(); i++)
        out[i] = round_to(dtype, (float)out[i]);
}

/* The cache of two requests of rows / 2 rows each; pages go out as in the workload. */
struct bed {
    uint64_t batch, per_row;
    values keys, values_;
    words<uint64_t> addresses;
    words<uint32_t> pages;
    words<decoder_state> state;
    struct cache cache;

    bed(const shape &s, enum dtype dtype)
        : batch(s.rows / 2), per_row((s.slots + PAGE_TOKENS - 1) / PAGE_TOKENS),
          keys(dtype, s.rows * per_row * PAGE_TOKENS * s.kv_heads * s.d),
          values_(dtype, keys.host.size()), addresses(blocks(s, dtype)),
          pages(std::vector<uint32_t>(s.rows * per_row)), state({decoder_state{}})
    {
        cache = {dtype,
                 addresses.address(),
                 addresses.address() + 16,
                 s.paged ? pages.address() : 0,
                 per_row,
                 batch,
                 s.slots,
                 s.kv_heads,
                 s.d};
    }
    std::vector<uint64_t> blocks(const shape &s, enum dtype dtype)
    {
        uint64_t second = s.paged ? 0 : batch * s.kv_heads * s.slots * s.d * dtype_bytes(dtype);
        uint64_t k = (uint64_t)keys.device, v = (uint64_t)values_.device;
        return {k, k + second, v, v + second};
    }
};

static void test_cache(const shape &s, enum dtype dtype, uint64_t splits)
{
    uint64_t before = s.tokens, all = s.tokens + 1, inner = s.heads * s.d;
    bed cache(s, dtype);
    values prompt(dtype, s.rows * before * s.width()), token(dtype, s.rows * s.width());
    values bias(dtype, s.width()), out(dtype, s.rows * inner);
    values partial(DTYPE_float32, cache_attention_partial(s.rows, s.heads, s.d, splits));
    prompt.random(2), token.random(2), bias.random(1);
    std::vector<float> frequency(s.d / 2);
    for (uint64_t i = 0; i < s.d / 2; i++)
        frequency[i] = (float)std::pow(10000.0, -2.0 * (double)i / (double)s.d);
    words<float> frequencies(frequency);
    struct token_placement of = {};
    of.bias.address = s.bias ? (uint64_t)bias.device : 0;
    of.frequencies = frequencies.address(), of.cache = cache.cache;
    struct paging paging = {cache.pages.address(),
                            cache.state.address(),
                            cache.per_row,
                            s.slots,
                            cache.batch,
                            0,
                            before};
    for (uint64_t request = 0; request < 2; request++) {
        of.first_row = paging.first_row = request * cache.batch;
        of.of = {prompt.array(), cache.batch * before, before, s.heads, s.kv_heads, s.d};
        of.of.qkv.address += of.first_row * before * s.width() * dtype_bytes(dtype);
        must(launch_take_pages(0, &paging), "take_pages");
        must(launch_place(0, &of), "place");
    }
    paging.first_row = 0, paging.rows = s.rows, paging.count = 0;
    uint32_t position = (uint32_t)before;
    must(cudaMemcpy(cache.state.device, &position, 4, cudaMemcpyHostToDevice), "position");
    must(launch_take_pages(0, &paging), "take_pages");
    of.of = {token.array(), s.rows, 1, s.heads, s.kv_heads, s.d};
    of.state = cache.state.address(), of.first_row = 0;
    must(launch_place(0, &of), "place");
    struct cache_attention attention = {of.of,
                                        cache.cache,
                                        out.array(),
                                        cache.state.address(),
                                        s.window,
                                        splits,
                                        (uint64_t)partial.device};
    must(launch_attend_cache(0, &attention), "attend_cache");
    uint64_t window = s.window ? std::min(s.window, s.slots) : s.slots;
    std::vector<double> want(s.rows * inner), x(all * s.width());
    for (uint64_t r = 0; r < s.rows; r++) {
        for (uint64_t t = 0; t < before; t++)
            place(s, &prompt.host[(r * before + t) * s.width()], bias.host.data(),
                  frequency.data(), t, dtype, &x[t * s.width()]);
        place(s, &token.host[r * s.width()], bias.host.data(), frequency.data(), before, dtype,
              &x[before * s.width()]);
        attend(s, x.data(), before, window, &want[r * inner]);
    }
    compare(s.name("cache").c_str(), out.read(), want, dtype);
}

static void test_attention(enum dtype dtype)
{
    const uint64_t groups[][2] = {{4, 2}, {8, 1}, {3, 3}, {40, 2}};
    const uint64_t dims[] = {2, 16, 20, 64, 80, 128, 160, 256};
    const uint64_t tokens[] = {1, 7, 64, 130, 257}, windows[] = {0, 5, 70};
    for (auto &g : groups)
        for (uint64_t d : dims)
            for (uint64_t t : tokens)
                for (uint64_t w : windows) {
                    if ((t > 130 && d != 64 && d != 128) || (g[0] > 8 && d != 20 && d != 128))
                        continue; /* the plain arithmetic would take minutes */
                    test_prompt({2, t, g[0], g[1], d, w, 0, false, false}, dtype);
                    uint64_t slots = w ? (t + w) / 2 + 3 : t + 9; /* with a window: a ring */
                    bool paged = (t + d / 2 + w) % 2 != 0;
                    test_cache({4, t, g[0], g[1], d, w, slots, paged, d % 16 == 0}, dtype,
                               1 + t / 20);
                }
}

/* --- norm, gate, embedding, choice -------------------------------------------------------- */

static void test_rows(enum dtype dtype, uint64_t rows, uint64_t width)
{
    values x(dtype, rows * width * 2), w(dtype, width), y(dtype, rows * width);
    values table(dtype, 11 * width), bias(dtype, 2 * width);
    x.random(3), w.random(2), table.random(1), bias.random(1);
    std::vector<double> want(rows * width);
    for (uint64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (uint64_t i = 0; i < width; i++)
            sum += (double)x.host[r * 2 * width + i] * x.host[r * 2 * width + i];
        for (uint64_t i = 0; i < width; i++)
            want[r * width + i] =
                x.host[r * 2 * width + i] * w.host[i] / std::sqrt(sum / (double)width + 1e-5);
    }
    struct norm norm = {y.array(), x.array(), w.array(), rows, width, 2 * width, 1e-5f};
    must(launch_normalise(0, &norm), "normalise");
    compare("norm", y.read(), want, dtype);

    std::vector<uint32_t> tokens(3 * rows);
    for (uint32_t i = 0; i < tokens.size(); i++)
        tokens[i] = (i * 7 + 3) % 11;
    words<uint32_t> ids(tokens);
    words<decoder_state> state({decoder_state{0, 2, 0, 0}});
    struct embedding embedding = {y.array(),       table.array(), ids.address(),
                                  state.address(), rows,          width};
    must(launch_embed(0, &embedding), "embed");
    for (uint64_t i = 0; i < want.size(); i++)
        want[i] = table.host[tokens[2 * rows + i / width] * width + i % width];
    compare("embed", y.read(), want, dtype);

    for (int with_bias = 0; with_bias < 2; with_bias++) {
        struct array none = {};
        struct gating gating = {x.array(), with_bias ? bias.array() : none, rows, width};
        x.random(3);
        must(launch_gate(0, &gating), "gate");
        std::vector<double> gated(x.host.begin(), x.host.end());
        for (uint64_t i = 0; i < rows * width; i++) {
            uint64_t at = i / width * 2 * width + i % width;
            double g = x.host[at] + (with_bias ? bias.host[i % width] : 0);
            double u = x.host[at + width] + (with_bias ? bias.host[width + i % width] : 0);
            gated[at] = g / (1 + std::exp(-g)) * u;
        }
        compare("gate", x.read(), gated, dtype);
    }
}

static void test_choice(uint64_t rows, uint64_t vocabulary)
{
    values logits(DTYPE_float32, rows * vocabulary);
    words<uint32_t> tokens(std::vector<uint32_t>(3 * (rows + 2), 99));
    words<decoder_state> state({decoder_state{5, 1, 0, 0}});
    logits.random(1);
    for (uint64_t r = 0; r < rows; r++) /* two equal largest: the first counts */
        logits.host[r * vocabulary + vocabulary / 3] =
            logits.host[r * vocabulary + vocabulary - 1] = 2;
    logits.upload();
    struct token_choice of = {(uint64_t)logits.device,
                              tokens.address(),
                              state.address(),
                              rows,
                              vocabulary,
                              1,
                              rows + 2};
    must(launch_choose(0, &of), "choose");
    must(launch_advance(0, state.address()), "advance");
    std::vector<uint32_t> got = tokens.read(3 * (rows + 2));
    for (uint64_t r = 0; r < rows + 2; r++) {
        uint32_t want = r == 0 || r == rows + 1 ? 99 : (uint32_t)(vocabulary / 3);
        checks++;
        if (got[2 * (rows + 2) + r] != want)
            printf("WRONG choice row %d: %u\n", (int)r, got[2 * (rows + 2) + r]), faults++;
    }
    decoder_state after = state.read(1)[0];
    if (after.position != 6 || after.step != 2)
        printf("WRONG advance\n"), faults++;
}

static void test_dtype(enum dtype dtype)
{
    test_attention(dtype);
    for (uint64_t rows : {1, 3, 70})
        for (uint64_t width : {1, 24, 100, 2056})
            test_rows(dtype, rows, width);
    for (uint64_t vocabulary : {1, 31, 257, 5000})
        test_choice(3, vocabulary);
}

/* Argument: a dtype's number; none: all. */
int main(int argc, char **argv)
{
    for (enum dtype dtype : {DTYPE_float32, DTYPE_float16, DTYPE_bfloat16})
        if (argc < 2 || atoi(argv[1]) == (int)dtype)
            test_dtype(dtype);
    printf("decoder kernels: %d checks, %d wrong\n", checks, faults);
    return faults != 0;
}
