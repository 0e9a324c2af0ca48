/* Failures of a running workload, real and injected, in every phase; leaks; wrong devices. */
#include "tests/unit/recorder.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const phase_names[] = {"context",      "libraries", "model_load",  "inputs",
                                          "cold_forward", "warmup",    "warm_forward"};

/* A device that is one byte too small for what each phase needs first. */
static void small_devices_refuse_in_each_phase(void **state)
{
    const uint64_t mib = 1 << 20;
    /* float32, batch 1, context 1024, width 1024, direct: 32 MiB of workspace, 32 MiB and a bit
     * of weights, 4 MiB of input, 16 + 4 MiB of activations */
    const struct {
        uint64_t capacity, refused;
        const char *phase;
    } cases[] = {{32 * mib - 1, 32 * mib, "libraries"},
                 {40 * mib, 16 * mib, "model_load"},
                 {67 * mib, 4 * mib, "inputs"},
                 {84 * mib, 16 * mib, "cold_forward"}};
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (int host = 0; host < 2; host++) {
            struct setting setting = setting_of(1, 1024, 1024, 1);
            struct recorder recorder;
            setting.memory.allocator = "direct";
            setting.memory.device.capacity = reading_of(cases[i].capacity);
            setting.warmup = 0;
            assert_int_equal(run(&setting, host ? "host" : "simulated", &recorder), STATUS_oom);
            const struct row *row = &recorder.rows[recorder.count - 1];
            assert_string_equal(row_text(row, COLUMN_phase), cases[i].phase);
            assert_int_equal(row_status(row), STATUS_oom);
            assert_string_equal(row_text(row, COLUMN_partial), "yes");
            assert_string_equal(row_text(row, COLUMN_refused_by), "device");
            assert_int_equal(count_of(row, COLUMN_refused_bytes), cases[i].refused);
            assert_true(count_of(row, COLUMN_free_bytes_at_failure) < cases[i].refused);
            assert_true(row_count(row, COLUMN_allocated_peak_bytes).known);
            assert_false(row_count(row, COLUMN_allocated_end_bytes).known);
            forget(&recorder);
        }
}

static void an_overhead_can_refuse_the_context(void **state)
{
    struct setting setting = setting_of(1, 1, 1, 1);
    struct recorder recorder;
    (void)state;
    setting.memory.device.capacity = reading_of(1000);
    setting.memory.device.overhead = 1001;
    assert_int_equal(run(&setting, "simulated", &recorder), STATUS_oom);
    assert_int_equal(recorder.count, 1);
    assert_int_equal(recorder.hellos, 0);
    assert_string_equal(row_text(&recorder.rows[0], COLUMN_phase), "context");
    assert_false(row_count(&recorder.rows[0], COLUMN_allocated_peak_bytes).known);
    forget(&recorder);
}

static void faults_fire_in_each_phase(void **state)
{
    static const struct {
        const char *kind;
        enum status status;
        const char *refused_by;
    } kinds[] = {{"oom", STATUS_oom, "device"},
                 {"host_oom", STATUS_host_oom, "host"},
                 {"illegal-access", STATUS_error, NULL}};
    const char *const backends_here[] = {"simulated", "host"};
    (void)state;
    for (size_t i = 0; i < 7 * 3 * 2; i++) {
        const char *phase = phase_names[i % 7], *kind = kinds[i / 7 % 3].kind;
        struct setting setting = setting_of(1, 2, 8, 2);
        struct recorder recorder;
        char fault[64];
        snprintf(fault, sizeof fault, "%s:%s", phase, kind);
        setting.fault = fault;
        assert_int_equal(run(&setting, backends_here[i / 21], &recorder),
                         kinds[i / 7 % 3].status);
        assert_int_equal(recorder.fails, 1);
        assert_int_equal(recorder.count, i % 7 + 1);
        const struct row *row = &recorder.rows[recorder.count - 1];
        assert_string_equal(row_text(row, COLUMN_phase), phase);
        assert_int_equal(row_status(row), kinds[i / 7 % 3].status);
        const char *by = row_text(row, COLUMN_refused_by);
        assert_true(!by == !kinds[i / 7 % 3].refused_by);
        assert_true(!by || !strcmp(by, kinds[i / 7 % 3].refused_by));
        assert_non_null(row_text(row, COLUMN_error));
        /* In the middle: a block of the phase had been handed out, or was about to be. */
        assert_int_equal(row_count(row, COLUMN_allocated_peak_bytes).known,
                         i % 7 > 0 || strcmp(kind, "oom") != 0);
        assert_false(row_count(row, COLUMN_allocated_end_bytes).known);
        forget(&recorder);
    }
}

static void a_phase_that_asks_for_nothing_can_be_refused(void **state)
{
    struct setting setting = setting_of(1, 2, 8, 1);
    struct recorder recorder;
    (void)state;
    setting.warmup = 0;
    setting.fault = "warmup:oom";
    assert_int_equal(run(&setting, "simulated", &recorder), STATUS_oom);
    assert_string_equal(row_text(&recorder.rows[recorder.count - 1], COLUMN_phase), "warmup");
    assert_false(row_count(&recorder.rows[recorder.count - 1], COLUMN_refused_bytes).known);
    forget(&recorder);
}

static int die_of(const char *fault)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct setting setting = setting_of(1, 2, 8, 1);
        struct recorder recorder;
        setting.fault = fault;
        if (strstr(fault, "hang") != NULL)
            alarm(2);
        _exit(run(&setting, "host", &recorder) == STATUS_ok ? 100 : 101);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void faults_end_the_process(void **state)
{
    (void)state;
    for (size_t i = 0; i < 7; i++) {
        char fault[64];
        snprintf(fault, sizeof fault, "%s:kill", phase_names[i]);
        assert_int_equal(WTERMSIG(die_of(fault)), SIGKILL);
        snprintf(fault, sizeof fault, "%s:segv", phase_names[i]);
        assert_int_equal(WTERMSIG(die_of(fault)), SIGSEGV);
        snprintf(fault, sizeof fault, "%s:exit-%zu", phase_names[i], 10 + i);
        assert_int_equal(WEXITSTATUS(die_of(fault)), 10 + i);
    }
    assert_int_equal(WTERMSIG(die_of("inputs:hang")), SIGALRM);
}

static void wrong_faults_and_points_are_errors(void **state)
{
    static const char *const faults[] = {
        "inputs",          "nowhere:oom",  "inputs:",     ":oom",
        "inputs:exit-256", "inputs:exit-", "inputs:oom:1"};
    struct setting setting = setting_of(1, 1, 1, 1);
    struct recorder recorder;
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        setting.fault = faults[i];
        assert_int_equal(run(&setting, "simulated", &recorder), STATUS_error);
        assert_int_equal(recorder.count, 1);
        forget(&recorder);
    }
    setting.fault = NULL;
    setting.point.value[DIMENSION_width] = reading_of(0);
    assert_int_equal(run(&setting, "simulated", &recorder), STATUS_error);
    forget(&recorder);
    setting = setting_of(UINT32_MAX, UINT32_MAX, 4096, 4096);
    assert_int_equal(run(&setting, "simulated", &recorder), STATUS_error);
    forget(&recorder);
}

static void another_device_is_an_error(void **state)
{
    struct setting setting = setting_of(1, 1, 1, 1);
    struct recorder recorder;
    (void)state;
    setting.expect_uuid = "GPU-00000000-0000-0000-0000-000000000001";
    assert_int_equal(run(&setting, "simulated", &recorder), STATUS_error);
    assert_int_equal(recorder.hellos, 0);
    assert_non_null(strstr(row_text(&recorder.rows[0], COLUMN_error), setting.expect_uuid));
    forget(&recorder);
}

/* --- a workload with a leak -------------------------------------------------------------- */

static void leak(struct session *session)
{
    session_context(session);
    session_libraries(session);
    session_begin(session, "inputs", NULL, 0);
    session_tensor(session, "forgotten", TAG_inputs, DTYPE_float16, (struct shape){{3, 5}});
    session_end(session, 0);
}

static void a_leak_is_an_error(void **state)
{
    struct workload leaky = *workload_find("dense");
    struct setting setting = setting_of(1, 1, 1, 1);
    struct recorder recorder;
    (void)state;
    leaky.run = leak;
    setting.workload = &leaky;
    assert_int_equal(run(&setting, "host", &recorder), STATUS_error);
    const char *error = row_text(&recorder.rows[recorder.count - 1], COLUMN_error);
    assert_non_null(strstr(error, "forgotten"));
    forget(&recorder);
}

/* --- an operation that is refused memory -------------------------------------------------- */

static enum outcome no_room(struct math *math, const struct product *product)
{
    (void)math, (void)product;
    return OUTCOME_OOM;
}

static enum outcome no_room_on_the_host(struct math *math, const struct product *product)
{
    (void)math, (void)product;
    return OUTCOME_HOST_OOM;
}

/* A library or a kernel does not say how much it asked for; the device says what was free. */
static void an_operation_can_be_refused(void **state)
{
    enum outcome (*const refusals[])(struct math *,
                                     const struct product *) = {no_room, no_room_on_the_host};
    (void)state;
    for (int host = 0; host < 2; host++) {
        struct ops ops = ops_host;
        const struct backend backend = {.device = &device_host, .ops = &ops};
        struct setting setting = setting_of(1, 1024, 8, 1);
        struct recorder recorder = {.count = 0};
        struct phase_listener listener = {.line = record, .user = &recorder};
        ops.multiply = refusals[host];
        setting.memory.allocator = "direct";
        setting.memory.device.capacity = reading_of(100000000);
        enum status wanted = host ? STATUS_host_oom : STATUS_oom;
        assert_int_equal(session_run(&setting, &backend, NULL, &listener), wanted);
        const struct row *row = &recorder.rows[recorder.count - 1];
        assert_string_equal(row_text(row, COLUMN_phase), "cold_forward");
        assert_string_equal(row_text(row, COLUMN_refused_by), host ? "host" : "device");
        assert_false(row_count(row, COLUMN_refused_bytes).known);
        /* the workspace; weights, x and the hidden activation share a page */
        uint64_t used = WORKSPACE_BYTES + (2 << 20);
        struct reading room = row_count(row, COLUMN_free_bytes_at_failure);
        assert_int_equal(room.known, !host);
        if (!host)
            assert_int_equal(room.value, 100000000 - used);
        forget(&recorder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_devices_refuse_in_each_phase),
        cmocka_unit_test(an_overhead_can_refuse_the_context),
        cmocka_unit_test(faults_fire_in_each_phase),
        cmocka_unit_test(a_phase_that_asks_for_nothing_can_be_refused),
        cmocka_unit_test(faults_end_the_process),
        cmocka_unit_test(wrong_faults_and_points_are_errors),
        cmocka_unit_test(another_device_is_an_error),
        cmocka_unit_test(a_leak_is_an_error),
        cmocka_unit_test(an_operation_can_be_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
