/* idmap: numbers of a recording to small dense slots, which are used again. */
#ifndef HIGHWATER_TRACE_IDMAP_H
#define HIGHWATER_TRACE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idmap {
    struct idmap_entry *entries; /* open addressing, a power of two, at most half full */
    size_t capacity, count;
    uint32_t *unused; /* slots given back */
    size_t unused_count;
    uint32_t slots; /* most that were live at once */
};
/* A zeroed map is ready. false: the id is live already. */
bool idmap_add(struct idmap *map, uint64_t id, uint32_t *slot);
/* false: the id is not live. */
bool idmap_remove(struct idmap *map, uint64_t id, uint32_t *slot);
void idmap_release(struct idmap *map);

#endif
