/* take: a recording of a program at one value of the dimension that varies, as items.
 *
 * An item is everything that a recording has but frees: requests, empty_cache, begin and end of
 * phases. When a block was freed is a fact about its request: before which item.
 */
#ifndef HIGHWATER_FORECAST_TAKE_H
#define HIGHWATER_FORECAST_TAKE_H

#include "harness/trace/trace.h"

#define TAKE_NEVER UINT32_MAX /* freed: not within the recording */

struct item {
    uint64_t bytes;  /* of a request */
    uint32_t event;  /* of the trace: its line in the file is two more */
    uint32_t freed;  /* of a request: freed before this item (their number: after the last) */
    uint32_t stream; /* of a request: 0 is the first stream seen, and so on */
    uint32_t name;   /* of begin and end: which of the trace's names */
    uint8_t op;      /* enum trace_op; never TRACE_FREE nor TRACE_OOM */
};

struct take {
    char *path;
    uint64_t value;
    struct trace trace;
    struct item *items;
    uint32_t count;
    uint32_t requests;
};
/* Refuses what cannot be forecast from: a refusal, nothing asked for, and, where segments lie
 * beside the recording, memory given back to serve a request. -1: "FILE:LINE: reason". */
int take_read(const char *path, uint64_t value, struct take *take, struct text *why) MUST_CHECK;
void take_release(struct take *take);

/* The file's line of an item; of the number behind the last: of the last event. */
uint64_t take_line(const struct take *take, uint32_t item);
/* The phase that an item lies in, or NULL. */
const char *take_phase(const struct take *take, uint32_t item);
const char *take_name(const struct take *take, uint32_t item);
/* "4194304 bytes", "begin of forward_0", "the end". */
void take_add_item(const struct take *take, uint32_t item, struct text *text);

#endif
