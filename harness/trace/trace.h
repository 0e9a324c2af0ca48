/* trace: a recording of what an allocator was asked, and of what it asked its device.
 *
 * A trace is CSV, `op,id,bytes,stream,address` (a recording of highwater's own adds `tag`):
 *   alloc        id, requested bytes, stream handle, address returned (may be empty)
 *   free         id
 *   oom          bytes (rounded) that were refused
 *   empty_cache
 *   begin, end   of a phase; its name stands in `id`; `begin` resets the peaks
 * Segments are CSV, `after_trace_line,action,bytes,stream,address`, in the order of time; the
 * first counts the lines of the trace (header not counted) that were done.
 */
#ifndef HIGHWATER_TRACE_TRACE_H
#define HIGHWATER_TRACE_TRACE_H

#include "harness/allocator/allocator.h"

enum trace_op { TRACE_ALLOC, TRACE_FREE, TRACE_OOM, TRACE_EMPTY_CACHE, TRACE_BEGIN, TRACE_END };

struct trace_event {
    uint8_t op; /* enum trace_op */
    bool has_address;
    uint32_t slot; /* of the block: dense, used again; of begin and end: which name */
    uint64_t bytes, stream, address;
};

struct trace {
    struct trace_event *events; /* event i is line i + 1, the header not counted */
    size_t count;
    char **names; /* of phases */
    size_t name_count;
    uint32_t slots; /* most blocks live at once */
    bool tagged;    /* highwater's own recording: its ties were broken by segment order */
};
/* Refuses what no allocator can have been asked: an id that is live already or not at all,
 * sizes of 0 or of 2^60 and more, phases that do not close. -1: "FILE:LINE: reason". */
int trace_read(const char *path, struct trace *trace, struct text *why) MUST_CHECK;
void trace_release(struct trace *trace);
/* As CSV, without addresses and tags; a block's id is its slot's number. */
void trace_write(const struct trace *trace, struct text *out);

struct segment_record {
    uint64_t after; /* lines of the trace done */
    struct segment_event event;
};
struct segment_records {
    struct segment_record *records;
    size_t count;
};
/* X.csv: X.segments.csv. The caller frees. */
char *trace_segments_path(const char *trace_path) MUST_CHECK;
int segments_read(const char *path, struct segment_records *segments,
                  struct text *why) MUST_CHECK;
void segments_release(struct segment_records *segments);

#endif
