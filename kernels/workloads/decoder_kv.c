#include "kernels/workloads/decoder.h"

#include <stdlib.h>

static uint64_t block_index(const struct decoder *decoder, uint64_t layer, int value,
                            uint64_t sequence)
{
    if (decoder->options->kv_layout == KV_PAGED)
        return layer * 2 + (uint64_t)value;
    return (layer * 2 + (uint64_t)value) * decoder->sequences + sequence;
}

static uint64_t block_count(const struct decoder *decoder)
{
    return block_index(decoder, decoder->shape.layers, 0, 0);
}

static struct tensor *make_block(struct decoder *decoder, uint64_t rows, uint64_t slots)
{
    const struct model_config *shape = &decoder->shape;
    struct shape size = {{rows, shape->kv_heads, slots, shape->head_dim}};
    return session_tensor(decoder->session, "kv_cache", TAG_kv_cache, decoder->dtype, size);
}

/* All addresses to the device; in the paged layout every request has the pool's. */
static void store_addresses(struct decoder *decoder, uint64_t layer, uint64_t layers)
{
    uint64_t per_layer = 2 * decoder->sequences, count = layers * per_layer;
    if (!session_math(decoder->session))
        return;
    uint64_t *list = xmalloc(count * sizeof(uint64_t));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t block =
            block_index(decoder, layer + i / per_layer, i % per_layer >= decoder->sequences,
                        i % decoder->sequences);
        const struct tensor *tensor = decoder->kv.blocks[block];
        list[i] = tensor ? tensor->array.address : 0;
    }
    DECODER_DO(decoder, store,
               decoder->kv.addresses->array.address + layer * per_layer * sizeof(uint64_t),
               list, count);
    free(list);
}

void decoder_kv_open(struct decoder *decoder)
{
    struct decoder_kv *kv = &decoder->kv;
    uint64_t all = decoder->context + decoder->generated, window = decoder->options->kv_window;
    uint64_t layers = decoder->shape.layers;
    kv->slots = window && window < all ? window : all;
    kv->blocks = xcalloc(block_count(decoder), sizeof(struct tensor *));
    kv->held = xcalloc(layers * decoder->sequences, sizeof(uint64_t));
    kv->addresses =
        decoder_words(decoder, "kv_addresses", TAG_other, 2 * layers * 2 * decoder->sequences);
    if (decoder->options->kv_layout == KV_PAGED) {
        kv->pages_per_row = (kv->slots + PAGE_TOKENS - 1) / PAGE_TOKENS;
        kv->pages =
            decoder_words(decoder, "kv_pages", TAG_other, decoder->rows * kv->pages_per_row);
        for (uint64_t i = 0; i < 2 * layers && session_works(decoder->session); i++)
            kv->blocks[i] = make_block(decoder, decoder->rows * kv->pages_per_row, PAGE_TOKENS);
    } else if (decoder->options->kv_layout == KV_STATIC) {
        for (uint64_t i = 0; i < block_count(decoder) && session_works(decoder->session); i++)
            kv->blocks[i] = make_block(decoder, decoder->batch, kv->slots);
    }
    if (decoder->options->kv_layout != KV_GROW)
        store_addresses(decoder, 0, layers);
}

static void release_blocks(struct decoder *decoder)
{
    for (uint64_t i = block_count(decoder); i-- > 0;) {
        decoder_release(decoder, decoder->kv.blocks[i]);
        decoder->kv.blocks[i] = NULL;
    }
}

void decoder_kv_close(struct decoder *decoder)
{
    struct decoder_kv *kv = &decoder->kv;
    release_blocks(decoder);
    decoder_release(decoder, kv->pages);
    decoder_release(decoder, kv->addresses);
    free(kv->blocks);
    free(kv->held);
}

void decoder_kv_restart(struct decoder *decoder)
{
    if (decoder->options->kv_layout == KV_GROW) {
        release_blocks(decoder);
        for (uint64_t i = 0; i < decoder->shape.layers * decoder->sequences; i++)
            decoder->kv.held[i] = 0;
    }
    decoder_stand_at(decoder, 0, true);
}

/* --- growing ------------------------------------------------------------------------------ */

/* A block of `slots` with the contents of the one before it, which is given back. */
static void grow_block(struct decoder *decoder, struct tensor **block, uint64_t held,
                       uint64_t slots)
{
    struct tensor *larger = make_block(decoder, decoder->batch, slots), *old = *block;
    uint64_t vector = decoder->shape.head_dim * dtype_bytes(decoder->dtype);
    struct row_copy copy = {.to = larger->array.address,
                            .bytes = held * vector,
                            .to_stride = slots * vector,
                            .from_stride = held * vector,
                            .rows = decoder->batch * decoder->shape.kv_heads};
    if (old) {
        copy.from = old->array.address;
        DECODER_DO(decoder, copy_rows, &copy);
        decoder_release(decoder, old);
    }
    *block = larger;
}

static void grow_request(struct decoder *decoder, uint64_t layer, uint64_t sequence,
                         uint64_t tokens)
{
    struct decoder_kv *kv = &decoder->kv;
    uint64_t *held = &kv->held[layer * decoder->sequences + sequence];
    uint64_t slots = *held + tokens < kv->slots ? *held + tokens : kv->slots;
    if (slots == *held)
        return; /* the ring is closed */
    for (int value = 0; value < 2 && session_works(decoder->session); value++)
        grow_block(decoder, &kv->blocks[block_index(decoder, layer, value, sequence)], *held,
                   slots);
    *held = slots;
}

void decoder_kv_reserve(struct decoder *decoder, uint64_t layer, uint64_t sequence,
                        uint64_t tokens)
{
    if (decoder->options->kv_layout != KV_GROW)
        return;
    if (sequence < decoder->sequences)
        grow_request(decoder, layer, sequence, tokens);
    for (uint64_t s = 0; s < decoder->sequences && sequence >= decoder->sequences; s++)
        grow_request(decoder, layer, s, tokens);
    store_addresses(decoder, layer, 1);
}

/* All requests are equally far, except while their prompts come in one after the other: then
 * only the one that comes in is looked at, and it has as many slots as any before it. */
struct cache decoder_kv_view(const struct decoder *decoder, uint64_t layer)
{
    const struct decoder_kv *kv = &decoder->kv;
    uint64_t words = kv->addresses->array.address, each = decoder->sequences * sizeof(uint64_t);
    bool grows = decoder->options->kv_layout == KV_GROW;
    return (struct cache){.dtype = decoder->dtype,
                          .keys = words + layer * 2 * each,
                          .values = words + (layer * 2 + 1) * each,
                          .pages = kv->pages ? kv->pages->array.address : 0,
                          .pages_per_row = kv->pages_per_row,
                          .batch = decoder->batch,
                          .slots = grows ? kv->held[layer * decoder->sequences] : kv->slots,
                          .kv_heads = decoder->shape.kv_heads,
                          .head_dim = decoder->shape.head_dim};
}
