#include "harness/trace/recorded.h"

#include <inttypes.h>
#include <stdlib.h>

/* The next recorded event, if it belongs to the line that is being replayed. */
static const struct segment_event *pending(const struct recorded *r)
{
    if (r->next == r->segments->count || r->segments->records[r->next].after > r->line)
        return NULL;
    return &r->segments->records[r->next].event;
}

static bool gives_back(const struct segment_event *event)
{
    return event->action == SEGMENT_FREE || event->action == SEGMENT_UNMAP;
}

/* Did the recorded device say no to what is asked now? */
static bool refused(const struct recorded *r)
{
    const struct segment_event *event = pending(r);
    return event ? gives_back(event) : r->refused;
}

static enum outcome place(struct address_policy *policy, uint64_t bytes, uint64_t *address)
{
    struct recorded *r = (struct recorded *)policy;
    if (refused(r))
        return OUTCOME_OOM;
    const struct segment_event *event = pending(r);
    if (!event || event->action != SEGMENT_ALLOC || event->bytes != bytes)
        return r->fallback.policy.place(&r->fallback.policy, bytes, address);
    *address = event->address;
    return OUTCOME_OK;
}

/* Only where a reservation begins is known: its first mapping. */
static enum outcome reserve(struct address_policy *policy, uint64_t bytes, uint64_t *address)
{
    struct recorded *r = (struct recorded *)policy;
    const struct segment_event *event = pending(r);
    if (!event || event->action != SEGMENT_MAP)
        return r->fallback.policy.reserve(&r->fallback.policy, bytes, address);
    *address = event->address;
    return OUTCOME_OK;
}

static enum outcome map(struct address_policy *policy, uint64_t address, uint64_t bytes)
{
    (void)address;
    (void)bytes;
    return refused((struct recorded *)policy) ? OUTCOME_OOM : OUTCOME_OK;
}

void recorded_open(struct recorded *r, const struct segment_records *segments,
                   const struct stream_order *streams)
{
    *r = (struct recorded){
        .policy = {.place = place, .reserve = reserve, .map = map},
        .segments = segments,
        .streams = streams,
    };
    ascending_init(&r->fallback);
}

void recorded_close(struct recorded *r)
{
    text_release(&r->first);
}

void recorded_at(struct recorded *r, uint64_t line, bool is_refused)
{
    r->line = line;
    r->refused = is_refused;
}

bool recorded_emptied(const struct recorded *r, uint64_t line, bool asks)
{
    const struct segment_record *records = r->segments->records;
    size_t i = r->next;
    if (i == r->segments->count || records[i].after > line || !gives_back(&records[i].event))
        return false;
    while (asks && i < r->segments->count && records[i].after <= line) {
        if (!gives_back(&records[i].event))
            return false; /* given back, then taken: it was the request */
        i++;
    }
    return true;
}

static void add_event(struct text *text, const struct segment_event *event)
{
    text_addf(text, "%s of %" PRIu64 " bytes at %" PRIu64 " on stream %" PRIu64,
              segment_action_names[event->action], event->bytes, event->address, event->stream);
}

static void differ(struct recorded *r, const struct segment_event *did,
                   const struct segment_record *recorded)
{
    if (r->differences++)
        return;
    text_addf(&r->first, "line %" PRIu64 ": ", r->line + 1);
    if (did)
        add_event(&r->first, did);
    else
        text_add(&r->first, "nothing");
    text_add(&r->first, " where the recording has ");
    if (recorded)
        add_event(&r->first, &recorded->event);
    else
        text_add(&r->first, "nothing");
}

/* Recorded events of lines that have passed were not done. */
static void skip_past(struct recorded *r)
{
    while (r->next < r->segments->count && r->segments->records[r->next].after < r->line)
        differ(r, NULL, &r->segments->records[r->next++]);
}

void recorded_hear(void *user, const struct segment_event *event)
{
    struct recorded *r = user;
    struct segment_event did = *event;
    did.stream = stream_order_stream(r->streams, event->stream);
    skip_past(r);
    const struct segment_event *expected = pending(r);
    if (!expected) {
        differ(r, &did, NULL);
        return;
    }
    if (expected->action != did.action || expected->bytes != did.bytes ||
        expected->stream != did.stream || expected->address != did.address)
        differ(r, &did, &r->segments->records[r->next]);
    r->next++;
}

void recorded_finish(struct recorded *r)
{
    r->line = UINT64_MAX;
    skip_past(r);
}
