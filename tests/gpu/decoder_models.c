/* The decoder on the GPU: the reference models in every dtype, members of the family against a
 * float64 network without a cache, equal tokens in every cache layout, a network of tensor-core
 * sizes against the host, and counters that are the plan's to the byte.
 * Arguments: the folder of the reference models, a folder to write to. */
#include "harness/base/json.h"
#include "kernels/backends.h"
#include "kernels/workloads/decoder.h"
#include "tests/unit/kernels/model_family.h"
#include "tests/unit/kernels/model_files.h"
#include "tests/unit/kernels/model_forward.h"

#include <unistd.h>

static int checks, faults;
static char prompt[512], answer[512];

static void judge(bool good, const char *what, const char *name, int dtype, int layout,
                  double off)
{
    checks++;
    faults += !good;
    if (!good)
        printf("WRONG %s: %s %s layout %d: %.3g\n", name, what, dtype_names[dtype], layout,
               off);
}

/* --- running ------------------------------------------------------------------------------ */

struct kept {
    struct row rows[32];
    size_t count;
    double digest;
};

static void listen(void *user, const char *verb, const struct row *row)
{
    struct kept *kept = user;
    if (strcmp(verb, "end") != 0 && strcmp(verb, "fail") != 0)
        return;
    if (strcmp(verb, "fail") == 0)
        printf("FAILED %s: %s\n", row_text(row, COLUMN_phase), row_text(row, COLUMN_error));
    if (strcmp(row_text(row, COLUMN_phase), "warm_decode") == 0)
        kept->digest = row->cell[COLUMN_result_value].real;
    row_copy(&kept->rows[kept->count++], row);
}

static void forget(struct kept *kept)
{
    for (size_t i = 0; i < kept->count; i++)
        row_release(&kept->rows[i]);
    kept->count = 0;
}

static struct setting setting_of(uint64_t batch, uint64_t sequences, uint64_t context,
                                 uint64_t generated, struct decoder_options *options)
{
    struct setting setting = {.workload = workload_find("decoder"),
                              .warmup = 1,
                              .repeats = 1,
                              .seed = 7,
                              .options = options};
    option_defaults(decoder_options, options);
    setting.point.value[DIMENSION_batch] = reading_of(batch);
    setting.point.value[DIMENSION_sequences] = reading_of(sequences);
    setting.point.value[DIMENSION_context] = reading_of(context);
    setting.point.value[DIMENSION_generated] = reading_of(generated);
    setting.point.value[DIMENSION_width] = reading_of(256);
    setting.point.value[DIMENSION_layers] = reading_of(2);
    setting.memory.allocator = "caching";
    return setting;
}

static void replace(char **option, const char *value)
{
    free(*option);
    *option = xstrdup(value);
}

static void take_folder(struct setting *setting, const char *folder)
{
    struct decoder_options *options = setting->options;
    struct model_config shape;
    struct text why = TEXT_INIT;
    demand(model_config_read(folder, &shape, &why) == 0, text_string(&why));
    replace(&options->model, folder);
    setting->point.value[DIMENSION_width] = reading_of(shape.width);
    setting->point.value[DIMENSION_layers] = reading_of(shape.layers);
    text_release(&why);
}

static bool run(struct setting *setting, const char *backend, struct kept *kept)
{
    const struct phase_listener listener = {.line = listen, .user = kept};
    bool cuda = strcmp(backend, "cuda") == 0;
    forget(kept);
    unlink(answer);
    setting->memory.device.capacity = cuda ? reading_missing() : reading_of((uint64_t)64 << 30);
    return session_run(setting, backend_find(backend), NULL, &listener) == STATUS_ok;
}

static struct json *read_json(const char *path)
{
    struct text bytes = TEXT_INIT, why = TEXT_INIT;
    struct json *root = NULL;
    if (file_read(path, 0, &bytes, &why) != 0 ||
        json_parse(text_string(&bytes), bytes.length, &root, &why) != 0)
        printf("FAILED %s\n", text_string(&why)), faults++;
    text_release(&bytes);
    text_release(&why);
    return root;
}

static double number(const struct json *root, const char *key, uint64_t row, uint64_t i)
{
    double value = NAN;
    const struct json *list = root ? json_get(root, key) : NULL;
    if (list && json_number(json_at(json_at(list, row), i), &value) != 0)
        return NAN;
    return value;
}

/* Largest difference of a row of logits over its largest magnitude. */
static double distance(const struct json *got, const struct json *want, uint64_t row,
                       uint64_t count)
{
    double off = 0, largest = 0;
    for (uint64_t i = 0; i < count; i++) {
        double a = number(got, "last_logits", row, i), b = number(want, "last_logits", row, i);
        off = isnan(a) ? INFINITY : fmax(off, fabs(a - b));
        largest = fmax(largest, fabs(b));
    }
    return off / largest;
}

/* --- the reference models ----------------------------------------------------------------- */

static void test_reference(const char *models, const char *name, int dtype)
{
    struct decoder_options options = {0};
    struct setting setting = setting_of(2, 1, 20, 23, &options);
    char folder[400], expected[440];
    struct kept kept = {0};
    snprintf(folder, sizeof(folder), "%s/%s", models, name);
    snprintf(expected, sizeof(expected), "%s/expected.json", folder);
    take_folder(&setting, folder);
    setting.dtype = dtype;
    replace(&options.prompt, expected);
    replace(&options.answer, answer);
    judge(run(&setting, "cuda", &kept), "runs", name, dtype, 0, 0);
    struct json *want = read_json(expected), *got = read_json(answer);
    uint64_t vocabulary = json_length(json_at(json_get(want, "last_logits"), 0));
    for (uint64_t row = 0; row < 2; row++) {
        double off = distance(got, want, row, vocabulary);
        judge(off <= (dtype == DTYPE_float32 ? 2e-4 : 2e-2), "logits", name, dtype, 0, off);
        for (uint64_t i = 0; i < (dtype == DTYPE_float32 ? 24u : 1u); i++)
            judge(number(got, "greedy", row, i) == number(want, "greedy", row, i), "token",
                  name, dtype, 0, (double)i);
    }
    json_release(want);
    json_release(got);
    forget(&kept);
    option_release(decoder_options, &options);
}

/* --- the family --------------------------------------------------------------------------- */

static void write_prompt(uint32_t *tokens, uint64_t rows, uint64_t context, uint64_t all,
                         uint64_t vocabulary)
{
    struct text text = TEXT_INIT;
    text_add(&text, "{\"prompt\": [");
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t i = 0; i < context; i++) {
            tokens[row * all + i] = (uint32_t)((row * 31 + i * 17 + i * i) % vocabulary);
            text_addf(&text, "%s%u%s",
                      i     ? ", "
                      : row ? ", ["
                            : "[",
                      tokens[row * all + i], i + 1 == context ? "]" : "");
        }
    text_add(&text, "]}");
    struct text why = TEXT_INIT;
    demand(file_replace(prompt, text.data, text.length, &why) == 0, text_string(&why));
    text_release(&text);
    text_release(&why);
}

static void compare_made(const struct made_model *model, const char *name, int layout,
                         uint64_t kept, uint32_t *tokens, uint64_t context, uint64_t generated)
{
    uint64_t vocabulary = model->shape.vocabulary, all = context + generated + 1;
    double *logits = xmalloc(vocabulary * sizeof(double));
    struct json *got = read_json(answer);
    for (uint64_t row = 0; row < 4; row++) {
        double off = 0, largest = 0;
        reference_greedy(model, tokens + row * all, context, generated + 1, kept, logits);
        for (uint64_t i = 0; i < vocabulary; i++) {
            off = fmax(off, fabs(number(got, "last_logits", row, i) - logits[i]));
            largest = fmax(largest, fabs(logits[i]));
        }
        judge(off <= 2e-4 * largest, "logits", name, 0, layout, off / largest);
        for (uint64_t i = 0; i <= generated; i++)
            judge(number(got, "greedy", row, i) == tokens[row * all + context + i], "token",
                  name, 0, layout, (double)i);
    }
    json_release(got);
    free(logits);
}

static void test_member(const char *folder, const struct member *of, const char *name,
                        uint64_t kv_window)
{
    const uint64_t context = 19, generated = 20;
    struct decoder_options options = {0};
    struct setting setting = setting_of(2, 2, context, generated, &options);
    uint32_t tokens[4 * 40] = {0};
    struct made_model model;
    struct kept kept = {0};
    double digest[DTYPES];
    make_model(&model, of->config, of->stored);
    write_model(&model, of->config, folder, of->shards);
    write_prompt(tokens, 4, context, context + generated + 1, model.shape.vocabulary);
    take_folder(&setting, folder);
    options.kv_window = kv_window;
    replace(&options.prompt, prompt);
    replace(&options.answer, answer);
    for (options.kv_layout = KV_STATIC; options.kv_layout <= KV_PAGED; options.kv_layout++)
        for (setting.dtype = 0; setting.dtype < DTYPES; setting.dtype++) {
            judge(run(&setting, "cuda", &kept), "runs", name, setting.dtype, options.kv_layout,
                  0);
            if (options.kv_layout == KV_STATIC)
                digest[setting.dtype] = kept.digest;
            judge(kept.digest == digest[setting.dtype], "tokens as in static", name,
                  setting.dtype, options.kv_layout, kept.digest);
            if (setting.dtype == DTYPE_float32)
                compare_made(&model, name, options.kv_layout, kv_window, tokens, context,
                             generated);
        }
    forget(&kept);
    forget_model(&model);
    option_release(decoder_options, &options);
}

/* --- sizes of tensor cores, against the host ---------------------------------------------- */

static void test_sizes(uint64_t rows, uint64_t context, uint64_t head_dim, uint64_t window)
{
    struct decoder_options options = {0};
    struct setting setting = setting_of(rows, 1, context, 3, &options);
    struct kept kept = {0};
    char name[96];
    snprintf(name, sizeof(name), "%d x %d head_dim %d window %d", (int)rows, (int)context,
             (int)head_dim, (int)window);
    options.heads = 4, options.kv_heads = 2, options.head_dim = head_dim;
    options.intermediate = 344, options.vocabulary = 500, options.window = window;
    replace(&options.answer, answer);
    judge(run(&setting, "host", &kept), "runs on the host", name, 0, 0, 0);
    struct json *want = read_json(answer);
    for (setting.dtype = 0; setting.dtype < DTYPES; setting.dtype++) {
        judge(run(&setting, "cuda", &kept), "runs", name, setting.dtype, 0, 0);
        struct json *got = read_json(answer);
        for (uint64_t row = 0; row < rows; row++) {
            double off = distance(got, want, row, options.vocabulary);
            judge(off <= (setting.dtype == DTYPE_float32 ? 2e-4 : 2e-2), "logits", name,
                  setting.dtype, 0, off);
        }
        json_release(got);
    }
    json_release(want);
    forget(&kept);
    option_release(decoder_options, &options);
}

/* --- the plan ----------------------------------------------------------------------------- */

static void test_plan(int layout, uint64_t kv_window, uint64_t sequences, int dtype)
{
    static const enum column columns[] = {
        COLUMN_allocated_peak_bytes, COLUMN_allocated_end_bytes, COLUMN_reserved_peak_bytes,
        COLUMN_reserved_end_bytes,   COLUMN_peak_kv_cache_bytes, COLUMN_end_kv_cache_bytes};
    struct decoder_options options = {0};
    struct setting setting = setting_of(3, sequences, 700, 40, &options);
    struct kept cuda = {0}, plan = {0};
    options.vocabulary = 3001, options.kv_layout = layout, options.kv_window = kv_window;
    setting.point.value[DIMENSION_width] = reading_of(1024);
    setting.dtype = dtype;
    judge(run(&setting, "cuda", &cuda), "runs", "plan", dtype, layout, 0);
    judge(run(&setting, "simulated", &plan), "runs simulated", "plan", dtype, layout, 0);
    judge(cuda.count == plan.count, "phases", "plan", dtype, layout, (double)cuda.count);
    for (size_t i = 0; i < plan.count && cuda.count == plan.count; i++)
        for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
            struct reading a = row_count(&cuda.rows[i], columns[c]);
            struct reading b = row_count(&plan.rows[i], columns[c]);
            judge(a.known == b.known && (!a.known || a.value == b.value),
                  column_facts[columns[c]].name, row_text(&plan.rows[i], COLUMN_phase), dtype,
                  layout, (double)a.value - (double)b.value);
        }
    forget(&cuda);
    forget(&plan);
    option_release(decoder_options, &options);
}

int main(int argc, char **argv)
{
    demand(argc == 3, "arguments: MODELS FOLDER");
    snprintf(prompt, sizeof(prompt), "%s/prompt.json", argv[2]);
    snprintf(answer, sizeof(answer), "%s/answer.json", argv[2]);
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        test_reference(argv[1], "tiny-llama", dtype);
        test_reference(argv[1], "tiny-qwen2", dtype);
    }
    for (size_t i = 0; i < FAMILY; i++) {
        char folder[400], name[32];
        snprintf(folder, sizeof(folder), "%s/member-%zu", argv[2], i);
        snprintf(name, sizeof(name), "member %zu", i);
        test_member(folder, &family[i], name, 0);
        test_member(folder, &family[i], name, 11);
    }
    test_sizes(2, 300, 128, 0);
    test_sizes(1, 257, 64, 70);
    test_sizes(1, 130, 80, 0);
    test_sizes(33, 40, 36, 0);
    for (int layout = KV_STATIC; layout <= KV_PAGED; layout++)
        for (int dtype = 0; dtype < DTYPES; dtype++) {
            test_plan(layout, 0, 1, dtype);
            test_plan(layout, 100, 3, dtype);
        }
    printf("decoder models: %d checks, %d wrong\n", checks, faults);
    return faults != 0;
}
