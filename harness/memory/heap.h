/* heap: small blocks out of chunks, as drivers do it: best fit, lowest address first, blocks of
 * 512-byte multiples, chunks of a fixed unit. A model: what a driver really does is not documented.
 */
#ifndef HIGHWATER_MEMORY_HEAP_H
#define HIGHWATER_MEMORY_HEAP_H

#include "harness/memory/device.h"
#include "harness/memory/piece.h"

struct heap {
    uint64_t unit; /* chunks are multiples of it */
    bool keeps;    /* empty chunks stay until heap_trim */
    struct device *device;
    enum outcome (*get)(struct device *device, uint64_t bytes, uint64_t *address);
    void (*put)(struct device *device, uint64_t address, uint64_t bytes);
    struct piece_bins free;
    struct piece_tree live;
    struct piece_store store;
    struct device_pool_reading counts;
};
/* Zeroed, then these. */
void heap_init(struct heap *heap, struct device *device, uint64_t unit, bool keeps,
               enum outcome (*get)(struct device *device, uint64_t bytes, uint64_t *address),
               void (*put)(struct device *device, uint64_t address, uint64_t bytes));
enum outcome heap_alloc(struct heap *heap, uint64_t bytes, uint64_t *address) MUST_CHECK;
void heap_free(struct heap *heap, uint64_t address);
void heap_reset_high(struct heap *heap);
void heap_trim(struct heap *heap); /* gives empty chunks back */
void heap_release(struct heap *heap); /* everything, live blocks too */

#endif
