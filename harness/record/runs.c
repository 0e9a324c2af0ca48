#include "harness/record/runs.h"
#include "harness/base/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static_assert(STATUSES <= 32, "a bit for each status");

const char *run_set_name(const struct run_set *set, size_t place)
{
    return set->names.data + set->runs[place].name;
}

/* The place in the index where this name is, or would be. Needs a free place. */
static size_t find_place(const struct run_set *set, const char *name)
{
    size_t place = hash_add(HASH_START, name, strlen(name)) % set->index_room;
    while (set->index[place] != 0 &&
           strcmp(run_set_name(set, set->index[place] - 1), name) != 0)
        place = (place + 1) % set->index_room;
    return place;
}

/* Twice as many places as runs, at least. */
static void grow(struct run_set *set)
{
    set->runs = xgrow(set->runs, set->count, sizeof *set->runs);
    if (set->index_room > set->count * 2)
        return;
    set->index_room = set->index_room == 0 ? 256 : set->index_room * 2;
    free(set->index);
    set->index = xcalloc(set->index_room, sizeof *set->index);
    for (size_t i = 0; i < set->count; i++)
        set->index[find_place(set, run_set_name(set, i))] = (uint32_t)i + 1;
}

enum run_count run_counts_as(uint32_t statuses)
{
    if (statuses == 1u << STATUS_ok)
        return COUNTS_AS_FITTED;
    return statuses == 1u << STATUS_skipped ? COUNTS_AS_SKIPPED : COUNTS_AS_FAILED;
}

void run_set_put(struct run_set *set, const char *name, uint64_t order, uint32_t statuses)
{
    grow(set);
    size_t place = find_place(set, name);
    if (set->index[place] == 0) {
        set->runs[set->count] = (struct run_record){.name = set->names.length};
        text_add_bytes(&set->names, name, strlen(name) + 1);
        set->index[place] = (uint32_t)++set->count;
    }
    set->runs[set->index[place] - 1].statuses = statuses;
    if (order > set->last_order)
        set->last_order = order;
}

const struct run_record *run_set_find(const struct run_set *set, const char *name)
{
    if (set->count == 0)
        return NULL;
    size_t place = find_place(set, name);
    return set->index[place] != 0 ? &set->runs[set->index[place] - 1] : NULL;
}

void run_set_release(struct run_set *set)
{
    text_release(&set->names);
    free(set->runs);
    free(set->index);
    *set = (struct run_set)RUN_SET_INIT;
}
