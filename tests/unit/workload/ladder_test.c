/* Limits and the failure ladder: what is refused first, what is given back and tried again, and
 * that plan, child and recording agree about it. */
#include "harness/base/file.h"
#include "harness/trace/replay.h"
#include "harness/plan/plan.h"
#include "kernels/workloads/decoder.h"
#include "tests/unit/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static const enum column counters[] = {COLUMN_allocated_start_bytes,
                                       COLUMN_allocated_peak_bytes,
                                       COLUMN_allocated_end_bytes,
                                       COLUMN_reserved_start_bytes,
                                       COLUMN_reserved_peak_bytes,
                                       COLUMN_reserved_end_bytes,
                                       COLUMN_requested_peak_bytes,
                                       COLUMN_peak_kv_cache_bytes,
                                       COLUMN_end_kv_cache_bytes,
                                       COLUMN_alloc_retries,
                                       COLUMN_refused_bytes,
                                       COLUMN_free_bytes_at_failure,
                                       COLUMN_reserved_at_allocated_peak_bytes};

static void assert_same(const struct row *a, const struct row *b)
{
    assert_string_equal(row_text(a, COLUMN_phase), row_text(b, COLUMN_phase));
    assert_int_equal(row_status(a), row_status(b));
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        struct reading x = row_count(a, counters[i]), y = row_count(b, counters[i]);
        if (x.known != y.known || (x.known && x.value != y.value))
            fail_msg("%s of %s: %llu and %llu", column_facts[counters[i]].name,
                     row_text(a, COLUMN_phase), (unsigned long long)x.value,
                     (unsigned long long)y.value);
    }
}

/* --- a limit ------------------------------------------------------------------------------ */

/* The limit refuses, not the device, whose capacity is told as it is. */
static void a_limit_refuses_in_its_own_name(void **state)
{
    static const char *const backends_here[] = {"simulated", "host"};
    (void)state;
    for (int i = 0; i < 2 * 4; i++) {
        struct setting setting = setting_of(1, 1024, 1024, 1);
        struct recorder recorder;
        setting.memory.allocator = allocator_names[i / 2];
        setting.memory.allocator_setting.limit = reading_of(70 * MIB);
        if (run(&setting, backends_here[i % 2], &recorder) == STATUS_error) {
            /* a device without paging has no expandable segments */
            assert_string_equal(allocator_names[i / 2], "expandable");
            forget(&recorder);
            continue;
        }
        const struct row *row = &recorder.rows[recorder.count - 1];
        assert_int_equal(row_status(row), STATUS_oom);
        assert_string_equal(row_text(row, COLUMN_refused_by), "limit");
        assert_true(count_of(row, COLUMN_free_bytes_at_failure) <
                    count_of(row, COLUMN_refused_bytes));
        assert_int_equal(count_of(&recorder.hello, COLUMN_allocator_limit_bytes), 70 * MIB);
        assert_int_equal(count_of(&recorder.hello, COLUMN_device_capacity_bytes), 65536 * MIB);
        forget(&recorder);
    }
}

/* --- the ladder --------------------------------------------------------------------------- */

/* A cache that grows by copies leaves blocks behind that are too small for the next ones. */
#define GROWING                                                                                \
    "[study]\nname = n\nquestion = q\nworkload = decoder\n[device]\nbackend = cuda\n"          \
    "[decoder]\nkv_layout = grow\nheads = 1\nkv_heads = 1\nhead_dim = 128\nvocabulary = 32\n"  \
    "intermediate = 16\n[point]\nbatch = 256\ncontext = 84\ngenerated = 40\nwidth = 16\n"      \
    "layers = 1\ndtype = float32\nwarmup = 0\nrepeats = 1\n[input a]\n"

static void read_study(struct study *study)
{
    struct text bytes = TEXT_INIT, errors = TEXT_INIT;
    text_add(&bytes, GROWING);
    if (study_parse("F", &bytes, NULL, 0, study, &errors) != 0)
        fail_msg("%s", text_string(&errors));
    text_release(&bytes);
    text_release(&errors);
}

static struct setting setting_of_study(const struct study *study, const struct seat *room)
{
    struct setting setting = {.workload = study->setting.workload,
                              .point = study->setting.point,
                              .dtype = study->setting.dtype,
                              .warmup = study->setting.warmup,
                              .repeats = study->setting.repeats,
                              .seed = study->setting.seed,
                              .options = study->setting.options};
    setting.memory.device.capacity = room->capacity;
    setting.memory.allocator = study->setting.memory.allocator;
    setting.memory.allocator_setting.limit = room->limit;
    return setting;
}

static void predict(const struct study *study, const struct seat *room,
                    struct prediction *prediction)
{
    struct text why = TEXT_INIT;
    if (plan_predict(study, &study->setting.point, PHASES_SPLIT, room, prediction, &why) != 0)
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

/* With little room the ladder is climbed (and the run still ends well), with less it is climbed
 * in vain; a limit and a capacity of the same size are two ways to the same counters. */
static void plan_and_child_climb_alike(void **state)
{
    struct study study;
    (void)state;
    read_study(&study);
    for (int i = 0; i < 4; i++) {
        bool by_limit = i % 2, fits = i < 2;
        struct reading room_bytes = reading_of((fits ? 116 : 112) * MIB);
        const struct seat room = {.capacity =
                                      by_limit ? reading_of((uint64_t)1 << 40) : room_bytes,
                                  .limit = by_limit ? room_bytes : reading_missing()};
        const struct setting setting = setting_of_study(&study, &room);
        struct prediction plan;
        struct recorder host;
        predict(&study, &room, &plan);
        assert_int_equal(plan.fits, fits);
        assert_int_equal(run(&setting, "host", &host), fits ? STATUS_ok : STATUS_oom);
        for (size_t r = 0; r < host.count; r++)
            assert_same(&plan.rows[r], &host.rows[r]);
        const struct row *last = &host.rows[host.count - 1];
        assert_int_equal(count_of(last, COLUMN_alloc_retries), 3);
        if (!fits)
            assert_string_equal(row_text(last, COLUMN_refused_by),
                                by_limit ? "limit" : "device");
        forget(&host);
        prediction_release(&plan);
    }
    study_release(&study);
}

/* --- recordings --------------------------------------------------------------------------- */

static const struct {
    enum replay_figure figure;
    enum column column;
} figures[] = {{REPLAY_allocated_start, COLUMN_allocated_start_bytes},
               {REPLAY_allocated_peak, COLUMN_allocated_peak_bytes},
               {REPLAY_allocated_end, COLUMN_allocated_end_bytes},
               {REPLAY_reserved_start, COLUMN_reserved_start_bytes},
               {REPLAY_reserved_peak, COLUMN_reserved_peak_bytes},
               {REPLAY_reserved_end, COLUMN_reserved_end_bytes},
               {REPLAY_requested_peak, COLUMN_requested_peak_bytes},
               {REPLAY_alloc_retries, COLUMN_alloc_retries}};

static void assert_figures(const struct replay_result *result, const struct recorder *seen)
{
    assert_int_equal(result->count, seen->count);
    for (size_t r = 0; r < seen->count; r++) {
        const struct replay_phase *phase = &result->phases[r];
        const struct row *row = &seen->rows[r];
        assert_string_equal(phase->name, row_text(row, COLUMN_phase));
        assert_string_equal(replay_status(phase), status_facts[row_status(row)].name);
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
            struct reading there = phase->figures[figures[i].figure];
            struct reading here = row_count(row, figures[i].column);
            if (here.known && (!there.known || here.value != there.value))
                fail_msg("%s of %s: the child had %llu, its recording %llu",
                         replay_figure_names[figures[i].figure], phase->name,
                         (unsigned long long)here.value, (unsigned long long)there.value);
        }
    }
}

/* On a simulated device of the same room, and on one that answers as the recorded one did: its
 * room is not told, and every segment and address must come again. */
static void assert_replays(const char *path, const struct setting *setting,
                           const struct recorder *seen)
{
    const struct memory_setting *memory = &setting->memory;
    struct replay_setting how = {.allocator = memory->allocator,
                                 .allocator_setting = memory->allocator_setting,
                                 .device_total = memory->device.capacity.value,
                                 .ties = REPLAY_SEGMENT_ORDER};
    char *segments_path = trace_segments_path(path);
    struct segment_records segments;
    struct trace trace;
    struct replay_result result;
    struct text why = TEXT_INIT;
    if (trace_read(path, &trace, &why) != 0 || replay_run(&trace, &how, &result, &why) != 0 ||
        segments_read(segments_path, &segments, &why) != 0)
        fail_msg("%s", text_string(&why));
    assert_true(trace.tagged);
    assert_figures(&result, seen);
    replay_result_release(&result);
    if (strcmp(memory->allocator, "caching") == 0) {
        how.device_total = (uint64_t)1 << 50;
        how.ties = REPLAY_RECORDED;
        how.segments = &segments;
        assert_int_equal(replay_run(&trace, &how, &result, &why), 0);
        if (result.first_difference.length)
            fail_msg("%s", text_string(&result.first_difference));
        assert_true(result.addresses_known > 0);
        assert_figures(&result, seen);
        replay_result_release(&result);
    }
    segments_release(&segments);
    trace_release(&trace);
    free(segments_path);
}

static void recordings_replay_to_the_childs_counters(void **state)
{
    static const char *const backends_here[] = {"simulated", "host"};
    const char *const allocators[] = {"caching", "direct"};
    char folder[] = "/tmp/highwater-ladder-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    char *path = xasprintf("%s/trace.csv", folder);
    for (int i = 0; i < 2 * 2 * 2 * 3; i++) {
        struct setting setting = setting_of(2, 128, 192, 3);
        struct recorder seen;
        setting.memory.trace = path;
        setting.memory.allocator = allocators[i / 2 % 2];
        setting.phases = i / 4 % 2; /* PHASES_SPLIT, PHASES_WHOLE */
        setting.empty_cache = i / 8;
        assert_int_equal(run(&setting, backends_here[i % 2], &seen), STATUS_ok);
        assert_replays(path, &setting, &seen);
        forget(&seen);
        remove_trace(path);
    }
    free(path);
    rmdir(folder);
}

/* Through the ladder, and to a refusal. */
static void recordings_climb_again(void **state)
{
    char folder[] = "/tmp/highwater-ladder-XXXXXX";
    struct study study;
    (void)state;
    assert_non_null(mkdtemp(folder));
    char *path = xasprintf("%s/trace.csv", folder);
    read_study(&study);
    for (uint64_t mib = 108; mib <= 150; mib += 2)
        for (int by_limit = 0; by_limit < 2; by_limit++) {
            struct reading bytes = reading_of(mib * MIB);
            const struct seat room = {.capacity =
                                          by_limit ? reading_of((uint64_t)1 << 40) : bytes,
                                      .limit = by_limit ? bytes : reading_missing()};
            struct setting setting = setting_of_study(&study, &room);
            struct recorder seen;
            setting.memory.trace = path;
            enum status status = run(&setting, "simulated", &seen);
            assert_int_equal(status, mib < 114 ? STATUS_oom : STATUS_ok);
            assert_replays(path, &setting, &seen);
            forget(&seen);
            remove_trace(path);
        }
    study_release(&study);
    free(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_limit_refuses_in_its_own_name),
        cmocka_unit_test(plan_and_child_climb_alike),
        cmocka_unit_test(recordings_replay_to_the_childs_counters),
        cmocka_unit_test(recordings_climb_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
