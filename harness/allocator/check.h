/* check: the invariants of the allocators, for the `check` of their rows: aborts in every build
 * when one does not hold. */
#ifndef HIGHWATER_ALLOCATOR_CHECK_H
#define HIGHWATER_ALLOCATOR_CHECK_H

#include "harness/allocator/allocator.h"

void check_caching(const struct allocator *allocator); /* expandable too */
/* Of an allocator whose pieces are all handed out: async, direct. */
void check_plain(const struct allocator *allocator);

#endif
