/* stream_order: in which order an allocator's walks take the streams of a recording.
 *
 * Allocators compare stream handles as numbers. Recorders like to renumber streams by age, and
 * a younger stream can have the smaller handle: then only the recorded release walks show the
 * order.
 */
#ifndef HIGHWATER_TRACE_STREAM_ORDER_H
#define HIGHWATER_TRACE_STREAM_ORDER_H

#include "harness/trace/trace.h"

struct stream_order {
    uint64_t *streams; /* by rank; NULL: their numbers are the order */
    size_t count;
};
/* `segments` may be NULL. `ladders`: walks of the failure ladder are plain ones too (neither
 * garbage collection nor oversize release mixes with them), not only those of empty_cache. */
void stream_order_find(struct stream_order *order, const struct trace *trace,
                       const struct segment_records *segments, bool ladders);
/* The handle to use for a recorded stream, and back. */
uint64_t stream_order_rank(const struct stream_order *order, uint64_t stream);
uint64_t stream_order_stream(const struct stream_order *order, uint64_t rank);
void stream_order_release(struct stream_order *order);

#endif
