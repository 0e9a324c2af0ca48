#include "harness/trace/stream_order.h"

#include <stdlib.h>
#include <string.h>

#define STREAMS_MOST 64 /* more are left in the order of their numbers */
#define SMALL_SEGMENT ((uint64_t)2 << 20)
#define LARGE_PAGE ((uint64_t)20 << 20)

struct finder {
    uint64_t streams[STREAMS_MOST]; /* ascending */
    size_t count;
    uint64_t before[STREAMS_MOST]; /* bit per stream that walks take earlier */
};

/* false: too many. */
static bool add_stream(struct finder *finder, uint64_t stream)
{
    size_t i = 0;
    while (i < finder->count && finder->streams[i] < stream)
        i++;
    if (i < finder->count && finder->streams[i] == stream)
        return true;
    if (finder->count == STREAMS_MOST)
        return false;
    memmove(&finder->streams[i + 1], &finder->streams[i],
            (finder->count - i) * sizeof(finder->streams[0]));
    finder->streams[i] = stream;
    finder->count++;
    return true;
}

static bool add_streams(struct finder *finder, const struct trace *trace)
{
    uint64_t last = 0;
    bool any = false;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_event *event = &trace->events[i];
        if (event->op != TRACE_ALLOC && event->op != TRACE_OOM)
            continue;
        if (any && event->stream == last)
            continue;
        if (!add_stream(finder, event->stream))
            return false;
        last = event->stream;
        any = true;
    }
    return true;
}

static size_t index_of(const struct finder *finder, uint64_t stream)
{
    size_t i = 0;
    while (i < finder->count && finder->streams[i] != stream)
        i++;
    return i;
}

static bool is_large(const struct segment_event *event)
{
    return event->action == SEGMENT_UNMAP ? event->bytes % LARGE_PAGE == 0
                                          : event->bytes > SMALL_SEGMENT;
}

/* Two neighbours of one walk over one pool: the first stream comes before the second. */
static bool is_step(const struct segment_record *a, const struct segment_record *b)
{
    const bool frees = a->event.action == SEGMENT_FREE || a->event.action == SEGMENT_UNMAP;
    return frees && a->event.action == b->event.action && a->after == b->after &&
           is_large(&a->event) == is_large(&b->event) && a->event.stream != b->event.stream;
}

static bool is_plain_walk(const struct trace *trace, uint64_t after, bool ladders)
{
    const bool emptied =
        after > 0 && after <= trace->count && trace->events[after - 1].op == TRACE_EMPTY_CACHE;
    return emptied || (ladders && after < trace->count);
}

static void add_steps(struct finder *finder, const struct trace *trace,
                      const struct segment_records *segments, bool ladders)
{
    for (size_t i = 1; i < segments->count; i++) {
        const struct segment_record *a = &segments->records[i - 1], *b = a + 1;
        if (!is_step(a, b) || !is_plain_walk(trace, b->after, ladders))
            continue;
        const size_t first = index_of(finder, a->event.stream);
        const size_t second = index_of(finder, b->event.stream);
        if (first < finder->count && second < finder->count)
            finder->before[second] |= (uint64_t)1 << first;
    }
}

/* Smallest number first among those whose predecessors are placed. false: the walks contradict
 * each other. */
static bool sort_streams(const struct finder *finder, uint64_t *sorted)
{
    uint64_t placed = 0;
    for (size_t rank = 0; rank < finder->count; rank++) {
        size_t i = 0;
        while (i < finder->count && ((placed >> i & 1) || (finder->before[i] & ~placed)))
            i++;
        if (i == finder->count)
            return false;
        placed |= (uint64_t)1 << i;
        sorted[rank] = finder->streams[i];
    }
    return true;
}

void stream_order_find(struct stream_order *order, const struct trace *trace,
                       const struct segment_records *segments, bool ladders)
{
    struct finder finder = {.count = 0};
    uint64_t sorted[STREAMS_MOST];
    *order = (struct stream_order){0};
    if (!segments || !add_streams(&finder, trace) || finder.count < 2)
        return;
    add_steps(&finder, trace, segments, ladders);
    const size_t bytes = finder.count * sizeof(sorted[0]);
    if (!sort_streams(&finder, sorted) || memcmp(sorted, finder.streams, bytes) == 0)
        return;
    order->count = finder.count;
    order->streams = xmalloc(bytes);
    memcpy(order->streams, sorted, bytes);
}

uint64_t stream_order_rank(const struct stream_order *order, uint64_t stream)
{
    for (size_t i = 0; i < order->count; i++) {
        if (order->streams[i] == stream)
            return i;
    }
    return stream;
}

uint64_t stream_order_stream(const struct stream_order *order, uint64_t rank)
{
    return rank < order->count ? order->streams[rank] : rank;
}

void stream_order_release(struct stream_order *order)
{
    free(order->streams);
    *order = (struct stream_order){0};
}
