#include "harness/forecast/take.h"
#include "harness/base/file.h"

#include <inttypes.h>
#include <stdlib.h>

#define STREAMS_MOST 64

static uint32_t rank_of_stream(uint64_t *streams, uint32_t *count, uint64_t stream)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (streams[i] == stream)
            return i;
    }
    if (*count == STREAMS_MOST)
        return STREAMS_MOST;
    streams[(*count)++] = stream;
    return *count - 1;
}

static void add_item(struct take *take, uint32_t event, uint32_t stream)
{
    const struct trace_event *e = &take->trace.events[event];
    const bool named = e->op == TRACE_BEGIN || e->op == TRACE_END;
    take->items[take->count++] = (struct item){.bytes = e->bytes,
                                               .event = event,
                                               .freed = TAKE_NEVER,
                                               .stream = stream,
                                               .name = named ? e->slot : 0,
                                               .op = e->op};
    take->requests += e->op == TRACE_ALLOC;
}

static void list_items(struct take *take)
{
    uint64_t streams[STREAMS_MOST];
    uint32_t stream_count = 0;
    uint32_t *holders = xcalloc((size_t)take->trace.slots + 1, sizeof(*holders));
    take->items = xcalloc(take->trace.count + 1, sizeof(*take->items));
    for (uint32_t i = 0; i < take->trace.count; i++) {
        const struct trace_event *event = &take->trace.events[i];
        if (event->op == TRACE_FREE) {
            take->items[holders[event->slot]].freed = take->count;
            continue;
        }
        if (event->op == TRACE_ALLOC)
            holders[event->slot] = take->count;
        add_item(take, i, rank_of_stream(streams, &stream_count, event->stream));
    }
    free(holders);
}

static int check_events(const struct trace *trace, const char *path, struct text *why)
{
    bool asks = false;
    if (trace->count >= UINT32_MAX / 2) {
        text_addf(why, "%s: more than 2^31 lines", path);
        return -1;
    }
    for (size_t i = 0; i < trace->count; i++) {
        asks = asks || trace->events[i].op == TRACE_ALLOC;
        if (trace->events[i].op == TRACE_OOM) {
            text_addf(why,
                      "%s:%zu: the recording shows a refused request: what the program would "
                      "have asked next is not known",
                      path, i + 2);
            return -1;
        }
    }
    if (!asks)
        text_addf(why, "%s: the recording asks for nothing", path);
    return asks ? 0 : -1;
}

/* Segments given back without an empty_cache served a request: what follows depends on the
 * room that there was. */
static int check_segments(const struct trace *trace, const char *path, struct text *why)
{
    char *beside = trace_segments_path(path);
    struct segment_records segments = {0};
    int result = 0;
    if (file_exists(beside))
        result = segments_read(beside, &segments, why);
    for (size_t i = 0; i < segments.count && !result; i++) {
        const struct segment_record *record = &segments.records[i];
        const bool frees =
            record->event.action == SEGMENT_FREE || record->event.action == SEGMENT_UNMAP;
        const bool asked = record->after > 0 && record->after <= trace->count &&
                           trace->events[record->after - 1].op == TRACE_EMPTY_CACHE;
        if (!frees || asked || record->after >= trace->count)
            continue;
        text_addf(why,
                  "%s:%" PRIu64 ": the allocator gave memory back to serve this request (a "
                  "retry or a collection): record with more room",
                  path, record->after + 2);
        result = -1;
    }
    segments_release(&segments);
    free(beside);
    return result;
}

int take_read(const char *path, uint64_t value, struct take *take, struct text *why)
{
    struct take read = {.value = value};
    if (trace_read(path, &read.trace, why))
        return -1;
    if (check_events(&read.trace, path, why) || check_segments(&read.trace, path, why)) {
        trace_release(&read.trace);
        return -1;
    }
    read.path = xstrdup(path);
    list_items(&read);
    *take = read;
    return 0;
}

void take_release(struct take *take)
{
    free(take->path);
    free(take->items);
    trace_release(&take->trace);
    *take = (struct take){0};
}

uint64_t take_line(const struct take *take, uint32_t item)
{
    return item < take->count ? (uint64_t)take->items[item].event + 2 : take->trace.count + 1;
}

const char *take_name(const struct take *take, uint32_t item)
{
    return take->trace.names[take->items[item].name];
}

const char *take_phase(const struct take *take, uint32_t item)
{
    for (uint32_t i = item < take->count ? item + 1 : take->count; i-- > 0;) {
        if (take->items[i].op == TRACE_BEGIN)
            return take_name(take, i);
        if (take->items[i].op == TRACE_END)
            return i == item ? take_name(take, i) : NULL;
    }
    return NULL;
}

void take_add_item(const struct take *take, uint32_t item, struct text *text)
{
    if (item >= take->count)
        text_add(text, "the end");
    else if (take->items[item].op == TRACE_ALLOC)
        text_addf(text, "%" PRIu64 " bytes", take->items[item].bytes);
    else if (take->items[item].op == TRACE_EMPTY_CACHE)
        text_add(text, "empty_cache");
    else
        text_addf(text, "%s of %s", take->items[item].op == TRACE_BEGIN ? "begin" : "end",
                  take_name(take, item));
}
