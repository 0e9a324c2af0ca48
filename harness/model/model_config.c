#include "harness/model/model_config.h"
#include "harness/base/file.h"
#include "harness/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG_LIMIT = 16 << 20, NESTING_LIMIT = 4 };

/* --- what follows from a shape ------------------------------------------------------------ */

/* Bounds far beyond any network; below them no product of a shape can overflow 64 bits. */
static const struct bound {
    const char *name;
    size_t offset;
    uint64_t most;
} bounds[] = {
    {"layers", offsetof(struct model_config, layers), MODEL_LAYER_LIMIT},
    {"width", offsetof(struct model_config, width), 1u << 20},
    {"heads", offsetof(struct model_config, heads), 1u << 14},
    {"kv_heads", offsetof(struct model_config, kv_heads), 1u << 14},
    {"head_dim", offsetof(struct model_config, head_dim), 1u << 10},
    {"intermediate", offsetof(struct model_config, intermediate), 1u << 22},
    {"vocabulary", offsetof(struct model_config, vocabulary), 1u << 26},
};

int model_config_check(const struct model_config *config, struct text *why)
{
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        uint64_t value = *(const uint64_t *)((const char *)config + bounds[i].offset);
        if (value == 0 || value > bounds[i].most)
            return text_fail(why, "%s is %" PRIu64 ", not 1 to %" PRIu64, bounds[i].name, value,
                             bounds[i].most);
    }
    if (config->heads % config->kv_heads != 0)
        return text_fail(why, "%" PRIu64 " heads are not a multiple of %" PRIu64
                         " key-value heads", config->heads, config->kv_heads);
    if (config->head_dim % 2 != 0)
        return text_fail(why, "head_dim %" PRIu64 " is odd: rotary positions turn pairs",
                         config->head_dim);
    if (!(config->norm_eps >= 0 && config->norm_eps < 1))
        return text_fail(why, "norm_eps %g is not in 0 to 1", config->norm_eps);
    if (!(config->rope_theta > 0 && config->rope_theta < 1e18))
        return text_fail(why, "rope_theta %g is not above 0", config->rope_theta);
    if (config->rope_scaling != ROPE_DEFAULT && !(config->rope_factor >= 1))
        return text_fail(why, "rotary scaling factor %g is below 1", config->rope_factor);
    if (config->rope_scaling == ROPE_LLAMA3 &&
        !(config->rope_low_frequency > 0 && config->rope_original_context > 0 &&
          config->rope_high_frequency > config->rope_low_frequency))
        return text_fail(why,
                         "rotary scaling llama3: its low and high factors are not in order");
    return 0;
}

uint64_t model_config_window(const struct model_config *config, uint64_t layer)
{
    return config->windowed[layer / 64] >> layer % 64 & 1 ? config->window : 0;
}

uint64_t model_config_parameters(const struct model_config *config)
{
    uint64_t width = config->width, inner = config->heads * config->head_dim;
    uint64_t qkv = inner + 2 * config->kv_heads * config->head_dim;
    uint64_t layer = 2 * width + width * qkv + inner * width + 3 * width * config->intermediate;
    layer += config->qkv_bias ? qkv : 0;
    layer += config->out_bias ? width : 0;
    layer += config->mlp_bias ? 2 * config->intermediate + width : 0;
    uint64_t ends = config->vocabulary * width * (config->tied_embeddings ? 1 : 2);
    return ends + width + config->layers * layer;
}

/* Long waves are slowed by the factor, short ones kept, those between blended. */
static double scaled(const struct model_config *config, double frequency)
{
    if (config->rope_scaling == ROPE_DEFAULT)
        return frequency;
    if (config->rope_scaling == ROPE_LINEAR)
        return frequency / config->rope_factor;
    double turns = config->rope_original_context * frequency / (2 * 3.14159265358979323846);
    double low = config->rope_low_frequency, high = config->rope_high_frequency;
    if (turns < low)
        return frequency / config->rope_factor;
    if (turns > high)
        return frequency;
    double smooth = (turns - low) / (high - low);
    return (1 - smooth) * frequency / config->rope_factor + smooth * frequency;
}

void model_config_frequencies(const struct model_config *config, float *out)
{
    for (uint64_t i = 0; i < config->head_dim / 2; i++) {
        double exponent = (double)(2 * i) / (double)config->head_dim;
        out[i] = (float)scaled(config, pow(config->rope_theta, -exponent));
    }
}

/* --- the fields of config.json ------------------------------------------------------------ */

/* What an architecture's name decides. */
static const struct family {
    const char *architecture, *model_type;
    bool qkv_bias;     /* always */
    bool config_bias;  /* attention_bias and mlp_bias are its fields */
    bool gated_window; /* sliding_window counts only with use_sliding_window */
} families[] = {
    {"LlamaForCausalLM", "llama", false, true, false},
    {"MistralForCausalLM", "mistral", false, false, false},
    {"Qwen2ForCausalLM", "qwen2", true, false, true},
};
enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

/* One reading: the object with the fields, and what went wrong so far. */
struct config_reader {
    const char *name;
    const struct json *object;
    struct text *why;
    struct text missing; /* names of the fields that are not there */
    struct model_config *config;
    bool failed;
};

static void fail(struct config_reader *reader, const char *field, const char *reason)
{
    if (!reader->failed)
        text_addf(reader->why, "%s: %s: %s", reader->name, field, reason);
    reader->failed = true;
}

static void note(struct config_reader *reader, const char *what)
{
    char *notes = reader->config->notes;
    size_t used = strlen(notes);
    snprintf(notes + used, sizeof(reader->config->notes) - used, "%s%s", used ? "; " : "",
             what);
}

/* Absent and null are the same: a writer that has no value writes null. */
static const struct json *field(const struct json *object, const char *name)
{
    const struct json *value = json_get(object, name);
    return value && !json_is_null(value) ? value : NULL;
}

static void count(struct config_reader *reader, const char *name, bool needed, uint64_t *out)
{
    const struct json *value = field(reader->object, name);
    if (!value && needed)
        text_addf(&reader->missing, "%s%s", reader->missing.length ? ", " : "", name);
    if (value && json_count(value, out) != 0)
        fail(reader, name, "is not a count");
}

static void real(struct config_reader *reader, const struct json *object, const char *name,
                 bool needed, double *out)
{
    const struct json *value = field(object, name);
    if (!value && needed)
        text_addf(&reader->missing, "%s%s", reader->missing.length ? ", " : "", name);
    if (value && json_number(value, out) != 0)
        fail(reader, name, "is not a number");
}

static bool flag(struct config_reader *reader, const char *name)
{
    const struct json *value = field(reader->object, name);
    bool set = false;
    if (value && json_flag(value, &set) != 0)
        fail(reader, name, "is neither true nor false");
    return set;
}

/* --- which network ------------------------------------------------------------------------ */

static const char *first_text(const struct json *object, const char *name)
{
    const struct json *value = field(object, name);
    if (value && json_is_array(value))
        value = json_length(value) ? json_at(value, 0) : NULL;
    return value ? json_text(value) : NULL;
}

static const struct family *find_family(struct config_reader *reader, const struct json *outer)
{
    const char *name = first_text(reader->object, "architectures");
    const char *type = first_text(reader->object, "model_type");
    if (!name && outer != reader->object && !type)
        name = first_text(outer, "architectures");
    for (size_t i = 0; i < FAMILIES; i++) {
        if (name ? strcmp(name, families[i].architecture) == 0
                 : type && strcmp(type, families[i].model_type) == 0)
            return &families[i];
    }
    if (!name && !type) {
        fail(reader, "architectures", "missing, and no model_type");
        return NULL;
    }
    struct text reason = TEXT_INIT;
    text_add(&reason, "unknown architecture ");
    text_add_escaped(&reason, name ? name : type, strlen(name ? name : type), 80);
    text_add(&reason, "; known:");
    for (size_t i = 0; i < FAMILIES; i++)
        text_addf(&reason, " %s", families[i].architecture);
    fail(reader, "architectures", text_string(&reason));
    text_release(&reason);
    return NULL;
}

static void read_activation(struct config_reader *reader)
{
    const struct json *value = field(reader->object, "hidden_act");
    const char *name = value ? json_text(value) : "silu";
    if (!name || (strcmp(name, "silu") != 0 && strcmp(name, "swish") != 0)) {
        struct text reason = TEXT_INIT;
        text_add(&reason, "unknown activation ");
        text_add_escaped(&reason, name ? name : "?", name ? strlen(name) : 1, 40);
        fail(reader, "hidden_act", text_string(&reason));
        text_release(&reason);
    }
}

/* --- rotary positions --------------------------------------------------------------------- */

static void read_scaling(struct config_reader *reader, const struct json *scaling)
{
    struct model_config *config = reader->config;
    const char *type = first_text(scaling, "rope_type");
    if (!type)
        type = first_text(scaling, "type");
    if (!type || strcmp(type, "default") == 0)
        return;
    if (strcmp(type, "linear") == 0) {
        config->rope_scaling = ROPE_LINEAR;
        real(reader, scaling, "factor", true, &config->rope_factor);
    } else if (strcmp(type, "llama3") == 0) {
        config->rope_scaling = ROPE_LLAMA3;
        real(reader, scaling, "factor", true, &config->rope_factor);
        real(reader, scaling, "low_freq_factor", true, &config->rope_low_frequency);
        real(reader, scaling, "high_freq_factor", true, &config->rope_high_frequency);
        real(reader, scaling, "original_max_position_embeddings", true,
             &config->rope_original_context);
    } else {
        struct text reason = TEXT_INIT;
        text_add(&reason, "unknown rotary scaling ");
        text_add_escaped(&reason, type, strlen(type), 40);
        fail(reader, "rope_type", text_string(&reason));
        text_release(&reason);
    }
}

/* Two spellings: rope_parameters with everything, or rope_theta beside rope_scaling. */
static void read_rope(struct config_reader *reader)
{
    const struct json *parameters = field(reader->object, "rope_parameters");
    const struct json *scaling = field(reader->object, "rope_scaling");
    double partial = 1, theta = 0;
    reader->config->rope_factor = 1;
    if (parameters && !json_is_object(parameters))
        fail(reader, "rope_parameters", "is not an object");
    if (scaling && !json_is_object(scaling))
        fail(reader, "rope_scaling", "is not an object");
    if (reader->failed)
        return;
    real(reader, reader->object, "rope_theta", false, &theta);
    real(reader, reader->object, "partial_rotary_factor", false, &partial);
    if (parameters) {
        real(reader, parameters, "rope_theta", false, &theta);
        real(reader, parameters, "partial_rotary_factor", false, &partial);
        read_scaling(reader, parameters);
    } else if (scaling) {
        read_scaling(reader, scaling);
    }
    if (theta <= 0 && !reader->failed) {
        theta = 10000;
        note(reader, "rotary base 10000 assumed");
    }
    reader->config->rope_theta = theta;
    if (partial < 1 || partial > 1)
        fail(reader, "partial_rotary_factor", "a partial rotation is not known");
}

/* --- sliding attention -------------------------------------------------------------------- */

static void set_windowed(struct model_config *config, uint64_t layer)
{
    config->windowed[layer / 64] |= (uint64_t)1 << layer % 64;
}

static void read_layer_types(struct config_reader *reader, const struct json *types)
{
    struct model_config *config = reader->config;
    bool any = false;
    if (!json_is_array(types) || json_length(types) != config->layers) {
        fail(reader, "layer_types", "does not have one entry per layer");
        return;
    }
    for (uint64_t i = 0; i < config->layers; i++) {
        const char *type = json_text(json_at(types, i));
        if (type && strcmp(type, "sliding_attention") == 0) {
            set_windowed(config, i);
            any = true;
        } else if (!type || strcmp(type, "full_attention") != 0) {
            fail(reader, "layer_types", "a type that is neither full nor sliding attention");
        }
    }
    if (any && config->window == 0)
        fail(reader, "layer_types", "sliding attention without sliding_window");
    if (!any)
        config->window = 0;
}

static void read_window(struct config_reader *reader, const struct family *family)
{
    struct model_config *config = reader->config;
    const struct json *types = field(reader->object, "layer_types");
    uint64_t first = 0;
    count(reader, "sliding_window", false, &config->window);
    if (family->gated_window) {
        count(reader, "max_window_layers", false, &first);
        if (!flag(reader, "use_sliding_window"))
            config->window = 0;
    }
    if (reader->failed || config->layers > MODEL_LAYER_LIMIT)
        return;
    if (types) {
        read_layer_types(reader, types);
        return;
    }
    for (uint64_t i = first; i < config->layers && config->window; i++)
        set_windowed(config, i);
    if (first >= config->layers)
        config->window = 0;
}

/* --- the whole ---------------------------------------------------------------------------- */

static void read_heads(struct config_reader *reader)
{
    struct model_config *config = reader->config;
    count(reader, "num_attention_heads", true, &config->heads);
    config->kv_heads = config->heads;
    if (!field(reader->object, "num_key_value_heads"))
        note(reader, "key-value heads taken to be as many as heads");
    count(reader, "num_key_value_heads", false, &config->kv_heads);
    if (field(reader->object, "head_dim")) {
        count(reader, "head_dim", true, &config->head_dim);
    } else if (config->heads && config->width) {
        config->head_dim = config->width / config->heads;
        if (config->head_dim * config->heads != config->width)
            fail(reader, "hidden_size", "not a multiple of the heads, and no head_dim");
    }
}

static void read_fields(struct config_reader *reader, const struct family *family)
{
    struct model_config *config = reader->config;
    snprintf(config->architecture, sizeof(config->architecture), "%s", family->architecture);
    count(reader, "hidden_size", true, &config->width);
    count(reader, "num_hidden_layers", true, &config->layers);
    read_heads(reader);
    count(reader, "intermediate_size", true, &config->intermediate);
    count(reader, "vocab_size", true, &config->vocabulary);
    real(reader, reader->object, "rms_norm_eps", true, &config->norm_eps);
    config->tied_embeddings = flag(reader, "tie_word_embeddings");
    config->out_bias = family->config_bias && flag(reader, "attention_bias");
    config->qkv_bias = family->qkv_bias || config->out_bias;
    config->mlp_bias = family->config_bias && flag(reader, "mlp_bias");
    read_activation(reader);
    read_rope(reader);
    read_window(reader, family);
}

static void read_root(struct config_reader *reader, const struct json *root)
{
    reader->object = root;
    for (int depth = 0; depth < NESTING_LIMIT && json_is_object(reader->object); depth++) {
        const struct json *inner = field(reader->object, "text_config");
        if (!inner)
            break;
        if (depth == 0)
            note(reader, "fields read from text_config");
        reader->object = inner;
    }
    if (!json_is_object(reader->object)) {
        fail(reader, "config", "is not an object");
        return;
    }
    const struct family *family = find_family(reader, root);
    if (family)
        read_fields(reader, family);
    if (reader->missing.length)
        fail(reader, "missing", text_string(&reader->missing));
}

int model_config_parse(const char *name, const char *bytes, size_t length,
                       struct model_config *out, struct text *why)
{
    struct model_config config = {0};
    struct config_reader reader = {
        .name = name, .why = why, .config = &config, .missing = TEXT_INIT};
    struct text reason = TEXT_INIT;
    struct json *root = NULL;
    if (json_parse(bytes, length, &root, &reason) != 0)
        fail(&reader, "not JSON", text_string(&reason));
    else
        read_root(&reader, root);
    text_clear(&reason);
    if (!reader.failed && model_config_check(&config, &reason) != 0)
        fail(&reader, "config", text_string(&reason));
    json_release(root);
    text_release(&reason);
    text_release(&reader.missing);
    if (reader.failed)
        return -1;
    *out = config;
    return 0;
}

int model_config_read(const char *folder, struct model_config *out, struct text *why)
{
    struct text bytes = TEXT_INIT;
    char *path = xasprintf("%s/config.json", folder);
    int result = file_read(path, CONFIG_LIMIT, &bytes, why);
    if (result == 0)
        result = model_config_parse(path, text_string(&bytes), bytes.length, out, why);
    text_release(&bytes);
    free(path);
    return result;
}
