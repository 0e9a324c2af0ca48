/* What the decoder says about memory, and what it refuses. */
#include "tests/unit/kernels/decoder_bed.h"

/* --- memory ------------------------------------------------------------------------------- */

static uint64_t composition(const struct row *row, enum column first)
{
    uint64_t sum = 0;
    for (int i = 0; i < TAGS; i++)
        sum += count_of(row, (enum column)((int)first + i));
    return sum;
}

/* A shape without rounding: vectors of 128 bytes, four of them a block of the allocator. */
static void shape_by_rule(struct bed *bed, int layout)
{
    set_up(bed, "", 2, 3, 40, 24);
    bed->setting.point.value[DIMENSION_width] = reading_of(64);
    bed->setting.point.value[DIMENSION_layers] = reading_of(2);
    bed->options.heads = 4, bed->options.kv_heads = 4, bed->options.head_dim = 32;
    bed->options.intermediate = 96, bed->options.vocabulary = 80;
    bed->options.kv_layout = layout;
}

/* The same code on a simulated device takes the same bytes, and tags account for all of
 * them. */
static void counters_are_the_plan_and_add_up(void **state)
{
    (void)state;
    for (int layout = KV_STATIC; layout <= KV_PAGED; layout++) {
        struct bed bed;
        struct recorder plan;
        shape_by_rule(&bed, layout);
        run_ok(&bed, "host");
        assert_int_equal(run(&bed.setting, "simulated", &plan), STATUS_ok);
        assert_int_equal(plan.count, bed.recorder.count);
        for (size_t i = 0; i < plan.count; i++) {
            const struct row *row = &bed.recorder.rows[i];
            for (int c = 0; c < COUNTERS; c++) {
                enum column column = counter_column[c];
                struct reading a = row_count(row, column), b = row_count(&plan.rows[i], column);
                if (column < COLUMN_driver_start_bytes || column >= COLUMN_peak_weights_bytes)
                    assert_true(a.known == b.known && (!a.known || a.value == b.value));
            }
            if (i < 1)
                continue;
            assert_int_equal(composition(row, COLUMN_peak_weights_bytes),
                             count_of(row, COLUMN_allocated_peak_bytes));
            assert_int_equal(composition(row, COLUMN_end_weights_bytes),
                             count_of(row, COLUMN_allocated_end_bytes));
        }
        forget(&plan);
        tear_down(&bed);
    }
}

static uint64_t kv_end(const struct bed *bed, const char *phase)
{
    return count_of(phase_row(bed, phase), COLUMN_end_kv_cache_bytes);
}

static void cache_is_as_estimated(void **state)
{
    const uint64_t per_token = 2 * 2 * 4 * 32 * 4, rows = 6; /* layers, k and v, heads, bytes */
    (void)state;
    for (int layout = KV_STATIC; layout <= KV_PAGED; layout++) {
        struct bed bed;
        struct reading weights, kv;
        shape_by_rule(&bed, layout);
        run_ok(&bed, "simulated");
        decoder_estimate(&bed.setting.point, DTYPE_float32, &bed.options, &weights, &kv);
        assert_int_equal(kv.value, rows * 64 * per_token);
        assert_int_equal(kv_end(&bed, "cold_decode"), kv.value);
        assert_int_equal(kv_end(&bed, "warm_decode"), kv.value);
        assert_int_equal(kv_end(&bed, "inputs"), layout == KV_GROW ? 0 : kv.value);
        assert_int_equal(kv_end(&bed, "cold_prefill"),
                         layout == KV_GROW ? rows * 40 * per_token : kv.value);
        uint64_t exact = 2 * 80 * 64 + 64 + 2 * (2 * 64 + 64 * 384 + 128 * 64 + 3 * 64 * 96);
        assert_int_equal(weights.value, 4 * exact);
        assert_int_equal(count_of(phase_row(&bed, "model_load"), COLUMN_end_weights_bytes),
                         4 * exact + 5 * (512 - 256)); /* five norms of 256 bytes */
        bed.options.kv_window = 20;
        run_ok(&bed, "simulated");
        decoder_estimate(&bed.setting.point, DTYPE_float32, &bed.options, &weights, &kv);
        assert_int_equal(kv.value, rows * (layout == KV_PAGED ? 32 : 20) * per_token);
        assert_int_equal(kv_end(&bed, "cold_decode"), kv.value);
        tear_down(&bed);
    }
}

/* While a tensor grows, the old and the new one are there together. */
static void growing_holds_a_tensor_twice(void **state)
{
    struct bed bed;
    (void)state;
    shape_by_rule(&bed, KV_GROW);
    run_ok(&bed, "simulated");
    const struct row *row = phase_row(&bed, "warm_decode");
    uint64_t end = count_of(row, COLUMN_end_kv_cache_bytes), tensor = end / (2 * 2 * 3);
    uint64_t peak = count_of(row, COLUMN_peak_kv_cache_bytes);
    assert_int_equal(peak,
                     end - tensor / 64 + tensor); /* the last to grow, before it is freed */
    tear_down(&bed);
}

/* Eight billion parameters in two bytes: prefill needs at most a tenth more than weights and
 * cache, and to the byte what its tensors are: the stream, queries with keys and values, and
 * the norm or the attention's output. */
static void prefill_needs_little_more(void **state)
{
    static const uint64_t points[][2] = {{1, 8192}, {8, 8192}, {32, 2048}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct bed bed;
        struct reading weights, kv;
        set_up(&bed, "", points[i][0], 1, points[i][1], 16);
        bed.setting.dtype = DTYPE_bfloat16;
        run_ok(&bed, "simulated");
        decoder_estimate(&bed.setting.point, DTYPE_bfloat16, &bed.options, &weights, &kv);
        const struct row *row = phase_row(&bed, "cold_prefill");
        uint64_t peak = count_of(row, COLUMN_allocated_peak_bytes);
        assert_true(peak <= (weights.value + kv.value) / 10 * 11);
        uint64_t tokens = points[i][0] * points[i][1];
        uint64_t attention = tokens * 2 * (4096 + 4096 + 6144);
        uint64_t mlp = tokens * 2 * 4096 + UINT64_C(8192) * 2 * (4096 + 2 * 14336);
        assert_int_equal(count_of(row, COLUMN_peak_activations_bytes),
                         attention > mlp ? attention : mlp);
        tear_down(&bed);
    }
}

static void fails_with(struct bed *bed, const char *reason)
{
    forget(&bed->recorder);
    assert_int_equal(run(&bed->setting, "host", &bed->recorder), STATUS_error);
    const char *error = row_text(&bed->recorder.rows[bed->recorder.count - 1], COLUMN_error);
    if (!strstr(error, reason))
        print_error("'%s' lacks '%s'\n", error, reason);
    assert_non_null(strstr(error, reason));
}

/* As one cycle the same is done, and its result is that of the last decode. */
static void a_whole_run_gives_the_same(void **state)
{
    (void)state;
    for (int layout = KV_STATIC; layout <= KV_PAGED; layout++) {
        struct bed bed;
        shape_by_rule(&bed, layout);
        run_ok(&bed, "host");
        double digest = phase_row(&bed, "warm_decode")->cell[COLUMN_result_value].real;
        bed.setting.phases = PHASES_WHOLE;
        run_ok(&bed, "host");
        const struct row *cycle = phase_row(&bed, "cycle");
        assert_string_equal(row_text(cycle, COLUMN_result_name), "tokens_digest");
        assert_true(cycle->cell[COLUMN_result_value].real == digest);
        assert_int_equal(count_of(cycle, COLUMN_tokens), 4 * 6 * (40 + 24));
        free(bed.options.answer);
        bed.options.answer = xstrdup(bed.answer);
        fails_with(&bed, "answer: with phases = split only");
        tear_down(&bed);
    }
}

/* --- refusals ----------------------------------------------------------------------------- */

static const char one_head[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 36, "
    "\"num_hidden_layers\": 2, \"intermediate_size\": 50, \"vocab_size\": 61, "
    "\"num_attention_heads\": 6, \"num_key_value_heads\": 1, \"head_dim\": 10, "
    "\"rms_norm_eps\": 0.01, \"rope_theta\": 700.5, \"tie_word_embeddings\": true}";

static void bad_weights_are_named(void **state)
{
    const char *config = one_head;
    struct made_model model;
    struct bed bed;
    (void)state;
    make_model(&model, config, DTYPE_float32);
    set_up(&bed, NULL, 1, 1, 4, 1);
    bed.setting.point.value[DIMENSION_width] = reading_of(36);
    bed.setting.point.value[DIMENSION_layers] = reading_of(2);
    struct made_tensor *tensor = &model.tensors[4]; /* model.layers.0.self_attn.v_proj.weight */
    tensor->rows = 9;
    write_model(&model, config, bed.folder, 1);
    fails_with(&bed, "tensor model.layers.0.self_attn.v_proj.weight has shape [9, 36], the "
                     "network needs [10, 36]");
    tensor->rows = 10;
    strcpy(tensor->name, "model.layers.0.self_attn.v_proj.extra");
    write_model(&model, config, bed.folder, 1);
    fails_with(&bed, "tensor model.layers.0.self_attn.v_proj.weight is missing");
    strcpy(tensor->name, "model.layers.0.self_attn.v_proj.weight");
    make_tensor(&model, "model.layers.0.self_attn.q_norm.weight", 10, 0, 1, 0);
    write_model(&model, config, bed.folder, 1);
    fails_with(&bed, "tensor model.layers.0.self_attn.q_norm.weight belongs to no part");
    strcpy(model.tensors[--model.count].name, "");
    free(model.tensors[model.count].values);
    write_model(&model, config, bed.folder, 1);
    char *file = xasprintf("%s/model.safetensors", bed.folder);
    struct text bytes = TEXT_INIT, why = TEXT_INIT;
    assert_int_equal(file_read(file, 0, &bytes, &why), 0);
    assert_int_equal(truncate(file, (off_t)bytes.length - 1), 0);
    fails_with(&bed, "truncated");
    text_release(&bytes);
    text_release(&why);
    free(file);
    forget_model(&model);
    tear_down(&bed);
}

static void bad_prompts_are_refused(void **state)
{
    static const char *const prompts[][2] = {
        {"{\"prompt\": [[1, 2, 3]]}", "row 0 is not a list of 4 tokens"},
        {"{\"prompt\": [[1, 2, 3, 80]]}", "token 3: not a number below 80"},
        {"{\"prompt\": [[1, 2, 3, -1]]}", "token 3"},
        {"{\"prompt\": []}", "1 rows"},
        {"[1]", "no \"prompt\""}};
    struct bed bed;
    (void)state;
    shape_by_rule(&bed, KV_STATIC);
    bed.setting.point.value[DIMENSION_batch] = reading_of(1);
    bed.setting.point.value[DIMENSION_sequences] = reading_of(1);
    bed.setting.point.value[DIMENSION_context] = reading_of(4);
    ask(&bed, bed.prompt);
    for (size_t i = 0; i < sizeof(prompts) / sizeof(prompts[0]); i++) {
        write_file(bed.folder, "prompt.json", prompts[i][0], strlen(prompts[i][0]));
        fails_with(&bed, prompts[i][1]);
    }
    tear_down(&bed);
}

static void refused(const struct bed *bed, const char *reason)
{
    struct text why = TEXT_INIT;
    assert_int_equal(decoder_check(&bed->setting.point, &bed->options, &why), -1);
    if (!strstr(text_string(&why), reason))
        print_error("'%s' lacks '%s'\n", text_string(&why), reason);
    assert_non_null(strstr(text_string(&why), reason));
    text_release(&why);
}

static void what_cannot_be_is_refused(void **state)
{
    char *folder = xasprintf("%s/models/tiny-llama", TEST_DATA);
    struct bed bed;
    (void)state;
    set_up(&bed, folder, 1, 1, 4, 1);
    bed.options.heads = 4;
    refused(&bed, "heads: the model's folder decides it");
    bed.options.heads = 0;
    bed.setting.point.value[DIMENSION_width] = reading_of(128);
    refused(&bed, "has width 64 and 2 layers; asked for are 128 and 2");
    bed.setting.point.value[DIMENSION_width] = reading_of(64);
    bed.options.weight_format = 5;
    refused(&bed, "int4: not yet");
    bed.options.weight_format = 3;
    fails_with(&bed, "weight_format bfloat16 with dtype float32: not yet");
    tear_down(&bed);
    shape_by_rule(&bed, KV_STATIC);
    bed.options.kv_heads = 3;
    refused(&bed, "4 heads are not a multiple of 3");
    bed.options.kv_heads = 4, bed.options.head_dim = 31;
    refused(&bed, "head_dim 31 is odd");
    bed.options.head_dim = 32;
    bed.setting.point.value[DIMENSION_context] = reading_of((uint64_t)1 << 40);
    refused(&bed, "context must be 1 to");
    tear_down(&bed);
    free(folder);
}

static void the_rule_makes_eight_billion(void **state)
{
    struct model_config shape;
    struct bed bed;
    struct text why = TEXT_INIT;
    (void)state;
    set_up(&bed, "", 1, 1, 4, 1);
    assert_int_equal(decoder_shape(&bed.setting.point, &bed.options, &shape, &why), 0);
    assert_int_equal(model_config_parameters(&shape), 8030261248);
    assert_int_equal(shape.heads, 32);
    assert_int_equal(shape.kv_heads, 8);
    assert_int_equal(shape.intermediate, 14336);
    tear_down(&bed);
}

/* 114 * 10^12 of products and 18 of causal attention in a prefill of 8192 tokens. */
static void operations_are_counted(void **state)
{
    const double products = 2.0 * 8192 * (8030261248 - 2 * 525336576), head = 2.0 * 525336576;
    const double key = 4.0 * 32 * 4096; /* of one key, in all layers */
    struct bed bed;
    (void)state;
    set_up(&bed, "", 1, 1, 8192, 0);
    assert_true(decoder_operations(&bed.setting.point, &bed.options) ==
                products + head + key * 8192 * 8193 / 2);
    bed.options.window = 4096; /* what half of them see is bounded */
    assert_true(decoder_operations(&bed.setting.point, &bed.options) ==
                products + head + key * (4096.0 * 4097 / 2 + 4096.0 * 4096));
    bed.options.kv_window = 1;
    assert_true(decoder_operations(&bed.setting.point, &bed.options) ==
                products + head + key * 8192);
    bed.setting.point.value[DIMENSION_batch] = reading_of(3);
    bed.setting.point.value[DIMENSION_sequences] = reading_of(2);
    bed.setting.point.value[DIMENSION_context] = reading_of(8000);
    bed.setting.point.value[DIMENSION_generated] = reading_of(192);
    assert_true(decoder_operations(&bed.setting.point, &bed.options) ==
                6 * (products + 193 * head + key * 8192));
    tear_down(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_the_plan_and_add_up),
        cmocka_unit_test(cache_is_as_estimated),
        cmocka_unit_test(growing_holds_a_tensor_twice),
        cmocka_unit_test(prefill_needs_little_more),
        cmocka_unit_test(a_whole_run_gives_the_same),
        cmocka_unit_test(bad_weights_are_named),
        cmocka_unit_test(bad_prompts_are_refused),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(the_rule_makes_eight_billion),
        cmocka_unit_test(operations_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
