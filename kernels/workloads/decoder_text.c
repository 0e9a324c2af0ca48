#include "harness/base/file.h"
#include "harness/base/hash.h"
#include "harness/base/json.h"
#include "kernels/random.h"
#include "kernels/workloads/decoder_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { TENSOR_prompt = 9 }; /* of the generator */
#define FILE_LIMIT ((size_t)1 << 30)

/* --- prompts ------------------------------------------------------------------------------ */

/* A token depends on (seed, request, row, position) and the vocabulary. */
static void make_prompt(const struct decoder *decoder, uint64_t sequence, uint32_t *tokens)
{
    uint64_t seed = session_setting(decoder->session)->seed;
    for (uint64_t row = 0; row < decoder->batch; row++)
        for (uint64_t t = 0; t < decoder->context; t++) {
            uint32_t word[4];
            uint32_t counter[4] = {0, (uint32_t)t, (uint32_t)row,
                                   (uint32_t)TENSOR_prompt << 24 | (uint32_t)sequence};
            random_words(seed, counter, word);
            tokens[row * decoder->context + t] =
                (uint32_t)((uint64_t)word[0] * decoder->shape.vocabulary >> 32);
        }
}

static int take_row(const struct decoder *decoder, const struct json *row, uint64_t number,
                    uint32_t *tokens, struct text *why)
{
    if (!row || !json_is_array(row) || json_length(row) != decoder->context)
        return text_fail(why, "row %" PRIu64 " is not a list of %" PRIu64 " tokens (context)",
                         number, decoder->context);
    for (uint64_t t = 0; t < decoder->context; t++) {
        uint64_t token;
        if (json_count(json_at(row, t), &token) != 0 || token >= decoder->shape.vocabulary)
            return text_fail(why, "row %" PRIu64 ", token %" PRIu64 ": not a number below %"
                             PRIu64, number, t, decoder->shape.vocabulary);
        tokens[t] = (uint32_t)token;
    }
    return 0;
}

static int take_rows(const struct decoder *decoder, const struct json *root, uint32_t *tokens,
                     struct text *why)
{
    const struct json *prompt = json_is_object(root) ? json_get(root, "prompt") : NULL;
    if (!prompt || !json_is_array(prompt) || json_length(prompt) != decoder->rows)
        return text_fail(why, "no \"prompt\" of %" PRIu64 " rows (batch * sequences)",
                         decoder->rows);
    for (uint64_t row = 0; row < decoder->rows; row++)
        if (take_row(decoder, json_at(prompt, row), row, tokens + row * decoder->context,
                     why) != 0)
            return -1;
    return 0;
}

static int read_prompts(const struct decoder *decoder, uint32_t *tokens, struct text *why)
{
    struct text bytes = TEXT_INIT;
    struct json *root = NULL;
    int result = file_read(decoder->options->prompt, FILE_LIMIT, &bytes, why);
    if (result == 0) {
        struct text reason = TEXT_INIT;
        result = json_parse(text_string(&bytes), bytes.length, &root, &reason);
        if (result == 0)
            result = take_rows(decoder, root, tokens, &reason);
        if (result != 0)
            text_addf(why, "%s: %s", decoder->options->prompt, text_string(&reason));
        text_release(&reason);
    }
    json_release(root);
    text_release(&bytes);
    return result;
}

void decoder_prompts(struct decoder *decoder)
{
    struct session *session = decoder->session;
    uint64_t count = decoder->batch * decoder->context;
    bool given = decoder->options->prompt && decoder->options->prompt[0];
    uint32_t *tokens = NULL;
    struct text why = TEXT_INIT;
    if (given)
        tokens = xmalloc(count * decoder->sequences * sizeof(uint32_t));
    else if (session_math(session))
        tokens = xmalloc(count * sizeof(uint32_t));
    if (given && read_prompts(decoder, tokens, &why) != 0)
        session_fail(session, STATUS_error, "%s", text_string(&why));
    decoder->prompts = xcalloc(decoder->sequences, sizeof(struct tensor *));
    for (uint64_t s = 0; s < decoder->sequences; s++) {
        const uint32_t *own = given ? tokens + s * count : tokens;
        decoder->prompts[s] =
            session_tensor(session, "prompt", TAG_inputs, DTYPE_float32,
                           (struct shape){{decoder->batch, decoder->context}});
        if (!given && session_math(session))
            make_prompt(decoder, s, tokens);
        decoder_upload(decoder, decoder->prompts[s]->array.address, own,
                       count * sizeof(uint32_t));
    }
    free(tokens);
    text_release(&why);
}

/* --- what came out ------------------------------------------------------------------------ */

/* The tokens of all rows, [generated + 1][rows]; NULL where nothing is computed. */
static uint32_t *read_history(struct decoder *decoder)
{
    uint64_t bytes = (decoder->generated + 1) * decoder->rows * sizeof(uint32_t);
    if (!session_math(decoder->session))
        return NULL;
    uint32_t *tokens = xcalloc(1, bytes);
    decoder_download(decoder, tokens, decoder->history->array.address, bytes);
    return tokens;
}

double decoder_digest(struct decoder *decoder)
{
    uint32_t *tokens = read_history(decoder), digest = HASH32_START;
    if (tokens)
        digest = hash32_add(digest, tokens,
                            (decoder->generated + 1) * decoder->rows * sizeof *tokens);
    free(tokens);
    return digest;
}

static void add_logits(const struct decoder *decoder, uint64_t row, struct text *out)
{
    const float *logits = decoder->first_logits + row * decoder->shape.vocabulary;
    for (uint64_t i = 0; i < decoder->shape.vocabulary; i++) {
        text_add(out, i ? ", " : "");
        if (isfinite(logits[i]))
            text_addf(out, "%.9g", (double)logits[i]);
        else
            text_add(out, "null"); /* JSON has no such number */
    }
}

static void add_tokens(const struct decoder *decoder, const uint32_t *tokens, uint64_t row,
                       struct text *out)
{
    for (uint64_t step = 0; step <= decoder->generated; step++)
        text_addf(out, "%s%" PRIu32, step ? ", " : "", tokens[step * decoder->rows + row]);
}

void decoder_answer(struct decoder *decoder)
{
    uint32_t *tokens = decoder->first_logits ? read_history(decoder) : NULL;
    struct text text = TEXT_INIT, why = TEXT_INIT;
    if (!tokens)
        return;
    text_add(&text, "{\"last_logits\": [");
    for (uint64_t row = 0; row < decoder->rows; row++) {
        text_add(&text, row ? "],\n[" : "[");
        add_logits(decoder, row, &text);
    }
    text_add(&text, "]],\n\"greedy\": [");
    for (uint64_t row = 0; row < decoder->rows; row++) {
        text_add(&text, row ? "],\n[" : "[");
        add_tokens(decoder, tokens, row, &text);
    }
    text_add(&text, "]]}\n");
    if (file_create(decoder->options->answer, text.data, text.length, &why) != 0)
        session_fail(decoder->session, STATUS_error, "%s", text_string(&why));
    text_release(&text);
    text_release(&why);
    free(tokens);
}
