/* Whole runs and emptied caches: what differs from a split run, and what must not. */
#include "harness/plan/plan.h"
#include "kernels/workloads/decoder.h"
#include "tests/unit/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const both_backends[] = {"simulated", "host"};

static const struct row *last_of(const struct recorder *recorder)
{
    return &recorder->rows[recorder->count - 1];
}

static double result_of(const struct row *row)
{
    assert_int_equal(row->cell[COLUMN_result_value].kind, CELL_REAL);
    return row->cell[COLUMN_result_value].real;
}

/* --- whole -------------------------------------------------------------------------------- */

/* The cycle begins where libraries ended, ends where the last warm execution ended, and its
 * peak is the largest of its parts. */
static void a_cycle_is_all_its_parts(void **state)
{
    (void)state;
    for (size_t b = 0; b < 2; b++) {
        struct setting setting = setting_of(2, 96, 128, 3);
        struct recorder split, whole;
        uint64_t peak = 0, tokens = 0;
        assert_int_equal(run(&setting, both_backends[b], &split), STATUS_ok);
        setting.phases = PHASES_WHOLE;
        assert_int_equal(run(&setting, both_backends[b], &whole), STATUS_ok);
        assert_int_equal(split.count, 8);
        assert_int_equal(whole.count, 3);
        assert_int_equal(whole.begins, 3);
        assert_string_equal(row_text(&whole.hello, COLUMN_phases), "whole");
        assert_string_equal(row_text(&split.hello, COLUMN_phases), "split");
        for (size_t i = 0; i < 2; i++)
            assert_string_equal(row_text(&whole.rows[i], COLUMN_phase),
                                row_text(&split.rows[i], COLUMN_phase));
        for (size_t i = 2; i < 8; i++) {
            struct reading done = row_count(&split.rows[i], COLUMN_tokens);
            uint64_t one = count_of(&split.rows[i], COLUMN_allocated_peak_bytes);
            peak = one > peak ? one : peak;
            tokens += done.known ? done.value : 0;
        }
        const struct row *cycle = last_of(&whole), *warm = last_of(&split);
        assert_string_equal(row_text(cycle, COLUMN_phase), "cycle");
        assert_null(row_text(cycle, COLUMN_pass));
        assert_false(row_count(cycle, COLUMN_repeat).known);
        assert_int_equal(count_of(cycle, COLUMN_allocated_peak_bytes), peak);
        assert_int_equal(count_of(cycle, COLUMN_tokens), tokens);
        assert_int_equal(count_of(cycle, COLUMN_processed_batch), 2);
        for (int c = COLUMN_allocated_start_bytes; c <= COLUMN_reserved_end_bytes; c += 3)
            assert_int_equal(count_of(cycle, (enum column)c),
                             count_of(&split.rows[1], (enum column)(c + 2)));
        assert_int_equal(count_of(cycle, COLUMN_allocated_end_bytes),
                         count_of(warm, COLUMN_allocated_end_bytes));
        assert_int_equal(row_count(cycle, COLUMN_duration_ns).known, b == 1);
        if (b == 1) /* the last result is looked at, and it is the same */
            assert_true(result_of(cycle) == result_of(warm));
        forget(&split);
        forget(&whole);
    }
}

static struct device_ops counted_device;
static struct ops counted_ops;
static size_t waits, means, waits_at_begin, waits_at_end;

static enum outcome wait_and_count(struct device *device)
{
    waits++;
    return device_host.synchronise(device);
}

static enum outcome mean_and_count(struct math *math, struct array x, uint64_t count,
                                   double *mean)
{
    means++;
    return ops_host.mean_square(math, x, count, mean);
}

static void note_waits(void *user, const char *verb, const struct row *row)
{
    const char *phase = row_text(row, COLUMN_phase);
    (void)user;
    if (strcmp(verb, "begin") == 0 && strcmp(phase, "cycle") == 0)
        waits_at_begin = waits;
    if (strcmp(verb, "end") == 0 && strcmp(phase, "cycle") == 0)
        waits_at_end = waits;
}

static void nothing_waits_inside_a_cycle(void **state)
{
    struct setting setting = setting_of(1, 4, 8, 2);
    struct phase_listener listener = {.line = note_waits};
    const struct backend counted = {.device = &counted_device, .ops = &counted_ops};
    (void)state;
    counted_device = device_host;
    counted_device.synchronise = wait_and_count;
    counted_ops = ops_host;
    counted_ops.mean_square = mean_and_count;
    setting.repeats = 4;
    setting.phases = PHASES_WHOLE;
    waits = means = 0;
    assert_int_equal(session_run(&setting, &counted, NULL, &listener), STATUS_ok);
    assert_int_equal(waits_at_end - waits_at_begin, 1); /* the one that closes it */
    assert_int_equal(means, 1);
    setting.phases = PHASES_SPLIT;
    waits = means = 0;
    assert_int_equal(session_run(&setting, &counted, NULL, &listener), STATUS_ok);
    assert_int_equal(means, 5);
    assert_true(waits >= 2 * 9);
}

/* A fault is named by its place in the workload, wherever that lies. */
static void faults_fire_inside_a_cycle(void **state)
{
    static const char *const parts[] = {"model_load", "inputs", "cold_forward", "warmup",
                                        "warm_forward"};
    (void)state;
    for (size_t i = 0; i < 10; i++) {
        struct setting setting = setting_of(1, 2, 8, 2);
        struct recorder recorder;
        char fault[64];
        snprintf(fault, sizeof fault, "%s:oom", parts[i % 5]);
        setting.fault = fault;
        setting.phases = PHASES_WHOLE;
        assert_int_equal(run(&setting, both_backends[i / 5], &recorder), STATUS_oom);
        assert_int_equal(recorder.count, 3);
        assert_string_equal(row_text(last_of(&recorder), COLUMN_phase), "cycle");
        assert_string_equal(row_text(last_of(&recorder), COLUMN_partial), "yes");
        /* which part it was is seen from what had been handed out */
        uint64_t weights = count_of(last_of(&recorder), COLUMN_peak_weights_bytes);
        uint64_t inputs = count_of(last_of(&recorder), COLUMN_peak_inputs_bytes);
        assert_int_equal(weights > 0, i % 5 > 0);
        assert_int_equal(inputs > 0, i % 5 > 1);
        forget(&recorder);
    }
}

static void open_phase(struct session *session)
{
    session_context(session);
    session_libraries(session);
    session_begin(session, "inputs", NULL, 0);
}

static void a_phase_left_open_is_an_error(void **state)
{
    struct workload open = *workload_find("dense");
    struct setting setting = setting_of(1, 1, 1, 1);
    (void)state;
    open.run = open_phase;
    setting.workload = &open;
    for (int whole = 0; whole < 2; whole++) {
        struct recorder recorder;
        setting.phases = whole ? PHASES_WHOLE : PHASES_SPLIT;
        assert_int_equal(run(&setting, "host", &recorder), STATUS_error);
        assert_non_null(strstr(row_text(last_of(&recorder), COLUMN_error),
                               whole ? "phase cycle open" : "phase inputs open"));
        forget(&recorder);
    }
}

/* --- empty_cache -------------------------------------------------------------------------- */

/* The input's segment of 20 MiB has room for the hidden activation of 16 MiB; the output of
 * 4 MiB takes another one, which is given back while nothing is in it. */
static void caches_are_emptied_where_asked(void **state)
{
    (void)state;
    for (int when = EMPTY_CACHE_NEVER; when <= EMPTY_CACHE_BETWEEN_PHASES; when++)
        for (int whole = 0; whole < 2; whole++) {
            struct setting setting = setting_of(1, 1024, 1024, 1);
            struct recorder recorder;
            setting.empty_cache = when;
            setting.phases = whole ? PHASES_WHOLE : PHASES_SPLIT;
            setting.repeats = 3;
            assert_int_equal(run(&setting, "simulated", &recorder), STATUS_ok);
            assert_string_equal(row_text(&recorder.hello, COLUMN_empty_cache),
                                empty_cache_names[when]);
            if (whole) {
                forget(&recorder);
                continue;
            }
            uint64_t bare = count_of(&recorder.rows[3], COLUMN_reserved_end_bytes);
            uint64_t full = count_of(&recorder.rows[4], COLUMN_reserved_end_bytes);
            assert_int_equal(full - bare, 20 << 20);
            for (size_t i = 5; i < recorder.count; i++) {
                bool emptied = when == EMPTY_CACHE_BETWEEN_PHASES ||
                               (when == EMPTY_CACHE_BETWEEN_REPEATS && i > 6);
                assert_int_equal(count_of(&recorder.rows[i], COLUMN_reserved_start_bytes),
                                 emptied ? bare : full);
                /* not inside the phase itself: what it took it still has at its end */
                assert_int_equal(count_of(&recorder.rows[i], COLUMN_reserved_end_bytes), full);
            }
            forget(&recorder);
        }
}

static size_t emptied_in(const char *path)
{
    char line[256];
    size_t found = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        found += strncmp(line, "empty_cache,", 12) == 0;
    fclose(file);
    return found;
}

static void as_often_as_asked(void **state)
{
    /* 8 phases with 2 repeats, 3 of a whole run; before the first there is no memory yet */
    static const size_t wanted[2][3] = {{0, 1, 7}, {0, 1, 2}};
    char folder[] = "/tmp/highwater-cycle-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    char *path = xasprintf("%s/trace.csv", folder);
    for (int whole = 0; whole < 2; whole++)
        for (int when = 0; when < 3; when++)
            for (size_t b = 0; b < 2; b++) {
                struct setting setting = setting_of(1, 16, 32, 2);
                struct recorder recorder;
                setting.empty_cache = when;
                setting.phases = whole ? PHASES_WHOLE : PHASES_SPLIT;
                setting.memory.trace = path;
                assert_int_equal(run(&setting, both_backends[b], &recorder), STATUS_ok);
                assert_int_equal(emptied_in(path), wanted[whole][when]);
                forget(&recorder);
                remove_trace(path);
            }
    free(path);
    rmdir(folder);
}

/* A repeat of the decoder is two phases; between them the cache stays. */
static void a_repeat_may_be_several_phases(void **state)
{
    char folder[] = "/tmp/highwater-cycle-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    char *path = xasprintf("%s/trace.csv", folder);
    for (int i = 0; i < 4; i++) {
        struct setting setting = setting_of(1, 4, 64, 1);
        struct decoder_options options;
        struct recorder recorder;
        option_defaults(decoder_options, &options);
        setting.workload = workload_find("decoder");
        setting.options = &options;
        setting.point.value[DIMENSION_generated] = reading_of(2);
        setting.point.value[DIMENSION_layers] = reading_of(1);
        setting.phases = i % 2; /* PHASES_SPLIT, PHASES_WHOLE */
        setting.repeats = 3;
        setting.empty_cache = EMPTY_CACHE_BETWEEN_REPEATS;
        setting.memory.trace = path;
        assert_int_equal(run(&setting, both_backends[i / 2], &recorder), STATUS_ok);
        assert_int_equal(recorder.count, i % 2 ? 3 : 7 + 6);
        assert_int_equal(emptied_in(path), 2);
        forget(&recorder);
        option_release(decoder_options, &options);
        remove_trace(path);
    }
    free(path);
    rmdir(folder);
}

/* --- the plan ----------------------------------------------------------------------------- */

static void a_cycle_is_predicted(void **state)
{
    static const struct {
        uint64_t mib;
        const char *failed;
        enum status status[3];
    } cases[] = {{1024, "", {STATUS_ok, STATUS_ok, STATUS_ok}},
                 {34, "cycle", {STATUS_ok, STATUS_ok, STATUS_oom}},
                 {20, "libraries", {STATUS_ok, STATUS_oom, STATUS_not_reached}}};
    static const char *const phases[] = {"context", "libraries", "cycle"};
    struct text bytes = TEXT_INIT, why = TEXT_INIT;
    struct study study;
    (void)state;
    text_add(&bytes, "[study]\nname=n\nquestion=q\nworkload=dense\n[device]\n"
                     "backend=simulated\ncapacity=1GiB\n[point]\nwidth=512\n[input a]\n");
    assert_int_equal(study_parse("F", &bytes, NULL, 0, &study, &why), 0);
    for (size_t i = 0; i < 3; i++) {
        const struct seat room = {.capacity = reading_of(cases[i].mib << 20)};
        struct prediction plan;
        assert_int_equal(
            plan_predict(&study, &study.setting.point, PHASES_WHOLE, &room, &plan, &why), 0);
        assert_int_equal(plan.count, 3);
        assert_string_equal(text_string(&plan.failed_phase), cases[i].failed);
        for (size_t r = 0; r < 3; r++) {
            assert_string_equal(row_text(&plan.rows[r], COLUMN_phase), phases[r]);
            assert_int_equal(row_status(&plan.rows[r]), cases[i].status[r]);
        }
        prediction_release(&plan);
    }
    study_release(&study);
    text_release(&bytes);
    text_release(&why);
}

static void simulated_counts_as_host_does(void **state)
{
    const char *const allocators[] = {"caching", "direct"};
    (void)state;
    for (int i = 0; i < 2 * 3 * 2; i++) {
        struct setting setting = setting_of(1, 4096, 64, 2);
        struct recorder simulated, host;
        setting.memory.allocator = allocators[i / 6];
        setting.empty_cache = i % 3;
        setting.phases = i / 3 % 2; /* PHASES_SPLIT, PHASES_WHOLE */
        assert_int_equal(run(&setting, "simulated", &simulated), STATUS_ok);
        assert_int_equal(run(&setting, "host", &host), STATUS_ok);
        assert_int_equal(simulated.count, host.count);
        for (size_t r = 0; r < host.count; r++)
            for (int c = COLUMN_allocated_start_bytes; c <= COLUMN_requested_peak_bytes; c++) {
                struct reading a = row_count(&simulated.rows[r], (enum column)c);
                struct reading b = row_count(&host.rows[r], (enum column)c);
                assert_int_equal(a.known, b.known);
                assert_true(!a.known || a.value == b.value);
            }
        forget(&simulated);
        forget(&host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cycle_is_all_its_parts),
        cmocka_unit_test(nothing_waits_inside_a_cycle),
        cmocka_unit_test(faults_fire_inside_a_cycle),
        cmocka_unit_test(a_phase_left_open_is_an_error),
        cmocka_unit_test(caches_are_emptied_where_asked),
        cmocka_unit_test(as_often_as_asked),
        cmocka_unit_test(a_repeat_may_be_several_phases),
        cmocka_unit_test(a_cycle_is_predicted),
        cmocka_unit_test(simulated_counts_as_host_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
