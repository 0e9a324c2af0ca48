/* expandable: segments of the caching allocator that grow and shrink: address space for the
 * whole device, into which pages are mapped from the front on; for harness/allocator only.
 */
#ifndef HIGHWATER_ALLOCATOR_EXPANDABLE_H
#define HIGHWATER_ALLOCATOR_EXPANDABLE_H

#include "harness/allocator/caching.h"

/* -1: the device has no pages to map, or too large ones. */
int expandable_check_device(struct device *device, struct text *why) MUST_CHECK;
/* One try to get memory from the device. OUTCOME_OK: *piece is mapped, free and in no set. */
enum outcome expandable_grow(struct caching *caching, const struct want *want,
                             struct piece **piece) MUST_CHECK;
/* Unmaps the whole pages of a free piece that lies in its shelf. */
void expandable_unmap(struct caching *caching, struct piece *piece);
/* Gives back the reservations in which nothing is mapped, at the end. */
void expandable_forget(struct caching *caching, struct shelf *shelf);
/* What the piece can grow to: its size and that of an unmapped right neighbour. */
uint64_t expandable_reach(const struct piece *piece);

#endif
