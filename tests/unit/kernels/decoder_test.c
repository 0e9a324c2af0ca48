/* The decoder on the host: the reference models, other members of the family against a plain
 * float64 network, every cache layout, windows. */
#include "tests/unit/kernels/decoder_bed.h"
#include "tests/unit/kernels/model_family.h"
#include "tests/unit/kernels/model_forward.h"

static struct json *read_json(const char *path)
{
    struct text bytes = TEXT_INIT, why = TEXT_INIT;
    struct json *root = NULL;
    assert_int_equal(file_read(path, 0, &bytes, &why), 0);
    assert_int_equal(json_parse(bytes.data, bytes.length, &root, &why), 0);
    text_release(&bytes);
    text_release(&why);
    return root;
}

static double real_at(const struct json *list, uint64_t row, uint64_t column)
{
    double value = 0;
    assert_int_equal(json_number(json_at(json_at(list, row), column), &value), 0);
    return value;
}

static uint32_t token_at(const struct json *list, uint64_t row, uint64_t column)
{
    uint64_t value = 0;
    assert_int_equal(json_count(json_at(json_at(list, row), column), &value), 0);
    return (uint32_t)value;
}

static double digest(const struct bed *bed, const char *phase)
{
    const struct row *row = phase_row(bed, phase);
    assert_string_equal(row_text(row, COLUMN_result_name), "tokens_digest");
    return row->cell[COLUMN_result_value].real;
}

/* --- the reference models ----------------------------------------------------------------- */

static double furthest(const struct json *got, const struct json *want, double *largest)
{
    double most = 0;
    *largest = 0;
    for (uint64_t row = 0; row < json_length(want); row++)
        for (uint64_t i = 0; i < json_length(json_at(want, row)); i++) {
            double value = real_at(want, row, i);
            most = fmax(most, fabs(value - real_at(got, row, i)));
            *largest = fmax(*largest, fabs(value));
        }
    return most;
}

/* In two bytes the first token must agree wherever the best two differ by more than 2 %. */
static void same_first_tokens(const struct json *answer, const struct json *want,
                              double allowed)
{
    const struct json *logits = json_get(want, "last_logits");
    for (uint64_t row = 0; row < json_length(logits); row++) {
        uint32_t best = token_at(json_get(want, "greedy"), row, 0);
        double second = -INFINITY;
        for (uint64_t i = 0; i < json_length(json_at(logits, row)); i++)
            if (i != best)
                second = fmax(second, real_at(logits, row, i));
        if (real_at(logits, row, best) - second > allowed)
            assert_int_equal(token_at(json_get(answer, "greedy"), row, 0), best);
    }
}

static void matches_reference(const char *name, enum dtype dtype)
{
    char *folder = xasprintf("%s/models/%s", TEST_DATA, name);
    char *expected = xasprintf("%s/expected.json", folder);
    struct json *want = read_json(expected);
    struct bed bed;
    double largest;
    set_up(&bed, folder, 2, 1, 20, 23);
    bed.setting.dtype = (int)dtype;
    ask(&bed, expected);
    run_ok(&bed, "host");
    struct json *answer = read_json(bed.answer);
    double off =
        furthest(json_get(answer, "last_logits"), json_get(want, "last_logits"), &largest);
    assert_true(largest > 1);
    assert_true(off <= (dtype == DTYPE_float32 ? 2e-4 : 2e-2) * largest);
    for (uint64_t row = 0; row < 2 && dtype == DTYPE_float32; row++)
        for (uint64_t i = 0; i < 24; i++)
            assert_int_equal(token_at(json_get(answer, "greedy"), row, i),
                             token_at(json_get(want, "greedy"), row, i));
    same_first_tokens(answer, want, 2e-2 * largest);
    json_release(want);
    json_release(answer);
    tear_down(&bed);
    free(folder);
    free(expected);
}

static void reproduces_the_reference_models(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        matches_reference("tiny-llama", (enum dtype)dtype);
        matches_reference("tiny-qwen2", (enum dtype)dtype);
    }
}

/* --- the family --------------------------------------------------------------------------- */

/* [rows][context + generated] tokens, prompts random; writes the prompt file. */
static uint32_t *write_prompt(const struct bed *bed, uint64_t rows, uint64_t context,
                              uint64_t all, uint64_t vocabulary)
{
    uint32_t *tokens = xcalloc(rows * all, sizeof(uint32_t)), state = 12345;
    struct text text = TEXT_INIT;
    text_add(&text, "{\"prompt\": [");
    for (uint64_t row = 0; row < rows; row++)
        for (uint64_t i = 0; i < context; i++) {
            state = state * 1664525u + 1013904223u;
            tokens[row * all + i] = (state >> 8) % (uint32_t)vocabulary;
            text_addf(&text, "%s%u%s",
                      i     ? ", "
                      : row ? ", ["
                            : "[",
                      tokens[row * all + i], i + 1 == context ? "]" : "");
        }
    text_add(&text, "]}");
    write_file(bed->folder, "prompt.json", text.data, text.length);
    text_release(&text);
    return tokens;
}

static void compare_row(const struct json *answer, uint64_t row, const double *logits,
                        uint64_t vocabulary, const uint32_t *greedy, uint64_t count)
{
    double largest = 0, off = 0;
    for (uint64_t i = 0; i < vocabulary; i++) {
        largest = fmax(largest, fabs(logits[i]));
        off = fmax(off, fabs(logits[i] - real_at(json_get(answer, "last_logits"), row, i)));
    }
    assert_true(off <= 2e-5 * largest);
    for (uint64_t i = 0; i < count; i++)
        assert_int_equal(token_at(json_get(answer, "greedy"), row, i), greedy[i]);
}

/* Requests of two rows; every decoded token is what the whole text gives without a cache. */
static void matches_plain_network(const struct member *of, int layout, uint64_t kv_window)
{
    const uint64_t rows = 4, context = 19, generated = 20, all = context + generated + 1;
    struct made_model model;
    struct bed bed;
    make_model(&model, of->config, of->stored);
    set_up(&bed, NULL, 2, 2, context, generated);
    write_model(&model, of->config, bed.folder, of->shards);
    bed.setting.point.value[DIMENSION_width] = reading_of(model.shape.width);
    bed.setting.point.value[DIMENSION_layers] = reading_of(model.shape.layers);
    bed.options.kv_layout = layout, bed.options.kv_window = kv_window;
    uint64_t vocabulary = model.shape.vocabulary;
    uint32_t *tokens = write_prompt(&bed, rows, context, all, vocabulary);
    double *logits = xmalloc(vocabulary * sizeof(double));
    ask(&bed, bed.prompt);
    run_ok(&bed, "host");
    struct json *answer = read_json(bed.answer);
    for (uint64_t row = 0; row < rows; row++) {
        reference_greedy(&model, tokens + row * all, context, generated + 1, kv_window, logits);
        compare_row(answer, row, logits, vocabulary, tokens + row * all + context,
                    generated + 1);
    }
    assert_true(digest(&bed, "cold_decode") == digest(&bed, "warm_decode"));
    assert_int_equal(count_of(phase_row(&bed, "warm_decode"), COLUMN_tokens), rows * generated);
    assert_int_equal(count_of(phase_row(&bed, "warm_prefill"), COLUMN_tokens), rows * context);
    json_release(answer);
    free(tokens);
    free(logits);
    forget_model(&model);
    tear_down(&bed);
}

static void family_members_match(void **state)
{
    (void)state;
    for (size_t i = 0; i < FAMILY; i++)
        for (int layout = KV_STATIC; layout <= KV_PAGED; layout++)
            matches_plain_network(&family[i], layout, 0);
}

/* Rings shorter than the prompt, of no whole page, closed while decoding, and never closed. */
static void kept_windows_match(void **state)
{
    static const uint64_t windows[] = {1, 3, 17, 25, 1000};
    (void)state;
    for (int layout = KV_STATIC; layout <= KV_PAGED; layout++)
        for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++)
            matches_plain_network(&family[i % FAMILY], layout, windows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reproduces_the_reference_models),
        cmocka_unit_test(family_members_match),
        cmocka_unit_test(kept_windows_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
