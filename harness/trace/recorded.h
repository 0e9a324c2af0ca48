/* recorded: an address policy that answers as a recorded device did, and compares what an
 * allocator does to its segments with what was recorded.
 *
 * The device grants what the recording has at this line of the trace, at the recorded address.
 * It refuses where the recording shows that it did: segments were given back first (the failure
 * ladder), or the request itself was refused. What differs from the recording is counted, and
 * the first difference kept in words; the replay goes on.
 */
#ifndef HIGHWATER_TRACE_RECORDED_H
#define HIGHWATER_TRACE_RECORDED_H

#include "harness/device/address.h"
#include "harness/trace/stream_order.h"

struct recorded {
    struct address_policy policy;
    struct ascending fallback; /* where there is nothing recorded */
    const struct segment_records *segments;
    const struct stream_order *streams; /* handles of the replay to recorded streams */
    size_t next;                        /* the first not yet seen */
    uint64_t line;                      /* what a segment event that is made now must carry */
    bool refused; /* the request of this line was refused in the recording */
    uint64_t differences;
    struct text first;
};
void recorded_open(struct recorded *recorded, const struct segment_records *segments,
                   const struct stream_order *streams);
void recorded_close(struct recorded *recorded);
/* Before a line of the trace is replayed. */
void recorded_at(struct recorded *recorded, uint64_t line, bool refused);
/* Were segments given back at this line, which nothing in the trace asks for: an empty_cache
 * that was not marked? `asks`: the line is a request that has to ask the device, so that
 * garbage collection or the failure ladder may explain it. */
bool recorded_emptied(const struct recorded *recorded, uint64_t line, bool asks);
/* For allocator_listen. */
void recorded_hear(void *recorded, const struct segment_event *event);
/* After the last line: what was recorded and not done is a difference too. */
void recorded_finish(struct recorded *recorded);

#endif
