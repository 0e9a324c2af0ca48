#include "kernels/workloads/decoder_shape.h"
#include "harness/base/units.h"
#include "harness/model/estimate.h"
#include "kernels/ops_attention.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define AT(field) .offset = offsetof(struct decoder_options, field)
#define COUNT(field, most) OPTION_COUNT, AT(field), .maximum = most, .fallback = "0"
static const char *const layouts[] = {"static", "grow", "paged", NULL};
static const char *const kv_dtypes[] = {"same", "int8", NULL};
static const char *const formats[] = {"same", "float32", "float16", "bfloat16",
                                      "int8", "int4",    NULL};

/* The first NETWORK_OPTIONS say what a model's folder says itself. */
enum { NETWORK_OPTIONS = 10 };
const struct option decoder_options[] = {
    {"heads", COUNT(heads, 1u << 14), .help = "N: query heads; 0: by the rule"},
    {"kv_heads", COUNT(kv_heads, 1u << 14), .help = "N: key-value heads; 0: by the rule"},
    {"head_dim", COUNT(head_dim, HEAD_DIM_LIMIT),
     .help = "N: features of a head; 0: by the rule"},
    {"intermediate", COUNT(intermediate, 1u << 22),
     .help = "N: inner features; 0: by the rule"},
    {"vocabulary", COUNT(vocabulary, 1u << 26), .help = "N: tokens known; 0: 128256"},
    {"window", COUNT(window, 0),
     .help = "N: tokens that a token sees, itself included; 0: all"},
    {"rope_theta", OPTION_REAL, AT(rope_theta), .fallback = "500000", .help = "X: rotary base"},
    {"norm_eps", OPTION_REAL, AT(norm_eps), .fallback = "0.00001", .help = "X: of RMS norms"},
    {"tied_embeddings", OPTION_FLAG, AT(tied_embeddings), .fallback = "no",
     .help = "the output head is the embedding"},
    {"qkv_bias", OPTION_FLAG, AT(qkv_bias), .fallback = "no",
     .help = "query, key and value projections have a bias"},
    {"model", OPTION_TEXT, AT(model), .fallback = "",
     .help = "FOLDER with config.json: its network, and its weights if they are there"},
    {"prompt", OPTION_TEXT, AT(prompt), .fallback = "",
     .help =
         "FILE: JSON with \"prompt\", a list of token numbers for each row of each request"},
    {"answer", OPTION_TEXT, AT(answer), .fallback = "",
     .help = "FILE to make: JSON with the first pass's \"last_logits\" and \"greedy\" tokens"},
    {"kv_layout", OPTION_CHOICE, AT(kv_layout), .choices = layouts, .fallback = "static",
     .help = "the cache: all of it at once, grown by copies, or pages of 16 tokens"},
    {"kv_window", OPTION_COUNT, AT(kv_window), .fallback = "0",
     .help = "N: tokens kept (and seen) per row; 0: all"},
    {"kv_dtype", OPTION_CHOICE, AT(kv_dtype), .choices = kv_dtypes, .fallback = "same",
     .help = "of the cache", .not_yet = ""},
    {"kv_offload", OPTION_FLAG, AT(kv_offload), .fallback = "no",
     .help = "the cache in host memory", .not_yet = ""},
    {"weight_format", OPTION_CHOICE, AT(weight_format), .choices = formats, .fallback = "same",
     .help = "of stored weights; same: the dtype, others not yet"},
    {.name = NULL},
};

const char decoder_rule[] =
    "decoder without a model: head_dim = 128 (below a width of 128: the width, even), "
    "heads = width / head_dim rounded up, kv_heads = the largest divisor of heads up to "
    "heads / 4, intermediate = 3.5 * width rounded up to a multiple of 64, vocabulary 128256";

const char *decoder_format(const struct decoder_options *options)
{
    return options->weight_format ? formats[options->weight_format] : NULL;
}

/* --- the rule ----------------------------------------------------------------------------- */

static uint64_t or_rule(uint64_t asked, uint64_t rule)
{
    return asked ? asked : rule;
}

static uint64_t divisor_up_to(uint64_t of, uint64_t most)
{
    for (uint64_t d = most; d > 1; d--)
        if (of % d == 0)
            return d;
    return 1;
}

static void by_rule(const struct point *point, const struct decoder_options *options,
                    struct model_config *out)
{
    uint64_t width = point->value[DIMENSION_width].value;
    uint64_t head_dim = or_rule(options->head_dim, width < 128 ? width + width % 2 : 128);
    uint64_t heads = or_rule(options->heads, (width + head_dim - 1) / head_dim);
    *out = (struct model_config){
        .architecture = "rule",
        .width = width,
        .layers = point->value[DIMENSION_layers].value,
        .heads = heads,
        .kv_heads = or_rule(options->kv_heads, divisor_up_to(heads, heads / 4)),
        .head_dim = head_dim,
        .intermediate = or_rule(options->intermediate, (7 * width + 127) / 128 * 64),
        .vocabulary = or_rule(options->vocabulary, 128256),
        .norm_eps = options->norm_eps,
        .rope_theta = options->rope_theta,
        .rope_factor = 1,
        .tied_embeddings = options->tied_embeddings,
        .qkv_bias = options->qkv_bias,
        .window = options->window};
    if (options->window)
        memset(out->windowed, 0xff, sizeof(out->windowed));
}

#define DECIDED "the model's folder decides it"

/* With a model's folder nothing about the network may be asked for beside it: the first option
 * that asks, or NULL. */
static const struct option *asked_beside_model(const struct decoder_options *options)
{
    const struct option *asked = NULL;
    struct text given = TEXT_INIT, fallback = TEXT_INIT;
    struct decoder_options usual = {0};
    option_defaults(decoder_options, &usual);
    for (int i = 0; i < NETWORK_OPTIONS && !asked; i++) {
        text_clear(&given);
        text_clear(&fallback);
        option_format(&decoder_options[i], options, &given);
        option_format(&decoder_options[i], &usual, &fallback);
        if (strcmp(text_string(&given), text_string(&fallback)) != 0)
            asked = &decoder_options[i];
    }
    option_release(decoder_options, &usual);
    text_release(&given);
    text_release(&fallback);
    return asked;
}

bool decoder_has_model(const struct decoder_options *options)
{
    return options->model && options->model[0];
}

int decoder_shape(const struct point *point, const struct decoder_options *options,
                  struct model_config *out, struct text *why)
{
    struct model_config shape;
    const struct option *asked = NULL;
    if (!decoder_has_model(options)) {
        by_rule(point, options, &shape);
        if (model_config_check(&shape, why) != 0)
            return -1;
    } else if ((asked = asked_beside_model(options))) {
        return text_fail(why, "%s: " DECIDED, asked->name);
    } else if (model_config_read(options->model, &shape, why) != 0) {
        return -1;
    }
    if (shape.head_dim > HEAD_DIM_LIMIT)
        return text_fail(why, "head_dim %" PRIu64 " above %u: not yet", shape.head_dim,
                         HEAD_DIM_LIMIT);
    *out = shape;
    return 0;
}

struct reading decoder_fixed(enum dimension dimension, const void *options)
{
    const struct decoder_options *of = options;
    struct model_config shape;
    struct reading value = reading_missing();
    if (decoder_has_model(of) &&
        (dimension == DIMENSION_width || dimension == DIMENSION_layers) &&
        model_config_read(of->model, &shape, NULL) == 0)
        value = reading_of(dimension == DIMENSION_width ? shape.width : shape.layers);
    return value;
}

/* --- bounds ------------------------------------------------------------------------------- */

/* A block of the GPU's grid for each token of a request; a coordinate of the generator. */
static int check_counts(const struct point *point, struct text *why)
{
    static const struct {
        enum dimension dimension;
        uint64_t most;
    } bounds[] = {{DIMENSION_batch, 1u << 20},
                  {DIMENSION_context, 1u << 28},
                  {DIMENSION_sequences, 1u << 20},
                  {DIMENSION_generated, 1u << 24}};
    uint64_t rows, tokens;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        struct reading value = point->value[bounds[i].dimension];
        if (value.known && value.value && value.value <= bounds[i].most)
            continue;
        return text_fail(why, "decoder: %s must be 1 to %" PRIu64,
                         dimension_facts[bounds[i].dimension].name, bounds[i].most);
    }
    rows = point->value[DIMENSION_batch].value * point->value[DIMENSION_sequences].value;
    tokens = point->value[DIMENSION_batch].value * point->value[DIMENSION_context].value;
    if (rows > 1u << 22 || tokens > 1u << 30)
        return text_fail(why, "decoder: %s are more than the kernels count", tokens > 1u << 30
                         ? "batch * context tokens" : "batch * sequences rows");
    return 0;
}

static int check_fixed(const struct point *point, const struct decoder_options *options,
                       const struct model_config *shape, struct text *why)
{
    uint64_t width = point->value[DIMENSION_width].value;
    uint64_t layers = point->value[DIMENSION_layers].value;
    if (width != shape->width || layers != shape->layers) {
        text_addf(why,
                  "%s has width %" PRIu64 " and %" PRIu64 " layers; asked for are %" PRIu64
                  " and %" PRIu64,
                  options->model, shape->width, shape->layers, width, layers);
        return -1;
    }
    return 0;
}

int decoder_check_options(const void *options, const char **key, struct text *why)
{
    const struct decoder_options *of = options;
    struct model_config shape;
    if (!decoder_has_model(of))
        return 0;
    const struct option *asked = asked_beside_model(of);
    if (asked)
        text_add(why, DECIDED);
    else if (model_config_read(of->model, &shape, why) == 0)
        return 0;
    *key = asked ? asked->name : "model";
    return -1;
}

int decoder_check(const struct point *point, const void *options, struct text *why)
{
    struct model_config shape;
    const char *format = decoder_format(options);
    if (format && text_starts_with(format, "int"))
        return text_fail(why, "weight_format %s: not yet", format);
    if (check_counts(point, why) != 0 || decoder_shape(point, options, &shape, why) != 0)
        return -1;
    return check_fixed(point, options, &shape, why);
}

/* --- arithmetic --------------------------------------------------------------------------- */

void decoder_estimate(const struct point *point, int dtype, const void *options,
                      struct reading *weights, struct reading *kv)
{
    const struct decoder_options *of = options;
    struct model_config shape;
    uint64_t bits = 8 * dtype_bytes((enum dtype)dtype), bytes;
    *weights = *kv = reading_missing();
    if (decoder_shape(point, of, &shape, NULL) == 0) {
        struct estimate_cache cache = {.layers = shape.layers,
                                       .kv_heads = shape.kv_heads,
                                       .head_dim = shape.head_dim,
                                       .context = point->value[DIMENSION_context].value +
                                                  point->value[DIMENSION_generated].value,
                                       .sequences = point->value[DIMENSION_batch].value *
                                                    point->value[DIMENSION_sequences].value,
                                       .window = of->kv_window,
                                       .paged = of->kv_layout == KV_PAGED,
                                       .bits = bits};
        if (estimate_weights(model_config_parameters(&shape), bits, &bytes, NULL) == 0)
            *weights = reading_of(bytes);
        if (estimate_cache(&cache, &bytes, NULL) == 0)
            *kv = reading_of(bytes);
    }
}

/* Keys that `tokens` tokens see together, each itself and those before it, at most `window`. */
static double keys_seen(double tokens, uint64_t window)
{
    double most = window == 0 || tokens < (double)window ? tokens : (double)window;
    return most * (most + 1) / 2 + (tokens - most) * most;
}

double decoder_operations(const struct point *point, const void *options)
{
    const struct decoder_options *of = options;
    struct model_config shape;
    double rows = (double)point->value[DIMENSION_batch].value *
                  (double)point->value[DIMENSION_sequences].value;
    double generated = (double)point->value[DIMENSION_generated].value;
    double tokens = (double)point->value[DIMENSION_context].value + generated, sum = 0;
    if (decoder_shape(point, of, &shape, NULL) == 0) {
        double head = (double)shape.vocabulary * (double)shape.width;
        double ends = shape.tied_embeddings ? head : 2 * head, keys = 0;
        for (uint64_t l = 0; l < shape.layers; l++) {
            uint64_t window = model_config_window(&shape, l), kept = of->kv_window;
            keys += keys_seen(tokens, window && (!kept || window < kept) ? window : kept);
        }
        sum = 2 * tokens * ((double)model_config_parameters(&shape) - ends) +
              2 * (generated + 1) * head +
              4 * keys * (double)shape.heads * (double)shape.head_dim;
    }
    return rows * sum;
}
