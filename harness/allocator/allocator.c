#include "harness/allocator/ops.h"
#include "harness/allocator/rounding.h"

#include <assert.h>
#include <stdlib.h>

#define ALLOCATORS(ROW) ROW(caching) ROW(expandable) ROW(async) ROW(direct)
#define OPS(name) &allocator_##name,
#define NAME(name) #name,
static const struct allocator_ops *const table[] = {ALLOCATORS(OPS) NULL};
const char *const allocator_names[] = {ALLOCATORS(NAME) NULL};
const char *const segment_action_names[] = {"segment_alloc", "segment_free", "segment_map",
                                            "segment_unmap", NULL};

#define AT(member) .offset = offsetof(struct allocator_setting, member)
#define MIB ((uint64_t)1 << 20)
const struct option allocator_options[] = {
    {"roundup_power2_divisions", OPTION_TEXT, AT(roundup_power2_divisions),
     .fallback = "0",
     .help = "N, or [MIB:N,...,>:N]: round requests up to N steps between powers of two"},
    {"max_split_size", OPTION_MAYBE_SIZE, AT(max_split_size), .fallback = "",
     .minimum = 20 * MIB, .help = "SIZE: larger free blocks are never split; at least 20MiB"},
    {"max_non_split_rounding", OPTION_MAYBE_SIZE, AT(max_non_split_rounding),
     .fallback = "", .minimum = 20 * MIB,
     .help = "SIZE: an unsplit block may be this much larger than asked; at least 20MiB"},
    {"garbage_collection_threshold", OPTION_REAL, AT(garbage_collection_threshold),
     .fallback = "0",
     .help = "F below 1: share of the limit above which old cached segments are given back"},
    {.name = NULL},
};

int allocator_check_setting(const struct allocator_setting *setting, const char **key,
                            struct text *why)
{
    const struct reading sizes[] = {setting->max_split_size, setting->max_non_split_rounding};
    const char *const names[] = {"max_split_size", "max_non_split_rounding"};
    for (size_t i = 0; i < 2; i++) {
        if (sizes[i].known && sizes[i].value < 20 * MIB) {
            *key = names[i];
            return text_fail(why, "%llu is less than 20 MiB",
                             (unsigned long long)sizes[i].value);
        }
    }
    const double threshold = setting->garbage_collection_threshold;
    if (!(threshold >= 0 && threshold < 1)) {
        *key = "garbage_collection_threshold";
        return text_fail(why, "%g is not below 1", threshold);
    }
    struct rounding ignored;
    if (rounding_parse(setting->roundup_power2_divisions, &ignored, why) == 0)
        return 0;
    *key = "roundup_power2_divisions";
    return -1;
}

static int check_setting(const struct allocator_setting *setting, struct text *why)
{
    struct text reason = TEXT_INIT;
    const char *key = NULL;
    const int result = allocator_check_setting(setting, &key, &reason);
    if (result)
        text_addf(why, "%s: %s", key, text_string(&reason));
    text_release(&reason);
    return result;
}

int allocator_open(struct allocator **allocator, const char *name, struct device *device,
                   const struct allocator_setting *setting, struct text *why)
{
    const struct allocator_ops *ops = NULL;
    for (size_t i = 0; table[i]; i++) {
        if (strcmp(allocator_names[i], name) == 0)
            ops = table[i];
    }
    if (!ops)
        return text_fail(why, "no allocator \"%s\"", name);
    if (check_setting(setting, why))
        return -1;
    struct allocator *made = xcalloc(1, ops->size);
    made->ops = ops;
    made->device = device;
#ifdef HIGHWATER_CHECK_ALLOCATOR
    made->check = true;
#else
    made->check = setting->check;
#endif
    made->statistics.reserved_known = ops->reserved_known;
    made->statistics.reserved_is_upper_bound = ops->reserved_is_upper_bound;
    if (ops->open(made, setting, why)) {
        free(made);
        return -1;
    }
    *allocator = made;
    return 0;
}

enum outcome allocator_alloc(struct allocator *allocator, uint64_t bytes, uint64_t stream,
                             struct block *block, struct refusal *refusal)
{
    if (bytes == 0) {
        *block = (struct block){0};
        return OUTCOME_OK;
    }
    if (bytes >= (uint64_t)1 << 60) {
        refusal_by_device(refusal, allocator->device, OUTCOME_OOM, bytes);
        return OUTCOME_OOM;
    }
    struct piece *piece;
    const enum outcome outcome =
        allocator->ops->alloc(allocator, bytes, stream, &piece, refusal);
    if (outcome == OUTCOME_OK)
        *block = (struct block){piece->address, piece->size, bytes, piece, 0};
    if (allocator->check)
        allocator_check(allocator);
    return outcome;
}

bool allocator_has_room(struct allocator *allocator, uint64_t bytes, uint64_t stream)
{
    return allocator->ops->has_room && allocator->ops->has_room(allocator, bytes, stream);
}

void allocator_free_piece(struct allocator *allocator, struct piece *piece)
{
    assert(piece->allocated);
    allocator->ops->free(allocator, piece);
    if (allocator->check)
        allocator_check(allocator);
}

void allocator_free(struct allocator *allocator, struct block *block)
{
    if (!block->piece)
        return;
    assert(block->piece->address == block->address);
    allocator_free_piece(allocator, block->piece);
    *block = (struct block){0};
}

void allocator_empty_cache(struct allocator *allocator)
{
    if (allocator->ops->empty_cache)
        allocator->ops->empty_cache(allocator);
    if (allocator->check)
        allocator_check(allocator);
}

void allocator_reset_peaks(struct allocator *allocator)
{
    if (allocator->ops->reset_peaks)
        allocator->ops->reset_peaks(allocator);
    statistics_reset_peaks(&allocator->statistics);
}

const struct allocator_statistics *allocator_read(struct allocator *allocator)
{
    if (allocator->ops->refresh)
        allocator->ops->refresh(allocator);
    return &allocator->statistics;
}

void allocator_listen(struct allocator *allocator,
                      void (*heard)(void *user, const struct segment_event *event), void *user)
{
    allocator->heard = heard;
    allocator->user = user;
}

const char *allocator_counter_source(const struct allocator *allocator)
{
    return allocator->ops->counter_source;
}

void allocator_check(const struct allocator *allocator)
{
    if (allocator->ops->check)
        allocator->ops->check(allocator);
}

uint64_t allocator_close(struct allocator *allocator)
{
    /* Blocks that are still out go too: the device must not be left holding them. A free may
     * drop pieces but makes none, so that one walk meets them all. */
    const uint64_t left = allocator->statistics.all.allocations.current;
    struct piece *p = NULL;
    while (left && (p = piece_store_next(&allocator->store, p))) {
        if (p->allocated)
            allocator->ops->free(allocator, p);
    }
    if (allocator->ops->close)
        allocator->ops->close(allocator);
    piece_store_release(&allocator->store);
    free(allocator);
    return left;
}
