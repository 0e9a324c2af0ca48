#include "harness/trace/chunk_model.h"
#include "harness/base/units.h"

#include <assert.h>
#include <stdlib.h>

#define UNIT ((uint64_t)32 << 20)
#define BORDER ((uint64_t)1 << 62) /* nothing lies above it; only order matters */

struct range {
    uint64_t start, end;
    struct range *next;
};

struct chunk {
    uint64_t start, end;
    uint64_t live;      /* segments */
    struct range *free; /* by address */
    struct chunk *newer, *older;
    struct chunk *above, *below;
};

struct chunk_model {
    struct address_policy policy;
    struct ascending ranges; /* reservations rise, 32 MiB aligned */
    struct chunk *newest, *highest;
};

static struct range *range_new(uint64_t start, uint64_t end, struct range *next)
{
    struct range *range = xmalloc(sizeof(*range));
    *range = (struct range){start, end, next};
    return range;
}

/* The lowest free range of the chunk that is large enough, used from its bottom. */
static bool place_in(struct chunk *chunk, uint64_t bytes, uint64_t *address)
{
    struct range **place = &chunk->free;
    while (*place && (*place)->end - (*place)->start < bytes)
        place = &(*place)->next;
    struct range *range = *place;
    if (!range)
        return false;
    *address = range->start;
    range->start += bytes;
    chunk->live++;
    if (range->start == range->end) {
        *place = range->next;
        free(range);
    }
    return true;
}

/* The top of the highest gap that leaves 32 MiB more than needed: the driver asks the system
 * for that much more, to align. */
static struct chunk *chunk_new(struct chunk_model *model, uint64_t bytes)
{
    const uint64_t length = round_up(bytes, UNIT);
    uint64_t top = BORDER;
    struct chunk *above = NULL, *below = model->highest;
    while (below && top - below->end < length + UNIT) {
        top = below->start;
        above = below;
        below = below->below;
    }
    struct chunk *chunk = xmalloc(sizeof(*chunk));
    *chunk = (struct chunk){.start = top - length,
                            .end = top,
                            .free = range_new(top - length, top, NULL),
                            .older = model->newest,
                            .above = above,
                            .below = below};
    if (model->newest)
        model->newest->newer = chunk;
    model->newest = chunk;
    *(above ? &above->below : &model->highest) = chunk;
    if (below)
        below->above = chunk;
    return chunk;
}

static enum outcome place(struct address_policy *policy, uint64_t bytes, uint64_t *address)
{
    struct chunk_model *model = (struct chunk_model *)policy;
    for (struct chunk *chunk = model->newest; chunk; chunk = chunk->older) {
        if (place_in(chunk, bytes, address))
            return OUTCOME_OK;
    }
    const bool placed = place_in(chunk_new(model, bytes), bytes, address);
    assert(placed);
    (void)placed;
    return OUTCOME_OK;
}

static void chunk_drop(struct chunk_model *model, struct chunk *chunk)
{
    *(chunk->newer ? &chunk->newer->older : &model->newest) = chunk->older;
    if (chunk->older)
        chunk->older->newer = chunk->newer;
    *(chunk->above ? &chunk->above->below : &model->highest) = chunk->below;
    if (chunk->below)
        chunk->below->above = chunk->above;
    while (chunk->free) {
        struct range *next = chunk->free->next;
        free(chunk->free);
        chunk->free = next;
    }
    free(chunk);
}

static void add_range(struct chunk *chunk, uint64_t start, uint64_t end)
{
    struct range *before = NULL, *after = chunk->free;
    while (after && after->start < start) {
        before = after;
        after = after->next;
    }
    if (before && before->end == start) {
        before->end = end;
    } else {
        struct range **place = before ? &before->next : &chunk->free;
        before = *place = range_new(start, end, after);
    }
    if (after && before->end == after->start) {
        before->end = after->end;
        before->next = after->next;
        free(after);
    }
}

static void give_back(struct address_policy *policy, uint64_t address, uint64_t bytes)
{
    struct chunk_model *model = (struct chunk_model *)policy;
    struct chunk *chunk = model->newest;
    while (chunk && (address < chunk->start || address >= chunk->end))
        chunk = chunk->older;
    assert(chunk && chunk->live);
    chunk->live--;
    if (chunk->live)
        add_range(chunk, address, address + bytes);
    else
        chunk_drop(model, chunk);
}

static enum outcome reserve(struct address_policy *policy, uint64_t bytes, uint64_t *address)
{
    struct address_policy *ranges = &((struct chunk_model *)policy)->ranges.policy;
    return ranges->reserve(ranges, bytes, address);
}

struct address_policy *chunk_model_open(void)
{
    struct chunk_model *model = xcalloc(1, sizeof(*model));
    model->policy =
        (struct address_policy){.place = place, .give_back = give_back, .reserve = reserve};
    ascending_init(&model->ranges);
    return &model->policy;
}

void chunk_model_close(struct address_policy *policy)
{
    struct chunk_model *model = (struct chunk_model *)policy;
    while (model->newest)
        chunk_drop(model, model->newest);
    free(model);
}
