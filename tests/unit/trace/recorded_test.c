/* Recordings made here, of what the given ones do not do: an allocator at work and what a
 * recorder beside it would have written, replayed with the recorded segments. */
#include "harness/trace/chunk_model.h"
#include "harness/trace/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define DEVICE_TOTAL 150109880320u

static void run(const struct trace *trace, const struct replay_setting *setting,
                struct replay_result *result)
{
    struct text why = TEXT_INIT;
    if (replay_run(trace, setting, result, &why))
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

enum { SLOTS = 60, LINES = 3000 };

/* An allocator at work, and what a recorder beside it would have written. */
struct maker {
    struct device device;
    struct allocator *allocator;
    struct trace trace;
    struct segment_records segments;
    struct piece *live[SLOTS];
    uint64_t handles[3]; /* of the streams that the recorder numbers 0, 1, 2 */
    char *names[1];
};
struct making {
    const char *allocator;
    struct allocator_setting setting;
    uint64_t capacity;
    uint64_t handles[3];
    bool unmarked; /* empty_cache leaves no line */
};

static uint64_t number_of(const struct maker *maker, uint64_t handle)
{
    uint64_t i = 0;
    while (maker->handles[i] != handle)
        i++;
    return i;
}

static void note(void *user, const struct segment_event *event)
{
    struct maker *maker = user;
    struct segment_record *record = &maker->segments.records[maker->segments.count++];
    assert_true(maker->segments.count < LINES);
    *record = (struct segment_record){maker->trace.count, *event};
    record->event.stream = number_of(maker, event->stream);
}

static struct trace_event *add(struct maker *maker, enum trace_op op)
{
    struct trace_event *event = &maker->trace.events[maker->trace.count++];
    *event = (struct trace_event){.op = (uint8_t)op};
    return event;
}

static void make_request(struct maker *maker, uint32_t slot, uint64_t bytes, uint64_t stream)
{
    struct block block;
    struct refusal refusal;
    const bool served = allocator_alloc(maker->allocator, bytes, maker->handles[stream], &block,
                                        &refusal) == OUTCOME_OK;
    struct trace_event *event = add(maker, served ? TRACE_ALLOC : TRACE_OOM);
    event->slot = slot;
    event->stream = stream;
    event->bytes = served ? bytes : (bytes + 511) / 512 * 512;
    event->has_address = served;
    event->address = served ? block.address : 0;
    maker->live[slot] = served ? block.piece : NULL;
}

static void make_line(struct maker *maker, const struct making *making, uint64_t random)
{
    const uint32_t slot = (uint32_t)((random >> 33) % SLOTS);
    if (random % 499 == 0 && !making->unmarked) {
        add(maker, TRACE_EMPTY_CACHE);
        allocator_empty_cache(maker->allocator);
    } else if (maker->live[slot]) {
        if (making->unmarked && random % 47 == 0)
            allocator_empty_cache(maker->allocator);
        allocator_free_piece(maker->allocator, maker->live[slot]);
        maker->live[slot] = NULL;
        add(maker, TRACE_FREE)->slot = slot;
    } else {
        const uint64_t bytes = ((random >> 40) % 4096 + 1) << ((random >> 20) % 15);
        const uint64_t stream = (random >> 60) % 3;
        /* before a request that needs a segment it could not be told from the failure ladder */
        if (making->unmarked && random % 53 == 0 &&
            allocator_has_room(maker->allocator, bytes, maker->handles[stream]))
            allocator_empty_cache(maker->allocator);
        make_request(maker, slot, bytes, stream);
    }
}

static void make(struct maker *maker, const struct making *making,
                 struct address_policy *addresses)
{
    static char phase[] = "all";
    const struct device_setting device = {.capacity = reading_of(making->capacity),
                                          .addresses = addresses};
    struct allocator_setting setting = making->setting;
    struct text why = TEXT_INIT;
    uint64_t random = 2024;
    *maker = (struct maker){.names = {phase}};
    memcpy(maker->handles, making->handles, sizeof(maker->handles));
    maker->trace = (struct trace){.events = xcalloc(LINES + 2, sizeof(struct trace_event)),
                                  .names = maker->names,
                                  .name_count = 1,
                                  .slots = SLOTS};
    maker->segments.records = xcalloc(LINES, sizeof(struct segment_record));
    setting.tie_break = TIE_ADDRESS;
    assert_int_equal(device_open(&maker->device, &device_simulated, &device), OUTCOME_OK);
    if (allocator_open(&maker->allocator, making->allocator, &maker->device, &setting, &why))
        fail_msg("%s", text_string(&why));
    allocator_listen(maker->allocator, note, maker);
    add(maker, TRACE_BEGIN);
    for (int i = 0; i < LINES - 1; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        make_line(maker, making, random);
    }
    add(maker, TRACE_END);
    text_release(&why);
}

static void unmake(struct maker *maker)
{
    allocator_listen(maker->allocator, NULL, NULL);
    allocator_close(maker->allocator);
    device_close(&maker->device);
    free(maker->trace.events);
    free(maker->segments.records);
}

static void expect_figure(const struct replay_phase *phase, enum replay_figure figure,
                          uint64_t value)
{
    if (!phase->figures[figure].known || phase->figures[figure].value != value)
        fail_msg("%s is %llu, not %llu", replay_figure_names[figure],
                 (unsigned long long)phase->figures[figure].value, (unsigned long long)value);
}

/* Replayed on a device that would never refuse, with no limit: what was refused is in the
 * recording. */
static void replays_equal(const struct making *making, bool keeps_setting)
{
    struct maker maker;
    struct replay_result result;
    struct address_policy *addresses = chunk_model_open();
    make(&maker, making, addresses);
    const struct allocator_statistics *s = allocator_read(maker.allocator);
    struct replay_setting setting = {.allocator = making->allocator,
                                     .device_total = DEVICE_TOTAL,
                                     .ties = REPLAY_RECORDED,
                                     .segments = &maker.segments};
    if (keeps_setting)
        setting.allocator_setting = making->setting;
    run(&maker.trace, &setting, &result);
    if (result.first_difference.length)
        fail_msg("%s", text_string(&result.first_difference));
    assert_int_equal(result.segment_differences + result.address_differences, 0);
    assert_int_equal(result.refusals + result.served, 0);
    assert_true(result.addresses_known > 500 && maker.segments.count > 50);
    const struct replay_phase *phase = &result.phases[0];
    expect_figure(phase, REPLAY_allocated_peak, s->all.allocated.peak);
    expect_figure(phase, REPLAY_reserved_peak, s->all.reserved.peak);
    expect_figure(phase, REPLAY_inactive_split_end, s->all.inactive_split.current);
    expect_figure(phase, REPLAY_segments_freed, s->all.segments.freed);
    expect_figure(phase, REPLAY_alloc_retries, s->alloc_retries);
    expect_figure(phase, REPLAY_ooms, s->ooms);
    replay_result_release(&result);
    unmake(&maker);
    chunk_model_close(addresses);
}

/* The recorder numbers streams by age; the walks take the third before the second. */
static void streams_renumbered(void **state)
{
    (void)state;
    const struct making plain = {
        .allocator = "caching", .capacity = 2048 * MIB, .handles = {0, 900, 500}};
    const struct making limited = {.allocator = "caching",
                                   .setting = {.limit = {600 * MIB, true}},
                                   .capacity = 2048 * MIB,
                                   .handles = {7, 900, 500}};
    const struct making expandable = {
        .allocator = "expandable", .capacity = 2048 * MIB, .handles = {800, 900, 500}};
    replays_equal(&plain, true);
    replays_equal(&limited, true);
    replays_equal(&expandable, true);
}

/* The device itself refused: it does so again where the recording shows it. */
static void device_refusals(void **state)
{
    (void)state;
    const struct making caching = {
        .allocator = "caching", .capacity = 500 * MIB, .handles = {0, 1, 2}};
    const struct making oversize = {.allocator = "caching",
                                    .setting = {.max_split_size = {32 * MIB, true}},
                                    .capacity = 500 * MIB,
                                    .handles = {0, 1, 2}};
    const struct making expandable = {
        .allocator = "expandable", .capacity = 500 * MIB, .handles = {0, 1, 2}};
    replays_equal(&caching, true);
    replays_equal(&oversize, true);
    replays_equal(&expandable, true);
}

/* A limit that the replay is not told of shows in the recording, too. */
static void forgotten_limit(void **state)
{
    (void)state;
    const struct making limited = {.allocator = "caching",
                                   .setting = {.limit = {500 * MIB, true}},
                                   .capacity = 2048 * MIB,
                                   .handles = {0, 1, 2}};
    replays_equal(&limited, false);
}

static void collected_garbage(void **state)
{
    (void)state;
    const struct making collecting = {
        .allocator = "caching",
        .setting = {.limit = {500 * MIB, true}, .garbage_collection_threshold = 0.7},
        .capacity = 2048 * MIB,
        .handles = {0, 1, 2}};
    replays_equal(&collecting, true);
}

static void unmarked_empty_cache(void **state)
{
    (void)state;
    const struct making unmarked = {
        .allocator = "caching", .capacity = 600 * MIB, .handles = {0, 1, 2}, .unmarked = true};
    replays_equal(&unmarked, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_renumbered),   cmocka_unit_test(device_refusals),
        cmocka_unit_test(forgotten_limit),      cmocka_unit_test(collected_garbage),
        cmocka_unit_test(unmarked_empty_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
