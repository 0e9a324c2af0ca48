/* decoder: inference with a KV cache, phase by phase.
 *
 * Requests are prefilled one by one; a decode step advances all of them together. Every decode
 * phase follows a prefill and reads its first token from it: `generated` steps make `generated`
 * tokens more. A step makes no allocator call (except in the growing layout), so that it is
 * recorded once in `warmup` and played from then on. */
#include "kernels/workloads/decoder.h"
#include "kernels/workloads/decoder_files.h"
#include "kernels/workloads/decoder_text.h"

#include <stdlib.h>
#include <string.h>

/* --- helpers of all parts ----------------------------------------------------------------- */

struct tensor *decoder_words(struct decoder *decoder, const char *name, enum tag tag,
                             uint64_t count)
{
    return session_tensor(decoder->session, name, tag, DTYPE_float32, (struct shape){{count}});
}

void decoder_release(struct decoder *decoder, struct tensor *tensor)
{
    if (tensor)
        session_release(decoder->session, tensor);
}

void decoder_stand_at(struct decoder *decoder, uint64_t position, bool empty)
{
    const struct decoder_state state = {.position = (uint32_t)position};
    uint64_t words[sizeof(state) / sizeof(uint64_t)]; /* the first: position and step */
    memcpy(words, &state, sizeof(words));
    DECODER_DO(decoder, store, decoder->state->array.address, words, empty ? 2 : 1);
}

void decoder_upload(struct decoder *decoder, uint64_t to, const void *from, uint64_t bytes)
{
    struct math *math = session_math(decoder->session);
    if (math)
        session_check(decoder->session,
                      math->device->ops->from_host(math->device, to, from, bytes));
}

void decoder_download(struct decoder *decoder, void *to, uint64_t from, uint64_t bytes)
{
    struct math *math = session_math(decoder->session);
    if (math)
        session_check(decoder->session,
                      math->device->ops->to_host(math->device, to, from, bytes));
}

/* --- phases ------------------------------------------------------------------------------- */

static void load_model(struct decoder *decoder)
{
    session_begin(decoder->session, "model_load", NULL, 0);
    decoder_load(decoder);
    session_end(decoder->session, 0);
}

static void make_inputs(struct decoder *decoder)
{
    uint64_t half = decoder->shape.head_dim / 2;
    float frequencies[HEAD_DIM_LIMIT / 2];
    session_begin(decoder->session, "inputs", NULL, 0);
    decoder_prompts(decoder);
    decoder->history =
        decoder_words(decoder, "history", TAG_inputs, (decoder->generated + 1) * decoder->rows);
    decoder->state =
        decoder_words(decoder, "state", TAG_other, sizeof(struct decoder_state) / 4);
    decoder->frequencies = decoder_words(decoder, "frequencies", TAG_other, half);
    model_config_frequencies(&decoder->shape, frequencies);
    decoder_upload(decoder, decoder->frequencies->array.address, frequencies,
                   half * sizeof(float));
    decoder_kv_open(decoder);
    if (session_works(decoder->session)) {
        const struct tensor *prompt = decoder->prompts[0];
        session_processed(decoder->session, prompt->shape.size[0], prompt->shape.size[1]);
        session_generated(decoder->session, decoder->history->count / decoder->rows - 1);
    }
    session_end(decoder->session, 0);
}

static void keep_logits(struct decoder *decoder, const struct tensor *logits, uint64_t sequence)
{
    if (decoder->first_logits)
        decoder_download(decoder, decoder->first_logits + sequence * logits->count,
                         logits->array.address, logits->count * sizeof(float));
}

/* All prompts in turn; the logits of the last are left to look at. */
static struct tensor *prefill(struct decoder *decoder, bool first)
{
    struct tensor *logits = NULL;
    decoder_kv_restart(decoder);
    for (uint64_t s = 0; s < decoder->sequences && session_works(decoder->session); s++) {
        decoder_release(decoder, logits);
        logits = decoder_prefill(decoder, s);
        if (first)
            keep_logits(decoder, logits, s);
    }
    return logits;
}

/* The largest logit of the last request's first row. */
static double largest(struct decoder *decoder, const struct tensor *logits)
{
    uint64_t count = decoder->shape.vocabulary;
    if (!session_math(decoder->session))
        return 0;
    float *values = xcalloc(count, sizeof(float));
    decoder_download(decoder, values, logits->array.address, count * sizeof(float));
    float most = values[0];
    for (uint64_t i = 1; i < count; i++)
        most = values[i] > most ? values[i] : most;
    free(values);
    return (double)most;
}

static void prefill_phase(struct decoder *decoder, const char *phase, const char *pass,
                          uint64_t repeat)
{
    struct session *session = decoder->session;
    struct phase_result result = {.tokens = decoder->rows * decoder->context,
                                  .name = "largest_logit"};
    session_begin(session, phase, pass, repeat);
    struct tensor *logits = prefill(decoder, repeat == 0);
    session_stop(session);
    if (session_works(session))
        result.value = largest(decoder, logits);
    session_report(session, &result);
    decoder_release(decoder, logits);
}

static void play(struct decoder *decoder)
{
    struct math *math = session_math(decoder->session);
    if (math)
        session_check(decoder->session,
                      math->ops->decoder->play(math, decoder->step.recording));
}

static void generate(struct decoder *decoder)
{
    decoder_stand_at(decoder, decoder->context, false);
    for (uint64_t i = 0; i < decoder->generated && session_works(decoder->session); i++)
        if (decoder->step.recording)
            play(decoder);
        else
            decoder_step(decoder);
}

static void decode_phase(struct decoder *decoder, const char *phase, const char *pass,
                         uint64_t repeat)
{
    struct session *session = decoder->session;
    struct phase_result result = {.tokens = decoder->rows * decoder->generated,
                                  .name = "tokens_digest"};
    session_begin(session, phase, pass, repeat);
    if (repeat == 0)
        decoder_step_open(decoder);
    generate(decoder);
    session_stop(session);
    if (session_works(session))
        result.value = decoder_digest(decoder);
    if (repeat == 0 && session_works(session))
        decoder_answer(decoder);
    session_report(session, &result);
}

static void record(struct decoder *decoder)
{
    struct math *math = session_math(decoder->session);
    if (!math || !math->ops->decoder->record_begin || decoder->options->kv_layout == KV_GROW)
        return;
    session_check(decoder->session, math->ops->decoder->record_begin(math));
    decoder_step(decoder);
    if (session_works(decoder->session))
        session_check(decoder->session,
                      math->ops->decoder->record_end(math, &decoder->step.recording));
}

static void warm_up(struct decoder *decoder)
{
    struct session *session = decoder->session;
    uint64_t times = session_setting(session)->warmup;
    session_begin(session, "warmup", NULL, 0);
    record(decoder);
    for (uint64_t i = 0; i < times && session_works(session); i++) {
        decoder_release(decoder, prefill(decoder, false));
        generate(decoder);
    }
    session_end(session, times * decoder->rows * (decoder->context + decoder->generated));
}

static void release(struct decoder *decoder)
{
    struct math *math = session_math(decoder->session);
    if (decoder->step.recording && math)
        math->ops->decoder->recording_release(math, decoder->step.recording);
    decoder_step_close(decoder);
    decoder_kv_close(decoder);
    decoder_release(decoder, decoder->frequencies);
    decoder_release(decoder, decoder->state);
    decoder_release(decoder, decoder->history);
    for (uint64_t s = decoder->sequences; s-- > 0;)
        decoder_release(decoder, decoder->prompts[s]);
    decoder_unload(decoder);
    free(decoder->prompts);
    free(decoder->first_logits);
}

/* The network, and what only point, options and dtype together decide. */
static int decoder_ready(struct decoder *decoder, struct text *why)
{
    const struct setting *setting = session_setting(decoder->session);
    const char *format = decoder_format(decoder->options);
    if (format && strcmp(format, dtype_names[decoder->dtype]) != 0)
        return text_fail(why, "weight_format %s with dtype %s: not yet", format,
                         dtype_names[decoder->dtype]);
    if (setting->phases == PHASES_WHOLE && decoder->options->answer &&
        decoder->options->answer[0]) {
        text_add(why,
                 "answer: with phases = split only, a whole run looks at no result within");
        return -1;
    }
    return decoder_shape(&setting->point, decoder->options, &decoder->shape, why);
}

static void run(struct session *session)
{
    struct text why = TEXT_INIT;
    const struct setting *setting = session_setting(session);
    struct decoder decoder = {.session = session,
                              .options = setting->options,
                              .dtype = (enum dtype)setting->dtype,
                              .batch = session_dimension(session, DIMENSION_batch),
                              .context = session_dimension(session, DIMENSION_context),
                              .sequences = session_dimension(session, DIMENSION_sequences),
                              .generated = session_dimension(session, DIMENSION_generated)};
    decoder.rows = decoder.batch * decoder.sequences;
    if (decoder_ready(&decoder, &why) != 0) {
        session_fail(session, STATUS_error, "%s", text_string(&why));
        text_release(&why);
        return;
    }
    session_context(session);
    session_libraries(session);
    if (session_math(session) && decoder.options->answer && decoder.options->answer[0])
        decoder.first_logits = xcalloc(decoder.rows * decoder.shape.vocabulary, sizeof(float));
    load_model(&decoder);
    make_inputs(&decoder);
    prefill_phase(&decoder, "cold_prefill", "first", 0);
    decode_phase(&decoder, "cold_decode", "first", 0);
    warm_up(&decoder);
    for (uint64_t i = 1; i <= setting->repeats; i++) {
        prefill_phase(&decoder, "warm_prefill", "warm", i);
        decode_phase(&decoder, "warm_decode", "warm", i);
    }
    release(&decoder);
}

static const char *const phases[] = {
    "context",     "libraries", "model_load",   "inputs",      "cold_prefill",
    "cold_decode", "warmup",    "warm_prefill", "warm_decode", NULL};

const struct workload workload_decoder = {
    .name = "decoder",
    .summary = "inference of a Llama-like network with a KV cache",
    .dimensions = 1u << DIMENSION_batch | 1u << DIMENSION_context | 1u << DIMENSION_width |
                  1u << DIMENSION_sequences | 1u << DIMENSION_generated |
                  1u << DIMENSION_layers,
    .phases = phases,
    .options = decoder_options,
    .options_size = sizeof(struct decoder_options),
    .check_options = decoder_check_options,
    .check = decoder_check,
    .look = decoder_look,
    .fingerprint = model_fingerprint,
    .fixed = decoder_fixed,
    .run = run,
    .estimate = decoder_estimate,
    .operations = decoder_operations,
};
