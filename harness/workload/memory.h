/* memory: a device with its allocator, tags, counters of the current phase and live page: the
 * one door through which workloads get bytes.
 */
#ifndef HIGHWATER_WORKLOAD_MEMORY_H
#define HIGHWATER_WORKLOAD_MEMORY_H

#include "harness/protocol/live.h"
#include "harness/setting/setting.h"

enum tag {
#define TAG(name) TAG_##name,
#include "harness/workload/tag.def"
#undef TAG
    TAGS
};

struct memory;

/* The device must be open. `page`/`slot`: where to publish, or NULL/-1. */
int memory_open(struct memory **memory, struct device *device,
                const struct memory_setting *setting, struct live_page *page, int slot,
                struct text *why) MUST_CHECK;
enum outcome memory_alloc(struct memory *memory, uint64_t bytes, enum tag tag,
                          struct block *block) MUST_CHECK;
void memory_free(struct memory *memory, struct block *block, enum tag tag);
void memory_empty_cache(struct memory *memory);
/* The refusal behind the last outcome that was not OK. */
const struct refusal *memory_refusal(const struct memory *memory);

/* Phase protocol, called by the phase runner after it synchronised: reset peaks, note start
 * values and the device's use; name, pass and repeat go to the live page. */
void memory_begin_phase(struct memory *memory, const char *phase, const char *pass,
                        struct reading repeat);
/* Peaks and, when `ended`, end values (a recording then marks the end of the phase). */
void memory_read(struct memory *memory, bool ended, struct counters *counters);
/* Test hook of [device] fault: the next request is refused as if the device had no room. */
void memory_refuse_next(struct memory *memory);
/* Called after every block handed out; the fault injector's place. */
void memory_on_alloc(struct memory *memory, void (*hook)(void *user), void *user);
/* "highwater.caching" and so on; "exact" or "upper_bound" (NULL when reserved is missing). */
const char *memory_counter_source(const struct memory *memory);
const char *memory_reserved_is(const struct memory *memory);
/* Blocks not freed: a bug of the workload, returned so that the caller can refuse to say ok. */
uint64_t memory_close(struct memory *memory);

#endif
