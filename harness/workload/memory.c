#include "harness/workload/memory.h"
#include "harness/trace/recorder.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const tag_names[TAGS] = {
#define TAG(name) #name,
#include "harness/workload/tag.def"
#undef TAG
};
static const enum counter peak_counter[TAGS] = {
#define TAG(name) COUNTER_peak_##name##_bytes,
#include "harness/workload/tag.def"
#undef TAG
};
static const enum counter end_counter[TAGS] = {
#define TAG(name) COUNTER_end_##name##_bytes,
#include "harness/workload/tag.def"
#undef TAG
};

struct memory {
    struct device *device;
    struct allocator *allocator;
    struct live_page *page; /* NULL: none */
    int slot;
    struct live_state live;
    struct reading allocated_start, reserved_start, used_start;
    uint64_t by_tag[TAGS], peak_by_tag[TAGS]; /* the latter at the allocated peak */
    uint64_t last_peak;
    struct refusal refusal;
    bool refused, refuse_next;
    void (*hook)(void *user);
    void *user;
    struct recorder *recorder; /* NULL: none */
    bool phase_recorded;       /* a begin is in the recording without its end */
};

/* Only an observed device's answer is a measurement. */
static struct reading device_used(const struct memory *m)
{
    uint64_t free_bytes, total_bytes;
    if (!m->device->ops->observed ||
        m->device->ops->usage(m->device, &free_bytes, &total_bytes))
        return reading_missing();
    return reading_of(total_bytes - free_bytes);
}

static struct reading if_reserved(const struct allocator_statistics *s, uint64_t value)
{
    return s->reserved_known ? reading_of(value) : reading_missing();
}

static void fill(struct memory *m, struct counters *counters)
{
    const struct allocator_statistics *s = allocator_read(m->allocator);
    struct reading *value = counters->value;
    value[COUNTER_allocated_start_bytes] = m->allocated_start;
    value[COUNTER_reserved_start_bytes] = m->reserved_start;
    value[COUNTER_device_used_start_bytes] = m->used_start;
    value[COUNTER_allocated_peak_bytes] = reading_of(s->all.allocated.peak);
    value[COUNTER_reserved_peak_bytes] = if_reserved(s, s->all.reserved.peak);
    value[COUNTER_reserved_at_allocated_peak_bytes] =
        if_reserved(s, s->reserved_at_allocated_peak);
    value[COUNTER_requested_peak_bytes] = reading_of(s->all.requested.peak);
    for (int tag = 0; tag < TAGS; tag++)
        value[peak_counter[tag]] = reading_of(m->peak_by_tag[tag]);
    if (m->refused) {
        value[COUNTER_refused_bytes] = reading_of(m->refusal.bytes);
        value[COUNTER_free_bytes_at_failure] = m->refusal.free;
    }
    /* an allocator without a cache has nothing to try again with */
    if (s->reserved_known && !s->reserved_is_upper_bound)
        value[COUNTER_alloc_retries] = reading_of(s->alloc_retries);
}

static void publish(struct memory *m)
{
    if (!m->page)
        return;
    fill(m, &m->live.counters);
    snprintf(m->live.refused_by, sizeof(m->live.refused_by), "%s",
             m->refused ? m->refusal.by : "");
    live_publish(m->page, m->slot, &m->live);
}

int memory_open(struct memory **memory, struct device *device,
                const struct memory_setting *setting, struct live_page *page, int slot,
                struct text *why)
{
    struct memory *m = xcalloc(1, sizeof(*m));
    m->device = device;
    m->page = page;
    m->slot = slot;
    if (page && !live_read(page, slot, &m->live)) /* keeps the pid of the claim */
        m->live = (struct live_state){0};
    if (allocator_open(&m->allocator, setting->allocator, device, &setting->allocator_setting,
                       why)) {
        free(m);
        return -1;
    }
    if (setting->trace && *setting->trace && recorder_open(&m->recorder, setting->trace, why)) {
        allocator_close(m->allocator);
        free(m);
        return -1;
    }
    if (m->recorder)
        allocator_listen(m->allocator, recorder_hear, m->recorder);
    *memory = m;
    return 0;
}

static void note_refusal(struct memory *m, uint64_t bytes)
{
    m->refused = true;
    if (m->recorder)
        recorder_refused(m->recorder, bytes);
    publish(m);
}

static enum outcome refuse(struct memory *m, uint64_t bytes)
{
    uint64_t free_bytes, total_bytes;
    m->refuse_next = false;
    m->refusal = (struct refusal){.by = "device", .bytes = bytes};
    if (m->device->ops->usage(m->device, &free_bytes, &total_bytes) == 0)
        m->refusal.free = reading_of(free_bytes);
    note_refusal(m, bytes);
    return OUTCOME_OOM;
}

static void note_peak(struct memory *m)
{
    const uint64_t peak = allocator_read(m->allocator)->all.allocated.peak;
    if (peak > m->last_peak)
        memcpy(m->peak_by_tag, m->by_tag, sizeof(m->by_tag));
    m->last_peak = peak;
}

enum outcome memory_alloc(struct memory *m, uint64_t bytes, enum tag tag, struct block *block)
{
    if (m->refuse_next && bytes)
        return refuse(m, bytes);
    const enum outcome outcome = allocator_alloc(m->allocator, bytes, 0, block, &m->refusal);
    if (outcome == OUTCOME_FAILED)
        return outcome;
    if (outcome != OUTCOME_OK) {
        note_refusal(m, bytes);
        return outcome;
    }
    if (!bytes)
        return OUTCOME_OK;
    m->by_tag[tag] += block->size;
    note_peak(m);
    if (m->recorder)
        recorder_alloc(m->recorder, block, tag_names[tag]);
    publish(m);
    if (m->hook)
        m->hook(m->user);
    return OUTCOME_OK;
}

void memory_free(struct memory *m, struct block *block, enum tag tag)
{
    if (!block->piece)
        return;
    assert(m->by_tag[tag] >= block->size);
    m->by_tag[tag] -= block->size;
    const struct block freed = *block;
    allocator_free(m->allocator, block);
    if (m->recorder)
        recorder_free(m->recorder, &freed);
    publish(m);
}

void memory_empty_cache(struct memory *m)
{
    if (m->recorder) /* first: its segment events stand behind its line */
        recorder_mark(m->recorder, "empty_cache", NULL);
    allocator_empty_cache(m->allocator);
    publish(m);
}

const struct refusal *memory_refusal(const struct memory *m)
{
    return &m->refusal;
}

/* Reading the end values marks the end; a phase that failed ends with the next or the close. */
static void end_recorded_phase(struct memory *m)
{
    if (m->phase_recorded)
        recorder_mark(m->recorder, "end", m->live.phase);
    m->phase_recorded = false;
}

void memory_begin_phase(struct memory *m, const char *phase, const char *pass,
                        struct reading repeat)
{
    end_recorded_phase(m);
    snprintf(m->live.phase, sizeof(m->live.phase), "%s", phase);
    snprintf(m->live.pass, sizeof(m->live.pass), "%s", pass ? pass : "");
    m->live.repeat = repeat;
    allocator_reset_peaks(m->allocator);
    const struct allocator_statistics *s = allocator_read(m->allocator);
    m->last_peak = s->all.allocated.peak;
    memcpy(m->peak_by_tag, m->by_tag, sizeof(m->by_tag));
    m->allocated_start = reading_of(s->all.allocated.current);
    m->reserved_start = if_reserved(s, s->all.reserved.current);
    m->used_start = device_used(m);
    m->refused = false;
    if (m->recorder)
        recorder_mark(m->recorder, "begin", phase);
    m->phase_recorded = m->recorder != NULL;
    publish(m);
}

void memory_read(struct memory *m, bool ended, struct counters *counters)
{
    *counters = (struct counters){0};
    fill(m, counters);
    if (!ended)
        return;
    end_recorded_phase(m);
    const struct allocator_statistics *s = allocator_read(m->allocator);
    counters->value[COUNTER_allocated_end_bytes] = reading_of(s->all.allocated.current);
    counters->value[COUNTER_reserved_end_bytes] = if_reserved(s, s->all.reserved.current);
    counters->value[COUNTER_device_used_end_bytes] = device_used(m);
    for (int tag = 0; tag < TAGS; tag++)
        counters->value[end_counter[tag]] = reading_of(m->by_tag[tag]);
}

void memory_refuse_next(struct memory *m)
{
    m->refuse_next = true;
}

void memory_on_alloc(struct memory *m, void (*hook)(void *user), void *user)
{
    m->hook = hook;
    m->user = user;
}

const char *memory_counter_source(const struct memory *m)
{
    return allocator_counter_source(m->allocator);
}

const char *memory_reserved_is(const struct memory *m)
{
    const struct allocator_statistics *s = allocator_read(m->allocator);
    if (!s->reserved_known)
        return NULL;
    return s->reserved_is_upper_bound ? "upper_bound" : "exact";
}

uint64_t memory_close(struct memory *m)
{
    allocator_listen(m->allocator, NULL, NULL); /* closing is nobody's request */
    const uint64_t left = allocator_close(m->allocator);
    end_recorded_phase(m);
    if (m->recorder)
        recorder_close(m->recorder);
    free(m);
    return left;
}
