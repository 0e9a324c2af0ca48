/* memory: tags, the composition of the peak, phases, the live page, refusals and recordings. */
#include "harness/base/file.h"
#include "harness/workload/memory.h"
#include "harness/trace/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static char caching[] = "caching", direct[] = "direct", async[] = "async";

struct stage {
    struct device device;
    struct memory *memory;
    struct live_page *page;
    int slot;
    char live_path[64], trace_path[64];
};

static void open_page(struct stage *stage)
{
    struct text why = TEXT_INIT;
    snprintf(stage->live_path, sizeof(stage->live_path), "memory_test.%d.live", (int)getpid());
    unlink(stage->live_path);
    assert_int_equal(live_create(stage->live_path, &why), 0);
    assert_int_equal(live_open(stage->live_path, &stage->page, &why), 0);
    stage->slot = live_claim(stage->page, 4711);
    assert_true(stage->slot >= 0);
    text_release(&why);
}

static void set(struct stage *stage, uint64_t capacity, char *allocator, bool records)
{
    struct text why = TEXT_INIT;
    struct memory_setting setting = {.device = {.capacity = reading_of(capacity)},
                                     .allocator = allocator};
    *stage = (struct stage){.slot = -1};
    open_page(stage);
    setting.allocator_setting.check = true;
    if (records) {
        snprintf(stage->trace_path, sizeof(stage->trace_path), "memory_test.%d.csv",
                 (int)getpid());
        unlink(stage->trace_path);
        setting.trace = stage->trace_path;
    }
    assert_int_equal(device_open(&stage->device, &device_simulated, &setting.device),
                     OUTCOME_OK);
    if (memory_open(&stage->memory, &stage->device, &setting, stage->page, stage->slot, &why))
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

static void clear(struct stage *stage)
{
    assert_int_equal(memory_close(stage->memory), 0);
    device_close(&stage->device);
    live_close(stage->page);
    unlink(stage->live_path);
}

static struct block take(struct stage *stage, uint64_t bytes, enum tag tag)
{
    struct block block;
    assert_int_equal(memory_alloc(stage->memory, bytes, tag, &block), OUTCOME_OK);
    return block;
}

static struct live_state live(struct stage *stage)
{
    struct live_state state;
    assert_true(live_read(stage->page, stage->slot, &state));
    return state;
}

static void expect(const struct counters *counters, enum counter counter, uint64_t value)
{
    if (!counters->value[counter].known || counters->value[counter].value != value)
        fail_msg("%s: %s%llu instead of %llu", column_facts[counter_column[counter]].name,
                 counters->value[counter].known ? "" : "missing, ",
                 (unsigned long long)counters->value[counter].value, (unsigned long long)value);
}

static void expect_missing(const struct counters *counters, enum counter counter)
{
    if (counters->value[counter].known)
        fail_msg("%s is not missing", column_facts[counter_column[counter]].name);
}

/* The composition is that of the peak's moment, and sums to it. */
static void composition_at_the_peak(void **state)
{
    (void)state;
    struct stage stage;
    struct counters counters;
    set(&stage, 256 * MIB, caching, false);
    memory_begin_phase(stage.memory, "model_load", NULL, reading_missing());
    struct block weights = take(&stage, 16 * MIB, TAG_weights);
    memory_read(stage.memory, true, &counters);
    expect(&counters, COUNTER_allocated_start_bytes, 0);
    expect(&counters, COUNTER_allocated_end_bytes, 16 * MIB);
    memory_begin_phase(stage.memory, "forward", "warm", reading_of(2));
    struct block a = take(&stage, 12 * MIB, TAG_activations);
    struct block b = take(&stage, 30 * MIB, TAG_kv_cache);
    memory_free(stage.memory, &a, TAG_activations);
    struct block c = take(&stage, 2 * MIB, TAG_workspace); /* below the peak */
    memory_read(stage.memory, true, &counters);
    expect(&counters, COUNTER_allocated_start_bytes, 16 * MIB);
    expect(&counters, COUNTER_allocated_peak_bytes, 58 * MIB);
    expect(&counters, COUNTER_allocated_end_bytes, 48 * MIB);
    expect(&counters, COUNTER_reserved_at_allocated_peak_bytes, 58 * MIB);
    expect(&counters, COUNTER_reserved_peak_bytes, 58 * MIB); /* c came out of a's segment */
    expect(&counters, COUNTER_peak_weights_bytes, 16 * MIB);
    expect(&counters, COUNTER_peak_activations_bytes, 12 * MIB);
    expect(&counters, COUNTER_peak_kv_cache_bytes, 30 * MIB);
    expect(&counters, COUNTER_peak_workspace_bytes, 0);
    expect(&counters, COUNTER_end_activations_bytes, 0);
    expect(&counters, COUNTER_end_workspace_bytes, 2 * MIB);
    expect(&counters, COUNTER_alloc_retries, 0);
    expect_missing(&counters, COUNTER_device_used_start_bytes); /* nothing was observed */
    expect_missing(&counters, COUNTER_device_used_end_bytes);
    expect_missing(&counters, COUNTER_driver_peak_bytes);
    expect_missing(&counters, COUNTER_refused_bytes);
    assert_string_equal(memory_counter_source(stage.memory), "highwater.caching");
    assert_string_equal(memory_reserved_is(stage.memory), "exact");
    memory_free(stage.memory, &weights, TAG_weights);
    memory_free(stage.memory, &b, TAG_kv_cache);
    memory_free(stage.memory, &c, TAG_workspace);
    clear(&stage);
}

/* Killed now, the child would have said this much. */
static void live_page_follows(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 64 * MIB, caching, false);
    assert_int_equal(live(&stage).pid, 4711);
    assert_string_equal(live(&stage).phase, "");
    memory_begin_phase(stage.memory, "cold_forward", "first", reading_of(1));
    struct block a = take(&stage, 20 * MIB, TAG_inputs);
    struct live_state now = live(&stage);
    assert_string_equal(now.phase, "cold_forward");
    assert_string_equal(now.pass, "first");
    assert_true(now.repeat.known && now.repeat.value == 1);
    assert_int_equal(now.pid, 4711);
    expect(&now.counters, COUNTER_allocated_peak_bytes, 20 * MIB);
    expect(&now.counters, COUNTER_peak_inputs_bytes, 20 * MIB);
    expect_missing(&now.counters, COUNTER_allocated_end_bytes);
    assert_string_equal(now.refused_by, "");
    struct block b;
    assert_int_equal(memory_alloc(stage.memory, 50 * MIB, TAG_other, &b), OUTCOME_OOM);
    now = live(&stage);
    assert_string_equal(now.refused_by, "device");
    expect(&now.counters, COUNTER_refused_bytes, 50 * MIB);
    expect(&now.counters, COUNTER_free_bytes_at_failure, 44 * MIB);
    expect(&now.counters, COUNTER_alloc_retries, 1);
    expect(&now.counters, COUNTER_peak_other_bytes, 0);
    memory_free(stage.memory, &a, TAG_inputs);
    clear(&stage);
}

static void hook_count(void *user)
{
    ++*(int *)user;
}

static void refusal_on_request(void **state)
{
    (void)state;
    struct stage stage;
    struct block block;
    int handed_out = 0;
    set(&stage, 64 * MIB, caching, false);
    memory_on_alloc(stage.memory, hook_count, &handed_out);
    struct block a = take(&stage, 1, TAG_other);
    memory_refuse_next(stage.memory);
    assert_int_equal(memory_alloc(stage.memory, 0, TAG_other, &block), OUTCOME_OK);
    assert_int_equal(memory_alloc(stage.memory, 1000, TAG_other, &block), OUTCOME_OOM);
    assert_string_equal(memory_refusal(stage.memory)->by, "device");
    assert_int_equal(memory_refusal(stage.memory)->bytes, 1000);
    assert_int_equal(memory_refusal(stage.memory)->free.value, 62 * MIB);
    block = take(&stage, 1000, TAG_other); /* only the next one */
    assert_int_equal(handed_out, 2);
    memory_free(stage.memory, &block, TAG_other);
    memory_free(stage.memory, &a, TAG_other);
    clear(&stage);
}

static void other_allocators(void **state)
{
    (void)state;
    struct stage stage;
    struct counters counters;
    set(&stage, 64 * MIB, direct, false);
    memory_begin_phase(stage.memory, "p", NULL, reading_missing());
    struct block a = take(&stage, 1000, TAG_other);
    memory_read(stage.memory, true, &counters);
    expect(&counters, COUNTER_allocated_peak_bytes, 1000);
    expect_missing(&counters, COUNTER_reserved_start_bytes);
    expect_missing(&counters, COUNTER_reserved_peak_bytes);
    expect_missing(&counters, COUNTER_reserved_end_bytes);
    expect_missing(&counters, COUNTER_reserved_at_allocated_peak_bytes);
    expect_missing(&counters, COUNTER_alloc_retries);
    assert_null(memory_reserved_is(stage.memory));
    memory_free(stage.memory, &a, TAG_other);
    clear(&stage);
    set(&stage, 64 * MIB, async, false);
    memory_begin_phase(stage.memory, "p", NULL, reading_missing());
    a = take(&stage, 1000, TAG_weights);
    memory_read(stage.memory, true, &counters);
    expect(&counters, COUNTER_allocated_peak_bytes, 1000);
    expect(&counters, COUNTER_peak_weights_bytes, 1000);
    expect(&counters, COUNTER_reserved_peak_bytes, 32 * MIB);
    assert_string_equal(memory_reserved_is(stage.memory), "upper_bound");
    memory_free(stage.memory, &a, TAG_weights);
    clear(&stage);
}

static void leaks_are_returned(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 64 * MIB, caching, false);
    take(&stage, 1, TAG_other);
    take(&stage, MIB, TAG_other);
    assert_int_equal(memory_close(stage.memory), 2);
    device_close(&stage.device);
    live_close(stage.page);
    unlink(stage.live_path);
}

static void remove_recording(const char *path)
{
    char *segments = trace_segments_path(path);
    unlink(path);
    unlink(segments);
    free(segments);
}

/* What was recorded replays to the same figures, also up to the refusal. */
static void recording_replays(void **state)
{
    (void)state;
    struct stage stage;
    struct counters counters[2];
    struct block blocks[20], refused;
    struct text why = TEXT_INIT, contents = TEXT_INIT;
    set(&stage, 64 * MIB, caching, true);
    memory_begin_phase(stage.memory, "load", NULL, reading_missing());
    for (size_t i = 0; i < 20; i++)
        blocks[i] = take(&stage, (i + 1) * 100000, i % 2 ? TAG_weights : TAG_inputs);
    memory_read(stage.memory, true, &counters[0]);
    memory_begin_phase(stage.memory, "run", "warm", reading_of(1));
    for (size_t i = 0; i < 20; i += 3)
        memory_free(stage.memory, &blocks[i], i % 2 ? TAG_weights : TAG_inputs);
    memory_empty_cache(stage.memory);
    assert_int_equal(memory_alloc(stage.memory, 40 * MIB + 1, TAG_other, &refused),
                     OUTCOME_OOM);
    memory_read(stage.memory, false, &counters[1]);
    for (size_t i = 0; i < 20; i++)
        memory_free(stage.memory, &blocks[i], i % 2 ? TAG_weights : TAG_inputs);
    clear(&stage);

    assert_int_equal(file_read(stage.trace_path, 0, &contents, &why), 0);
    assert_non_null(strstr(text_string(&contents), "\nalloc,1,100000,0,"));
    assert_non_null(strstr(text_string(&contents), ",inputs\n"));
    assert_non_null(strstr(text_string(&contents), "\noom,,41943552,0,,\n"));
    struct trace trace;
    struct replay_result result;
    if (trace_read(stage.trace_path, &trace, &why))
        fail_msg("%s", text_string(&why));
    assert_true(trace.tagged);
    const struct replay_setting setting = {
        .allocator = caching, .device_total = 64 * MIB, .ties = REPLAY_SEGMENT_ORDER};
    assert_int_equal(replay_run(&trace, &setting, &result, &why), 0);
    assert_int_equal(result.count, 2);
    assert_int_equal(result.refusals, 0);
    assert_string_equal(replay_status(&result.phases[0]), "ok");
    assert_string_equal(replay_status(&result.phases[1]), "oom");
    for (size_t i = 0; i < 2; i++) {
        expect(&counters[i], COUNTER_allocated_peak_bytes,
               result.phases[i].figures[REPLAY_allocated_peak].value);
        expect(&counters[i], COUNTER_reserved_peak_bytes,
               result.phases[i].figures[REPLAY_reserved_peak].value);
        expect(&counters[i], COUNTER_requested_peak_bytes,
               result.phases[i].figures[REPLAY_requested_peak].value);
        expect(&counters[i], COUNTER_alloc_retries,
               result.phases[i].figures[REPLAY_alloc_retries].value);
    }
    replay_result_release(&result);
    trace_release(&trace);
    remove_recording(stage.trace_path);
    text_release(&why);
    text_release(&contents);
}

static void recording_is_never_overwritten(void **state)
{
    (void)state;
    struct stage stage;
    set(&stage, 64 * MIB, caching, true);
    struct memory *second = NULL;
    struct memory_setting setting = {.allocator = caching, .trace = stage.trace_path};
    struct text why = TEXT_INIT;
    assert_int_equal(memory_open(&second, &stage.device, &setting, NULL, -1, &why), -1);
    assert_null(second);
    assert_non_null(strstr(text_string(&why), stage.trace_path));
    clear(&stage);
    remove_recording(stage.trace_path);
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composition_at_the_peak),
        cmocka_unit_test(live_page_follows),
        cmocka_unit_test(refusal_on_request),
        cmocka_unit_test(other_allocators),
        cmocka_unit_test(leaks_are_returned),
        cmocka_unit_test(recording_replays),
        cmocka_unit_test(recording_is_never_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
