#include "harness/command/command.h"

#include "harness/base/json.h"
#include "harness/base/log.h"
#include "harness/base/units.h"
#include "harness/model/estimate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct numbers {
    struct output_option to;
    uint64_t parameters, bits, heads;
    struct estimate_cache cache;
    double reserve_gib;
    int kv_layout;
    char *model;
};

#define NUMBER(field) OPTION_COUNT, .offset = offsetof(struct numbers, field), .minimum = 1
enum { KV_STATIC, KV_GROW, KV_PAGED };
static const char *const kv_layouts[] = {"static", "grow", "paged", NULL};
static const struct option estimate_options[] = {
    {"parameters", NUMBER(parameters), .help = "weights: how many numbers"},
    {"bits", NUMBER(bits), .maximum = 64, .help = "weights: bits of each"},
    {"reserve_gib", OPTION_REAL, .offset = offsetof(struct numbers, reserve_gib),
     .fallback = "0", .help = "GiB assumed for all that is not counted; a hypothesis"},
    {"layers", NUMBER(cache.layers), .help = "KV cache: layers that have one"},
    {"heads", NUMBER(heads), .help = "query heads; stands in for kv-heads"},
    {"kv_heads", NUMBER(cache.kv_heads),
     .help = "KV cache: key/value heads (num_key_value_heads); absent: heads"},
    {"head_dim", NUMBER(cache.head_dim), .help = "KV cache: numbers per head"},
    {"context", NUMBER(cache.context), .help = "KV cache: tokens per sequence"},
    {"sequences", NUMBER(cache.sequences), .fallback = "1",
     .help = "KV cache: sequences resident at once"},
    {"kv_bits", NUMBER(cache.bits), .maximum = 64, .fallback = "16",
     .help = "KV cache: bits of each number"},
    {"window", OPTION_COUNT, .offset = offsetof(struct numbers, cache.window), .fallback = "0",
     .help = "KV cache: most tokens kept per sequence; 0: all"},
    {"kv_layout", OPTION_CHOICE, .offset = offsetof(struct numbers, kv_layout),
     .choices = kv_layouts, .fallback = "static",
     .help = "KV cache: how it is laid out; paged: whole pages of 16 tokens"},
    {"model", OPTION_TEXT, .offset = offsetof(struct numbers, model), .fallback = "",
     .help = "a model's own files", .not_yet = "give numbers"},
    {.name = NULL},
};

struct figure {
    const char *name;
    uint64_t bytes;
    const char *evidence; /* computed, read or assumed */
    struct text from;     /* the numbers behind it */
    const char *without;  /* what it leaves out */
};
struct estimate {
    struct figure figures[4]; /* weights, KV cache, reserve, their sum */
    size_t count;
};

static struct figure *add_figure(struct estimate *estimate, const char *name, uint64_t bytes,
                                 const char *evidence, const char *without)
{
    struct figure *figure = &estimate->figures[estimate->count++];
    *figure =
        (struct figure){.name = name, .bytes = bytes, .evidence = evidence, .without = without};
    return figure;
}

/* The options of one figure are given together or not at all. 1: all given, 0: none, -1: some
 * are missing. */
static int all_given(const struct command_call *call, const char *const *names,
                     struct text *why)
{
    const char *missing = NULL, *present = NULL;
    for (; *names; names++) {
        if (command_given(call, *names))
            present = *names;
        else if (!missing)
            missing = *names;
    }
    if (missing && present) {
        command_add_flag(why, present);
        text_add(why, " also needs ");
        command_add_flag(why, missing);
    }
    return missing && present ? -1 : present != NULL;
}

/* "32 layers", "1 layer" */
static void add_factor(struct text *out, const char *before, uint64_t count, const char *what)
{
    text_addf(out, "%s%" PRIu64 " %s%s", before, count, what, count == 1 ? "" : "s");
}

static int weights(const struct command_call *call, struct estimate *estimate, struct text *why)
{
    static const char *const names[] = {"parameters", "bits", NULL};
    const struct numbers *numbers = call->options;
    uint64_t bytes;
    int given = all_given(call, names, why);
    if (given <= 0)
        return given;
    if (estimate_weights(numbers->parameters, numbers->bits, &bytes, why) != 0)
        return -1;
    struct figure *figure =
        add_figure(estimate, "weights", bytes, "computed",
                   "scales and zero points of quantised formats, buffers, activations, "
                   "gradients, optimizer state, the allocator's rounding");
    add_factor(&figure->from, "", numbers->parameters, "parameter");
    add_factor(&figure->from, " x ", numbers->bits, "bit");
    return 0;
}

/* Without KV heads the model has one per query head; with them, heads must be their multiple.
 */
static int settle_heads(const struct command_call *call, struct numbers *numbers,
                        struct text *why)
{
    if (!command_given(call, "kv_heads"))
        numbers->cache.kv_heads = numbers->heads;
    else if (command_given(call, "heads") && numbers->heads % numbers->cache.kv_heads != 0) {
        return text_fail(why, "--heads %" PRIu64 " is not a multiple of --kv-heads %" PRIu64,
                         numbers->heads, numbers->cache.kv_heads);
    }
    return 0;
}

/* What the figure of a layout leaves out. */
static const char *without(const struct numbers *numbers)
{
    if (numbers->kv_layout == KV_GROW)
        return "the moment in which a tensor that grows is there twice (one layer's keys or "
               "values), scales of quantised caches, room for tokens yet to come, the "
               "allocator's rounding";
    return "scales of quantised caches, room for tokens yet to come, page tables, the "
           "allocator's rounding";
}

static const char *kept_because(const struct estimate_cache *cache, uint64_t kept)
{
    bool cut = cache->window && cache->window < cache->context;
    if (cache->paged && kept != (cut ? cache->window : cache->context))
        return cut ? " (the window, in whole pages of 16)" : " (in whole pages of 16)";
    return cut ? " (the window)" : "";
}

static int cache(const struct command_call *call, struct estimate *estimate, struct text *why)
{
    struct numbers *numbers = call->options;
    bool own = command_given(call, "kv_heads") || !command_given(call, "heads");
    const char *const names[] = {"layers", own ? "kv_heads" : "heads", "head_dim", "context",
                                 NULL};
    uint64_t bytes, kept;
    int given = all_given(call, names, why);
    if (given == 0 && (command_given(call, "sequences") || command_given(call, "kv_bits")))
        text_add(why, "--sequences and --kv-bits also need --layers, --kv-heads, --head-dim "
                      "and --context");
    if (given <= 0)
        return why->length ? -1 : 0;
    numbers->cache.paged = numbers->kv_layout == KV_PAGED;
    if (settle_heads(call, numbers, why) != 0 ||
        estimate_kept(&numbers->cache, &kept, why) != 0 ||
        estimate_cache(&numbers->cache, &bytes, why) != 0)
        return -1;
    struct figure *figure =
        add_figure(estimate, "kv_cache", bytes, "computed", without(numbers));
    const struct estimate_cache *of = &numbers->cache;
    struct text *from = &figure->from;
    add_factor(from, "2 (key, value) x ", of->layers, "layer");
    add_factor(from, " x ", of->kv_heads, "KV head");
    text_addf(from, "%s x %" PRIu64, own ? "" : " (kv-heads not given: as many as heads)",
              of->head_dim);
    add_factor(from, " x ", kept, "token");
    text_add(from, kept_because(of, kept));
    add_factor(from, " x ", of->sequences, "sequence");
    add_factor(from, " x ", of->bits, "bit");
    return 0;
}

static int reserve(const struct command_call *call, struct estimate *estimate, struct text *why)
{
    const struct numbers *numbers = call->options;
    double bytes = numbers->reserve_gib * 0x1p30;
    if (!command_given(call, "reserve_gib"))
        return 0;
    if (!(bytes < 0x1p63))
        return text_fail(why, "--reserve-gib is more bytes than 64 bits can count");
    struct figure *figure =
        add_figure(estimate, "reserve", (uint64_t)llround(bytes), "assumed",
                   "nothing that is known: a hypothesis for all that is not counted, which "
                   "only a measurement settles");
    text_addf(&figure->from, "--reserve-gib %s", command_given(call, "reserve_gib"));
    return 0;
}

static int sum(struct estimate *estimate, struct text *why)
{
    uint64_t bytes = 0;
    bool assumed = false;
    if (estimate->count < 2)
        return 0;
    for (size_t i = 0; i < estimate->count; i++) {
        assumed = assumed || estimate->figures[i].evidence[0] == 'a';
        if (add_checked(bytes, estimate->figures[i].bytes, &bytes) != 0)
            return text_fail(why, "the sum is more bytes than 64 bits can count");
    }
    struct figure *figure =
        add_figure(estimate, "total", bytes, assumed ? "assumed" : "computed",
                   assumed ? "what the reserve does not cover; a hypothesis, like the reserve"
                           : "activations, workspaces, context and libraries, the allocator's "
                             "rounding and cache");
    text_add(&figure->from, "the sum of the figures above");
    return 0;
}

static void print_text(const struct estimate *estimate, struct text *out)
{
    for (size_t i = 0; i < estimate->count; i++) {
        const struct figure *figure = &estimate->figures[i];
        text_addf(out, "%-9s ", figure->name);
        text_add_size(out, figure->bytes);
        text_addf(out, "\n          %s: %s\n          leaves out: %s\n", figure->evidence,
                  text_string(&figure->from), figure->without);
    }
}

static void print_json(const struct estimate *estimate, struct text *out)
{
    struct json *document = json_make_object(), *list = json_make_array();
    json_set_count(document, "schema", 1);
    for (size_t i = 0; i < estimate->count; i++) {
        const struct figure *figure = &estimate->figures[i];
        struct json *object = json_make_object();
        json_set_text(object, "name", figure->name);
        json_set_count(object, "bytes", figure->bytes);
        json_set_text(object, "evidence", figure->evidence);
        json_set_text(object, "from", text_string(&figure->from));
        json_set_text(object, "leaves_out", figure->without);
        json_append(list, object);
    }
    json_set(document, "figures", list);
    json_write(document, out);
    json_release(document);
}

static int run(struct command_call *call)
{
    const struct numbers *numbers = call->options;
    struct estimate estimate = {.count = 0};
    struct text why = TEXT_INIT;
    int outcome = weights(call, &estimate, &why);
    if (outcome == 0)
        outcome = cache(call, &estimate, &why);
    if (outcome == 0 && estimate.count == 0) {
        text_add(&why, "nothing to estimate: give --parameters and --bits, or --layers, "
                       "--kv-heads, --head-dim and --context");
        outcome = -1;
    }
    if (outcome == 0)
        outcome = reserve(call, &estimate, &why);
    if (outcome == 0)
        outcome = sum(&estimate, &why);
    if (outcome != 0)
        log_error("estimate: %s", text_string(&why));
    else if (numbers->to.json)
        print_json(&estimate, &call->out);
    else
        print_text(&estimate, &call->out);
    for (size_t i = 0; i < estimate.count; i++)
        text_release(&estimate.figures[i].from);
    text_release(&why);
    return outcome == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct option_part parts[] = {
    {.table = estimate_options, .offset = 0},
    {.title = "output", .table = output_options, .offset = offsetof(struct numbers, to)},
    {.table = NULL},
};
const struct command command_estimate = {
    .name = "estimate",
    .summary = "bytes of weights and KV cache, from numbers; no device needed",
    .about = "  highwater estimate --parameters 7000000000 --bits 16 --reserve-gib 4\n"
             "  highwater estimate --layers 32 --kv-heads 8 --head-dim 128 --context 8192\n\n"
             "Each figure says where it comes from and what it leaves out.",
    .options_size = sizeof(struct numbers),
    .parts = parts,
    .run = run,
};
