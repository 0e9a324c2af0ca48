/* recorder: a workload's own allocations as a trace that `replay` reads, and beside it what its
 * allocator asked the device: segments, in a file of the name that trace_segments_path gives.
 *
 * Columns as in a recorded trace and one more, `tag`:
 *     op,id,bytes,stream,address,tag
 * Written out at every phase mark and refusal, so that a child that is killed loses at most
 * what happened since the last one (and its last line may be torn).
 */
#ifndef HIGHWATER_TRACE_RECORDER_H
#define HIGHWATER_TRACE_RECORDER_H

#include "harness/allocator/allocator.h"

struct recorder;
int recorder_open(struct recorder **recorder, const char *path, struct text *why) MUST_CHECK;
/* Numbers the block. */
void recorder_alloc(struct recorder *recorder, struct block *block, const char *tag);
void recorder_free(struct recorder *recorder, const struct block *block);
/* For allocator_listen. An event belongs to the line that is recorded next. */
void recorder_hear(void *recorder, const struct segment_event *event);
void recorder_refused(struct recorder *recorder, uint64_t bytes);
/* op is begin, end (with the phase's name) or empty_cache (NULL). */
void recorder_mark(struct recorder *recorder, const char *op, const char *name);
void recorder_close(struct recorder *recorder);

#endif
