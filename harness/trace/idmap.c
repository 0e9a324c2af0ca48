#include "harness/trace/idmap.h"
#include "harness/base/text.h"

#include <stdlib.h>

struct idmap_entry {
    uint64_t id;
    uint32_t slot;
    bool used;
};

static size_t home_of(const struct idmap *map, uint64_t id)
{
    return (size_t)((id * 0x9e3779b97f4a7c15u) >> 20) & (map->capacity - 1);
}

/* Where the id is, or the free entry where it belongs. */
static struct idmap_entry *find(const struct idmap *map, uint64_t id)
{
    size_t i = home_of(map, id);
    while (map->entries[i].used && map->entries[i].id != id)
        i = (i + 1) & (map->capacity - 1);
    return &map->entries[i];
}

static void grow(struct idmap *map)
{
    struct idmap_entry *old = map->entries;
    const size_t count = map->capacity;
    map->capacity = count ? 2 * count : 64;
    map->entries = xcalloc(map->capacity, sizeof(*map->entries));
    for (size_t i = 0; i < count; i++) {
        if (old[i].used)
            *find(map, old[i].id) = old[i];
    }
    free(old);
}

bool idmap_add(struct idmap *map, uint64_t id, uint32_t *slot)
{
    if (2 * (map->count + 1) > map->capacity)
        grow(map);
    struct idmap_entry *entry = find(map, id);
    if (entry->used)
        return false;
    entry->id = id;
    entry->used = true;
    entry->slot = map->unused_count ? map->unused[--map->unused_count] : map->slots++;
    map->count++;
    *slot = entry->slot;
    return true;
}

static void remember_slot(struct idmap *map, uint32_t slot)
{
    *GROW(map->unused, map->unused_count) = slot;
}

bool idmap_remove(struct idmap *map, uint64_t id, uint32_t *slot)
{
    if (!map->count)
        return false;
    struct idmap_entry *entry = find(map, id);
    if (!entry->used)
        return false;
    *slot = entry->slot;
    remember_slot(map, entry->slot);
    map->count--;
    /* close the gap: entries behind it that would no longer be found move into it */
    const size_t mask = map->capacity - 1;
    size_t hole = (size_t)(entry - map->entries);
    for (size_t i = (hole + 1) & mask; map->entries[i].used; i = (i + 1) & mask) {
        if (((i - home_of(map, map->entries[i].id)) & mask) < ((i - hole) & mask))
            continue;
        map->entries[hole] = map->entries[i];
        hole = i;
    }
    map->entries[hole].used = false;
    return true;
}

void idmap_release(struct idmap *map)
{
    free(map->entries);
    free(map->unused);
    *map = (struct idmap){0};
}
