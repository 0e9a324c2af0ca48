/* dense: the instrument check. y = w2 * gelu(w1 * x + b1) + b2 on every resident input in turn.
 *
 * Bias and GELU work in place, so that the most that lives at once is weights, inputs, one
 * hidden activation of 4 * width features and one output. */
#include "harness/base/units.h"
#include "harness/workload/session.h"

#include <inttypes.h>
#include <stdlib.h>

enum { EXPANSION = 4 };
/* Numbers of the tensors for the generator; they keep their meaning for ever. */
enum { TENSOR_x = 1, TENSOR_w1, TENSOR_b1, TENSOR_w2, TENSOR_b2 };
/* Deviation of weights and biases. A constant, not one over the root of width, so that smaller
 * weights are a slice of larger ones. */
#define WEIGHT_SCALE 0.02f

struct dense {
    struct session *session;
    enum dtype dtype;
    uint64_t batch, context, width, hidden, sequences;
    struct tensor *w1, *b1, *w2, *b2;
    struct tensor **inputs; /* one per sequence */
};

static struct tensor *filled(struct dense *dense, const char *name, enum tag tag,
                             struct shape shape, struct fill fill)
{
    struct session *session = dense->session;
    struct tensor *tensor = session_tensor(session, name, tag, dense->dtype, shape);
    struct math *math = session_math(session);
    fill.seed = session_setting(session)->seed;
    if (math)
        session_check(session, math->ops->fill_normal(math, tensor->array, &fill));
    return tensor;
}

/* A matrix [rows, features]; with features 0 a vector [rows]. */
static struct tensor *weight(struct dense *dense, const char *name, uint32_t number,
                             uint64_t rows, uint64_t features)
{
    struct fill fill = {.tensor = number,
                        .rows = features ? rows : 1,
                        .positions = 1,
                        .features = features ? features : rows,
                        .scale = WEIGHT_SCALE};
    return filled(dense, name, TAG_weights, (struct shape){{rows, features}}, fill);
}

static void load_model(struct dense *dense)
{
    session_begin(dense->session, "model_load", NULL, 0);
    dense->w1 = weight(dense, "w1", TENSOR_w1, dense->hidden, dense->width);
    dense->b1 = weight(dense, "b1", TENSOR_b1, dense->hidden, 0);
    dense->w2 = weight(dense, "w2", TENSOR_w2, dense->width, dense->hidden);
    dense->b2 = weight(dense, "b2", TENSOR_b2, dense->width, 0);
    session_end(dense->session, 0);
}

static void make_inputs(struct dense *dense)
{
    struct shape shape = {{dense->batch, dense->context, dense->width}};
    struct fill fill = {.tensor = TENSOR_x,
                        .rows = dense->batch,
                        .positions = dense->context,
                        .features = dense->width,
                        .scale = 1.0f};
    session_begin(dense->session, "inputs", NULL, 0);
    for (fill.sequence = 0; fill.sequence < dense->sequences; fill.sequence++)
        dense->inputs[fill.sequence] = filled(dense, "x", TAG_inputs, shape, fill);
    const struct tensor *x = dense->inputs[0];
    if (session_works(dense->session))
        session_processed(dense->session, x->shape.size[0], x->shape.size[1]);
    session_end(dense->session, 0);
}

static struct tensor *layer(struct dense *dense, const char *name, const struct tensor *x,
                            const struct tensor *w, const struct tensor *bias)
{
    struct session *session = dense->session;
    uint64_t rows = dense->batch * dense->context;
    struct tensor *y =
        session_tensor(session, name, TAG_activations, dense->dtype,
                       (struct shape){{dense->batch, dense->context, w->shape.size[0]}});
    struct math *math = session_math(session);
    struct product product = {.y = y->array,
                              .x = x->array,
                              .w = w->array,
                              .rows = rows,
                              .in = w->shape.size[1],
                              .out = w->shape.size[0]};
    if (bias)
        product.bias = bias->array;
    if (math)
        session_check(session, math->ops->multiply(math, &product));
    return y;
}

/* The output of one input; the caller releases it. */
static struct tensor *forward(struct dense *dense, const struct tensor *x)
{
    struct session *session = dense->session;
    struct tensor *hidden = layer(dense, "hidden", x, dense->w1, NULL);
    struct math *math = session_math(session);
    if (math)
        session_check(session,
                      math->ops->bias_gelu(math, hidden->array, dense->b1->array,
                                           dense->batch * dense->context, dense->hidden));
    struct tensor *y = layer(dense, "y", hidden, dense->w2, dense->b2);
    session_release(session, hidden);
    return y;
}

/* All inputs in turn; the output of the last one is left to look at. */
static struct tensor *pass(struct dense *dense)
{
    struct tensor *y = NULL;
    for (uint64_t i = 0; i < dense->sequences; i++) {
        if (y)
            session_release(dense->session, y);
        y = forward(dense, dense->inputs[i]);
    }
    return y;
}

static void forward_phase(struct dense *dense, const char *phase, const char *kind,
                          uint64_t repeat)
{
    struct session *session = dense->session;
    struct phase_result result = {.tokens = dense->batch * dense->context * dense->sequences,
                                  .name = "mean_square"};
    session_begin(session, phase, kind, repeat);
    struct tensor *y = pass(dense);
    session_stop(session);
    struct math *math = session_math(session);
    if (math)
        session_check(session, math->ops->mean_square(math, y->array, y->count, &result.value));
    session_report(session, &result);
    session_release(session, y);
}

static void warm_up(struct dense *dense)
{
    uint64_t times = session_setting(dense->session)->warmup;
    session_begin(dense->session, "warmup", NULL, 0);
    for (uint64_t i = 0; i < times && session_works(dense->session); i++)
        session_release(dense->session, pass(dense));
    session_end(dense->session, times * dense->batch * dense->context * dense->sequences);
}

static void release(struct dense *dense)
{
    struct session *session = dense->session;
    for (uint64_t i = dense->sequences; i-- > 0 && session_works(session);)
        session_release(session, dense->inputs[i]);
    struct tensor *const weights[] = {dense->b2, dense->w2, dense->b1, dense->w1};
    for (size_t i = 0; i < 4; i++)
        session_release(session, weights[i]);
    free(dense->inputs);
}

static void run(struct session *session)
{
    struct dense dense = {.session = session,
                          .dtype = (enum dtype)session_setting(session)->dtype,
                          .batch = session_dimension(session, DIMENSION_batch),
                          .context = session_dimension(session, DIMENSION_context),
                          .width = session_dimension(session, DIMENSION_width),
                          .sequences = session_dimension(session, DIMENSION_sequences)};
    dense.hidden = EXPANSION * dense.width;
    dense.inputs = xcalloc(dense.sequences, sizeof(struct tensor *));
    session_context(session);
    session_libraries(session);
    load_model(&dense);
    make_inputs(&dense);
    forward_phase(&dense, "cold_forward", "first", 0);
    warm_up(&dense);
    for (uint64_t i = 1; i <= session_setting(session)->repeats; i++)
        forward_phase(&dense, "warm_forward", "warm", i);
    release(&dense);
}

/* 8 * width^2 + 5 * width */
static int count_parameters(uint64_t width, uint64_t *count)
{
    uint64_t square, matrices;
    if (multiply_checked(width, width, &square) != 0 ||
        multiply_checked(2 * EXPANSION, square, &matrices) != 0)
        return -1;
    return add_checked(matrices, (EXPANSION + 1) * width, count);
}

/* Everything that is ever multiplied below fits 64 bits, and each coordinate the generator. */
static int check(const struct point *point, const void *options, struct text *why)
{
    static const struct {
        enum dimension dimension;
        uint64_t most;
    } bounds[] = {{DIMENSION_batch, UINT32_MAX},
                  {DIMENSION_context, UINT32_MAX},
                  {DIMENSION_width, 1u << 28},
                  {DIMENSION_sequences, (1u << 24) - 1}};
    uint64_t bytes = EXPANSION * sizeof(float);
    (void)options;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        enum dimension dimension = bounds[i].dimension;
        struct reading value = point->value[dimension];
        const char *name = dimension_facts[dimension].name;
        if (!value.known || value.value == 0 || value.value > bounds[i].most)
            return text_fail(why, "dense: %s must be 1 to %" PRIu64, name, bounds[i].most);
        if (multiply_checked(bytes, value.value, &bytes) != 0)
            return text_fail(why, "dense: the inputs are more bytes than 64 bits can count");
    }
    return 0;
}

static void estimate(const struct point *point, int dtype, const void *options,
                     struct reading *weights, struct reading *kv)
{
    uint64_t count;
    (void)options;
    *kv = reading_missing(); /* it has no such cache */
    *weights = count_parameters(point->value[DIMENSION_width].value, &count) == 0
                   ? reading_of(count * dtype_bytes((enum dtype)dtype))
                   : reading_missing();
}

static double operations(const struct point *point, const void *options)
{
    double width = (double)point->value[DIMENSION_width].value;
    double tokens = (double)point->value[DIMENSION_batch].value *
                    (double)point->value[DIMENSION_context].value *
                    (double)point->value[DIMENSION_sequences].value;
    (void)options;
    return tokens * 2 * 2 * width * EXPANSION * width;
}

static const char *const phases[] = {"context",      "libraries", "model_load",   "inputs",
                                     "cold_forward", "warmup",    "warm_forward", NULL};

const struct workload workload_dense = {
    .name = "dense",
    .summary = "two dense layers with bias and GELU: the instrument check",
    .caution = "dense proves nothing about a language model on this card: its context is only "
               "a tensor's length",
    .dimensions = 1u << DIMENSION_batch | 1u << DIMENSION_context | 1u << DIMENSION_width |
                  1u << DIMENSION_sequences,
    .phases = phases,
    .check = check,
    .run = run,
    .estimate = estimate,
    .operations = operations,
};
