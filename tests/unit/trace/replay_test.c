/* Recordings of PyTorch 2.11 on an H200, replayed: every figure, block address and segment
 * event. */
#include "harness/trace/chunk_model.h"
#include "harness/trace/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define DEVICE_TOTAL 150109880320u
#define LIMIT 9006592819u

static char four[] = "4";

/* As in the recordings' own table. */
static const struct recording {
    const char *name, *allocator;
    struct allocator_setting setting;
    uint64_t chunk_model_wrong; /* phases whose allocated or reserved is not predicted */
} recordings[] = {
    {"dense_b2_c128_w1024", "caching", {0}, 0},
    {"train_b2_c128_w1024", "caching", {0}, 0},
    {"llama_train", "caching", {0}, 5},
    {"llama_gen", "caching", {0}, 0},
    {"fuzz_a", "caching", {0}, 0},
    {"fuzz_oom", "caching", {.limit = {LIMIT, true}}, 0},
    {"fuzz_gc", "caching", {.limit = {LIMIT, true}, .garbage_collection_threshold = 0.6}, 0},
    {"fuzz_split64", "caching", {.max_split_size = {64 * MIB, true}}, 0},
    {"fuzz_round4", "caching", {.roundup_power2_divisions = four}, 0},
    {"fuzz_expandable", "expandable", {0}, 0},
};
#define RECORDINGS (sizeof(recordings) / sizeof(recordings[0]))

struct loaded {
    struct trace trace;
    struct segment_records segments;
    char expected[256];
};

static void load(struct loaded *loaded, const char *name)
{
    char path[256];
    struct text why = TEXT_INIT;
    snprintf(path, sizeof(path), "%s/traces/%s.trace.csv", TEST_DATA, name);
    if (trace_read(path, &loaded->trace, &why))
        fail_msg("%s", text_string(&why));
    snprintf(path, sizeof(path), "%s/traces/%s.segments.csv", TEST_DATA, name);
    if (segments_read(path, &loaded->segments, &why))
        fail_msg("%s", text_string(&why));
    snprintf(loaded->expected, sizeof(loaded->expected), "%s/traces/%s.expected.csv", TEST_DATA,
             name);
    text_release(&why);
}

static void unload(struct loaded *loaded)
{
    trace_release(&loaded->trace);
    segments_release(&loaded->segments);
}

static void run(const struct trace *trace, const struct replay_setting *setting,
                struct replay_result *result)
{
    struct text why = TEXT_INIT;
    if (replay_run(trace, setting, result, &why))
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

static struct replay_setting setting_of(const struct recording *recording,
                                        enum replay_ties ties, const struct loaded *loaded)
{
    struct replay_setting setting = {
        .allocator = recording->allocator,
        .allocator_setting = recording->setting,
        .device_total = DEVICE_TOTAL,
        .ties = ties,
        .segments = ties == REPLAY_RECORDED ? &loaded->segments : NULL,
    };
    setting.allocator_setting.check = true;
    return setting;
}

static void everything_equal(void **state)
{
    (void)state;
    for (size_t i = 0; i < RECORDINGS; i++) {
        struct loaded loaded;
        struct replay_result result;
        struct text differences = TEXT_INIT, why = TEXT_INIT;
        uint64_t count;
        load(&loaded, recordings[i].name);
        const struct replay_setting setting =
            setting_of(&recordings[i], REPLAY_RECORDED, &loaded);
        run(&loaded.trace, &setting, &result);
        if (result.first_difference.length)
            fail_msg("%s: %s", recordings[i].name, text_string(&result.first_difference));
        assert_int_equal(result.segment_differences, 0);
        assert_int_equal(result.address_differences, 0);
        assert_true(result.addresses_known > 0);
        assert_int_equal(result.refusals, 0);
        assert_int_equal(result.served, 0);
        if (replay_check(&result, loaded.expected, &differences, &count, &why))
            fail_msg("%s", text_string(&why));
        if (count)
            fail_msg("%s: %s", recordings[i].name, text_string(&differences));
        text_release(&differences);
        text_release(&why);
        replay_result_release(&result);
        unload(&loaded);
    }
}

/* Phases in which one of the six allocated and reserved figures differs. */
static uint64_t wrong_phases(const struct text *differences)
{
    uint64_t count = 0;
    char last[64] = "";
    const char *line = text_string(differences);
    for (; *line; line = strchr(line, '\n') + 1) {
        char phase[64], figure[64];
        assert_int_equal(sscanf(line, "%63[^:]: %63s", phase, figure), 2);
        if (strncmp(figure, "allocated_", 10) != 0 && strncmp(figure, "reserved_", 9) != 0)
            continue;
        count += strcmp(last, phase) != 0;
        strcpy(last, phase);
    }
    return count;
}

static void predicted_without_addresses(void **state)
{
    (void)state;
    for (size_t i = 0; i < RECORDINGS; i++) {
        struct loaded loaded;
        struct replay_result result;
        struct text differences = TEXT_INIT, why = TEXT_INIT;
        uint64_t count;
        load(&loaded, recordings[i].name);
        const struct replay_setting setting =
            setting_of(&recordings[i], REPLAY_CHUNK_MODEL, &loaded);
        run(&loaded.trace, &setting, &result);
        assert_int_equal(result.refusals, 0);
        assert_int_equal(result.served, 0);
        if (replay_check(&result, loaded.expected, &differences, &count, &why))
            fail_msg("%s", text_string(&why));
        if (wrong_phases(&differences) != recordings[i].chunk_model_wrong)
            fail_msg("%s: %s", recordings[i].name, text_string(&differences));
        text_release(&differences);
        text_release(&why);
        replay_result_release(&result);
        unload(&loaded);
    }
}

static void expect_figure(const struct replay_phase *phase, enum replay_figure figure,
                          uint64_t value)
{
    if (!phase->figures[figure].known || phase->figures[figure].value != value)
        fail_msg("%s is %llu, not %llu", replay_figure_names[figure],
                 (unsigned long long)phase->figures[figure].value, (unsigned long long)value);
}

/* A recording that differs is said to differ, with the first line of it. */
static void differences_are_seen(void **state)
{
    (void)state;
    struct loaded loaded;
    struct replay_result result;
    load(&loaded, "fuzz_a");
    const struct replay_setting setting = setting_of(&recordings[4], REPLAY_RECORDED, &loaded);
    loaded.segments.records[7].event.bytes += 2 * MIB;
    run(&loaded.trace, &setting, &result);
    assert_true(result.segment_differences > 0);
    assert_non_null(strstr(text_string(&result.first_difference), "line "));
    replay_result_release(&result);
    loaded.segments.records[7].event.bytes -= 2 * MIB;
    loaded.trace.events[100].address += 512 * loaded.trace.events[100].has_address;
    loaded.trace.events[101].address += 512 * loaded.trace.events[101].has_address;
    run(&loaded.trace, &setting, &result);
    assert_true(result.address_differences > 0);
    replay_result_release(&result);
    loaded.segments.count -= 3; /* the recording lacks what is done */
    run(&loaded.trace, &setting, &result);
    assert_true(result.segment_differences > 0);
    replay_result_release(&result);
    unload(&loaded);
}

/* What the recording refused is refused here too, though there is room; unless it is
 * skipped. */
static void recorded_refusals(void **state)
{
    (void)state;
    struct loaded loaded;
    struct replay_result result;
    load(&loaded, "fuzz_oom");
    struct replay_setting setting = {
        .allocator = "caching", .device_total = DEVICE_TOTAL, .ties = REPLAY_CHUNK_MODEL};
    run(&loaded.trace, &setting, &result);
    assert_string_equal(replay_status(&result.phases[6]), "oom");
    expect_figure(&result.phases[8], REPLAY_ooms, 1);
    expect_figure(&result.phases[8], REPLAY_alloc_retries, 1);
    assert_int_equal(result.refusals, 0);
    replay_result_release(&result);
    setting.skip_refusals = true;
    run(&loaded.trace, &setting, &result);
    assert_string_equal(replay_status(&result.phases[6]), "ok");
    expect_figure(&result.phases[8], REPLAY_ooms, 0);
    replay_result_release(&result);
    setting.allocator_setting.limit = reading_of(4096 * MIB); /* the small card */
    run(&loaded.trace, &setting, &result);
    assert_true(result.refusals > 0);
    assert_string_equal(result.refusal.by, "limit");
    assert_int_equal(loaded.trace.events[result.first_refusal - 2].op, TRACE_ALLOC);
    replay_result_release(&result);
    unload(&loaded);
}

/* It runs at C and refuses at C less one page: replayed once more, apart from the search. */
static void smallest_capacity(void **state)
{
    (void)state;
    /* not the long ones: sanitized builds check the allocator after every operation */
    static const size_t chosen[] = {0, 1, 2, 4, 9};
    for (size_t k = 0; k < sizeof(chosen) / sizeof(chosen[0]); k++) {
        const size_t i = chosen[k];
        struct loaded loaded;
        struct replay_result result;
        struct replay_fit fit;
        struct text why = TEXT_INIT;
        load(&loaded, recordings[i].name);
        struct replay_setting setting = setting_of(&recordings[i], REPLAY_CHUNK_MODEL, &loaded);
        setting.allocator_setting.check = false;
        setting.skip_refusals = true;
        if (replay_find_fit(&loaded.trace, &setting, &fit, &why))
            fail_msg("%s: %s", recordings[i].name, text_string(&why));
        assert_int_equal(fit.fits % REPLAY_PAGE, 0);
        assert_true(fit.fits >= fit.allocated_peak);
        setting.allocator_setting.limit = reading_of(fit.fits);
        run(&loaded.trace, &setting, &result);
        assert_int_equal(result.refusals, 0);
        assert_int_equal(result.allocated_peak, fit.allocated_peak);
        replay_result_release(&result);
        setting.allocator_setting.limit = reading_of(fit.fits - REPLAY_PAGE);
        run(&loaded.trace, &setting, &result);
        assert_true(result.refusals > 0);
        replay_result_release(&result);
        text_release(&why);
        unload(&loaded);
    }
}

/* One block of 30 MiB needs 30; one that is larger than the device fits nowhere. */
static void smallest_capacity_of_little(void **state)
{
    (void)state;
    struct trace_event one = {.op = TRACE_ALLOC, .bytes = 30 * MIB};
    struct trace trace = {.events = &one, .count = 1, .slots = 1};
    struct replay_setting setting = {
        .allocator = "caching", .device_total = 64 * MIB, .ties = REPLAY_SEGMENT_ORDER};
    struct replay_fit fit;
    struct text why = TEXT_INIT;
    assert_int_equal(replay_find_fit(&trace, &setting, &fit, &why), 0);
    assert_int_equal(fit.fits, 30 * MIB);
    assert_int_equal(fit.allocated_peak, 30 * MIB);
    one.bytes = 65 * MIB;
    assert_int_equal(replay_find_fit(&trace, &setting, &fit, &why), -1);
    assert_non_null(strstr(text_string(&why), "line 2"));
    text_clear(&why);
    trace.count = 0;
    assert_int_equal(replay_find_fit(&trace, &setting, &fit, &why), -1);
    text_release(&why);
}

static void without_phases(void **state)
{
    (void)state;
    struct trace_event one = {.op = TRACE_ALLOC, .bytes = 30 * MIB};
    struct trace trace = {.events = &one, .count = 1, .slots = 1};
    const struct replay_setting setting = {
        .allocator = "caching", .device_total = 20 * MIB, .ties = REPLAY_CHUNK_MODEL};
    struct replay_result result;
    run(&trace, &setting, &result);
    assert_int_equal(result.count, 1);
    assert_string_equal(result.phases[0].name, "recording");
    assert_string_equal(replay_status(&result.phases[0]), "oom");
    assert_int_equal(result.first_refusal, 2);
    expect_figure(&result.phases[0], REPLAY_allocated_peak, 0);
    replay_result_release(&result);
}

/* The example of the chunk model, in MiB below its border. */
static void chunk_model_example(void **state)
{
    (void)state;
    static const struct {
        uint64_t mib, below;
    } steps[] = {{44, 64}, {160, 224}, {214, 448}, {2, 234}, {256, 704}};
    struct address_policy *chunks = chunk_model_open();
    uint64_t address[5], border = 0, again;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(chunks->place(chunks, steps[i].mib * MIB, &address[i]), OUTCOME_OK);
        if (i == 0)
            border = address[0] + 64 * MIB;
        assert_int_equal(border - address[i], steps[i].below * MIB);
    }
    chunks->give_back(chunks, address[1], 160 * MIB);
    assert_int_equal(chunks->place(chunks, 150 * MIB, &again), OUTCOME_OK);
    assert_int_equal(border - again, 864 * MIB);
    assert_int_equal(chunks->place(chunks, 120 * MIB, &again), OUTCOME_OK);
    assert_int_equal(border - again, 192 * MIB);
    chunk_model_close(chunks);
}

/* Every allocator plays every recording; what has no meaning for one is missing. */
static void other_allocators(void **state)
{
    (void)state;
    struct loaded loaded;
    load(&loaded, "llama_train");
    for (size_t i = 0; allocator_names[i]; i++) {
        struct replay_result result;
        struct replay_setting setting = {.allocator = allocator_names[i],
                                         .device_total = DEVICE_TOTAL,
                                         .ties = REPLAY_CHUNK_MODEL};
        setting.allocator_setting.check = true;
        run(&loaded.trace, &setting, &result);
        assert_int_equal(result.refusals, 0);
        const struct replay_phase *last = &result.phases[result.count - 1];
        expect_figure(last, REPLAY_requested_peak, 1243187332);
        const bool direct = strcmp(allocator_names[i], "direct") == 0;
        const bool async = strcmp(allocator_names[i], "async") == 0;
        assert_int_equal(last->figures[REPLAY_reserved_peak].known, !direct);
        assert_int_equal(last->figures[REPLAY_inactive_split_end].known, !direct && !async);
        if (direct || async)
            expect_figure(last, REPLAY_allocated_peak, 1243187332);
        replay_result_release(&result);
    }
    unload(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_seen),
        cmocka_unit_test(recorded_refusals),
        cmocka_unit_test(smallest_capacity),
        cmocka_unit_test(smallest_capacity_of_little),
        cmocka_unit_test(without_phases),
        cmocka_unit_test(chunk_model_example),
        cmocka_unit_test(other_allocators),
        cmocka_unit_test(everything_equal),
        cmocka_unit_test(predicted_without_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
