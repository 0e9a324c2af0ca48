/* Recordings of PyTorch 2.11 on an H200, replayed: every figure, block address and segment event. */
#include "harness/base/file.h"
#include "harness/memory/replay.h"

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

static struct replay_setting setting_of(const struct recording *recording, enum replay_ties ties,
                                        const struct loaded *loaded)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_equal),
        cmocka_unit_test(predicted_without_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
