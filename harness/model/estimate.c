#include "harness/model/estimate.h"

#include "harness/base/units.h"

/* count x bits / 8, rounded up; exact even where count x bits alone would not fit. */
static int whole_bytes(uint64_t count, uint64_t bits, uint64_t *bytes)
{
    uint64_t rest, eighths;
    if (multiply_checked(count % 8, bits, &rest) != 0 ||
        multiply_checked(count / 8, bits, &eighths) != 0)
        return -1;
    return add_checked(eighths, rest / 8 + (rest % 8 != 0), bytes);
}

int estimate_weights(uint64_t parameters, uint64_t bits, uint64_t *bytes, struct text *why)
{
    if (whole_bytes(parameters, bits, bytes) == 0)
        return 0;
    return text_fail(why, "the weights are more bytes than 64 bits can count");
}

int estimate_kept(const struct estimate_cache *cache, uint64_t *tokens, struct text *why)
{
    uint64_t kept = cache->context, pages;
    if (cache->window && cache->window < kept)
        kept = cache->window;
    pages = kept / PAGE_TOKENS + (kept % PAGE_TOKENS != 0);
    if (!cache->paged) {
        *tokens = kept;
        return 0;
    }
    if (multiply_checked(pages, PAGE_TOKENS, tokens) == 0)
        return 0;
    return text_fail(why, "the KV cache is more tokens than 64 bits can count");
}

int estimate_cache(const struct estimate_cache *cache, uint64_t *bytes, struct text *why)
{
    uint64_t kept, numbers = 2; /* key and value */
    if (estimate_kept(cache, &kept, why) != 0)
        return -1;
    const uint64_t factors[] = {cache->layers, cache->kv_heads, cache->head_dim, kept,
                                cache->sequences};
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        if (multiply_checked(numbers, factors[i], &numbers) != 0)
            goto overflow;
    if (whole_bytes(numbers, cache->bits, bytes) == 0)
        return 0;
overflow:
    return text_fail(why, "the KV cache is more bytes than 64 bits can count");
}
