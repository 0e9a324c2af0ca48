/* config.json: what is read, what is assumed and said, what is refused. */
#include "harness/model/model_config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LLAMA "\"architectures\":[\"LlamaForCausalLM\"],"
#define MISTRAL "\"architectures\":[\"MistralForCausalLM\"],"
#define QWEN2 "\"architectures\":[\"Qwen2ForCausalLM\"],"
#define SHAPE                                                                                  \
    "\"hidden_size\":64,\"num_hidden_layers\":3,\"num_attention_heads\":4,"                    \
    "\"intermediate_size\":96,\"vocab_size\":100,\"rms_norm_eps\":1e-6"

static struct model_config read(const char *json)
{
    struct model_config config = {.width = 0};
    struct text why = TEXT_INIT;
    int result = model_config_parse("c.json", json, strlen(json), &config, &why);
    if (result != 0)
        print_error("%s\n", text_string(&why));
    assert_int_equal(result, 0);
    text_release(&why);
    return config;
}

static void refuses(const char *json, const char *reason)
{
    struct model_config config = {.width = 17};
    struct text why = TEXT_INIT;
    assert_int_equal(model_config_parse("c.json", json, strlen(json), &config, &why), -1);
    if (!strstr(text_string(&why), reason))
        print_error("'%s' lacks '%s'\n", text_string(&why), reason);
    assert_non_null(strstr(text_string(&why), reason));
    assert_non_null(strstr(text_string(&why), "c.json"));
    assert_int_equal(config.width, 17);
    text_release(&why);
}

static void reads_the_reference_folders(void **state)
{
    static const char *const names[] = {"tiny-llama", "tiny-qwen2"};
    static const uint64_t parameters[] = {125248, 115264};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct model_config config;
        struct text why = TEXT_INIT;
        char *folder = xasprintf("%s/models/%s", TEST_DATA, names[i]);
        assert_int_equal(model_config_read(folder, &config, &why), 0);
        assert_int_equal(config.head_dim, 16);
        assert_int_equal(config.kv_heads, 2);
        assert_int_equal(config.qkv_bias, i == 1);
        assert_int_equal(config.window, 0);
        assert_true(config.rope_theta == 10000);
        assert_int_equal(model_config_parameters(&config), parameters[i]);
        text_release(&why);
        free(folder);
    }
}

static void absent_fields_are_what_the_format_says(void **state)
{
    (void)state;
    struct model_config config = read("{" LLAMA SHAPE "}");
    assert_int_equal(config.kv_heads, 4);
    assert_int_equal(config.head_dim, 16);
    assert_true(config.rope_theta == 10000);
    assert_false(config.tied_embeddings || config.qkv_bias || config.out_bias ||
                 config.mlp_bias);
    assert_non_null(strstr(config.notes, "key-value heads taken to be as many as heads"));
    assert_non_null(strstr(config.notes, "rotary base 10000 assumed"));
    config = read("{" LLAMA SHAPE ",\"num_key_value_heads\":null,\"head_dim\":null,"
                  "\"sliding_window\":null,\"rope_scaling\":null,\"hidden_act\":\"silu\"}");
    assert_int_equal(config.kv_heads, 4);
    config = read("{\"model_type\":\"mistral\"," SHAPE ",\"head_dim\":20,\"rope_theta\":5e5}");
    assert_string_equal(config.architecture, "MistralForCausalLM");
    assert_int_equal(config.head_dim, 20);
    assert_true(config.rope_theta == 500000);
}

static void missing_fields_are_all_named(void **state)
{
    (void)state;
    refuses("{}", "architectures: missing");
    refuses("{" LLAMA "\"vocab_size\":100}",
            "missing: hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, "
            "rms_norm_eps");
    refuses("[]", "not an object");
    refuses("{" LLAMA SHAPE, "not JSON");
    refuses("{" LLAMA SHAPE ",\"vocab_size\":100}", "not JSON"); /* twice */
}

static void numbers_are_numbers(void **state)
{
    (void)state;
    assert_int_equal(read("{" LLAMA SHAPE ",\"num_key_value_heads\":2.0}").kv_heads, 2);
    refuses("{" LLAMA SHAPE ",\"num_key_value_heads\":\"2\"}", "num_key_value_heads: is not");
    refuses("{" LLAMA SHAPE ",\"num_key_value_heads\":-1}", "num_key_value_heads: is not");
    refuses("{" LLAMA SHAPE ",\"num_key_value_heads\":0}", "kv_heads is 0");
    refuses("{" LLAMA SHAPE ",\"num_key_value_heads\":3}", "4 heads are not a multiple of 3");
    refuses("{" LLAMA SHAPE ",\"head_dim\":7}", "head_dim 7 is odd");
    refuses("{" LLAMA SHAPE ",\"head_dim\":1000000}", "head_dim is 1000000");
    refuses("{" LLAMA SHAPE ",\"tie_word_embeddings\":1}", "neither true nor false");
    refuses("{" LLAMA SHAPE ",\"rope_theta\":\"x\"}", "rope_theta: is not a number");
    refuses("{" LLAMA "\"hidden_size\":65,\"num_hidden_layers\":3,\"num_attention_heads\":4,"
            "\"intermediate_size\":96,\"vocab_size\":100,\"rms_norm_eps\":1e-6}",
            "not a multiple of the heads");
}

static void the_unknown_is_refused_by_name(void **state)
{
    (void)state;
    refuses("{\"architectures\":[\"GemmaForCausalLM\"]," SHAPE "}",
            "unknown architecture GemmaForCausalLM; known: LlamaForCausalLM");
    refuses("{\"model_type\":\"gpt2\"," SHAPE "}", "unknown architecture gpt2");
    refuses("{\"architectures\":[]," SHAPE "}", "architectures: missing");
    refuses("{" LLAMA SHAPE ",\"hidden_act\":\"gelu\"}", "unknown activation gelu");
    refuses("{" LLAMA SHAPE ",\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":2.0}}",
            "unknown rotary scaling dynamic");
    refuses("{" LLAMA SHAPE ",\"rope_parameters\":{\"rope_type\":\"yarn\",\"rope_theta\":1e4}}",
            "unknown rotary scaling yarn");
    refuses("{" LLAMA SHAPE ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":2.0}}",
            "missing: low_freq_factor");
    refuses("{" LLAMA SHAPE ",\"partial_rotary_factor\":0.5}", "partial_rotary_factor");
}

static void inner_fields_win(void **state)
{
    (void)state;
    struct model_config config =
        read("{\"architectures\":[\"SomeForConditionalGeneration\"],\"num_hidden_layers\":33,"
             "\"text_config\":{" LLAMA SHAPE "}}");
    assert_int_equal(config.layers, 3);
    assert_non_null(strstr(config.notes, "fields read from text_config"));
    config = read("{" LLAMA "\"text_config\":{\"text_config\":{" SHAPE "}}}");
    assert_int_equal(config.width, 64);
}

static void windows_belong_to_layers(void **state)
{
    (void)state;
    struct model_config config = read("{" MISTRAL SHAPE ",\"sliding_window\":9}");
    for (uint64_t l = 0; l < 3; l++)
        assert_int_equal(model_config_window(&config, l), 9);
    config = read("{" QWEN2 SHAPE ",\"sliding_window\":9,\"use_sliding_window\":false}");
    assert_int_equal(config.window, 0);
    config = read("{" QWEN2 SHAPE ",\"sliding_window\":9,\"use_sliding_window\":true,"
                  "\"max_window_layers\":2}");
    assert_int_equal(model_config_window(&config, 1), 0);
    assert_int_equal(model_config_window(&config, 2), 9);
    config =
        read("{" LLAMA SHAPE ",\"sliding_window\":9,\"layer_types\":[\"sliding_attention\","
             "\"full_attention\",\"sliding_attention\"]}");
    assert_int_equal(model_config_window(&config, 0), 9);
    assert_int_equal(model_config_window(&config, 1), 0);
    refuses("{" LLAMA SHAPE ",\"layer_types\":[\"full_attention\"]}", "one entry per layer");
    refuses("{" LLAMA SHAPE ",\"layer_types\":[\"a\",\"b\",\"c\"]}",
            "neither full nor sliding");
    refuses("{" LLAMA SHAPE ",\"layer_types\":[\"sliding_attention\",\"full_attention\","
            "\"full_attention\"]}",
            "sliding attention without sliding_window");
}

static void frequencies_are_scaled(void **state)
{
    float plain[8], scaled[8];
    (void)state;
    struct model_config config = read("{" LLAMA SHAPE ",\"rope_theta\":10000.0}");
    model_config_frequencies(&config, plain);
    assert_true(plain[0] == 1 && fabsf(plain[4] - 0.01f) < 1e-8f);
    config = read("{" LLAMA SHAPE ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":4.0}}");
    model_config_frequencies(&config, scaled);
    for (int i = 0; i < 8; i++)
        assert_true(fabsf(scaled[i] * 4 / plain[i] - 1) < 1e-6f);
    config = read("{" LLAMA SHAPE ",\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,"
                  "\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
                  "\"original_max_position_embeddings\":64}}");
    model_config_frequencies(&config, scaled);
    /* waves of 2 pi / f tokens: below 16 kept, above 64 slowed eightfold, between blended */
    assert_true(scaled[0] == plain[0]);
    assert_true(fabsf(scaled[7] * 8 / plain[7] - 1) < 1e-6f);
    double turns = 64 * (double)plain[2] / 6.283185307179586, smooth = (turns - 1) / 3;
    assert_true(turns > 1 && turns < 4);
    assert_true(fabs((double)scaled[2] /
                         ((1 - smooth) * (double)plain[2] / 8 + smooth * (double)plain[2]) -
                     1) < 1e-6);
}

static void parameters_are_exact(void **state)
{
    (void)state;
    struct model_config tied =
        read("{\"architectures\":[\"Qwen2ForCausalLM\"],\"hidden_size\":2560,\"num_hidden_"
             "layers\":36,"
             "\"num_attention_heads\":32,\"num_key_value_heads\":8,\"head_dim\":128,"
             "\"intermediate_size\":9728,\"vocab_size\":151936,\"rms_norm_eps\":1e-6,"
             "\"tie_word_embeddings\":true}");
    uint64_t qkv = 4096 + 2048;
    uint64_t layer = 2 * 2560 + 2560 * qkv + qkv + 4096 * 2560 + 3 * 2560 * UINT64_C(9728);
    assert_int_equal(model_config_parameters(&tied),
                     UINT64_C(151936) * 2560 + 2560 + 36 * layer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_reference_folders),
        cmocka_unit_test(absent_fields_are_what_the_format_says),
        cmocka_unit_test(missing_fields_are_all_named),
        cmocka_unit_test(numbers_are_numbers),
        cmocka_unit_test(the_unknown_is_refused_by_name),
        cmocka_unit_test(inner_fields_win),
        cmocka_unit_test(windows_belong_to_layers),
        cmocka_unit_test(frequencies_are_scaled),
        cmocka_unit_test(parameters_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
