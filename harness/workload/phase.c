/* The phase runner, and what it tells the listener. */
#include "harness/base/clock.h"
#include "harness/workload/session_inside.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_name(struct row *row, enum column column, const char *value)
{
    row_set_text(row, column, value && value[0] ? value : NULL);
}

static void say(struct session *session, const char *verb, const struct row *row)
{
    session->listener->line(session->listener->user, verb, row);
}

static void row_of_phase(const struct session *session, struct row *row)
{
    row_set_text(row, COLUMN_phase, session->phase);
    row_set_text(row, COLUMN_pass, session->pass);
    if (session->repeat)
        row_set_count(row, COLUMN_repeat, session->repeat);
    row_set_reading(row, COLUMN_processed_batch, session->processed_batch);
    row_set_reading(row, COLUMN_processed_context, session->processed_context);
    row_set_reading(row, COLUMN_processed_generated, session->processed_generated);
    row_set_text(row, COLUMN_warning, session->warning);
    counters_to_row(&session->counters, row);
}

/* Settings that are really in force. */
static void add_settings(const struct session *session, struct row *row)
{
    const struct setting *setting = session->setting;
    row_set_text(row, COLUMN_workload, setting->workload->name);
    setting_to_row(setting, row);
    row_set_text(row, COLUMN_backend, session->backend->device->name);
    row_set_reading(row, COLUMN_allocator_limit_bytes, setting->memory.allocator_setting.limit);
}

void session_say_hello(struct session *session)
{
    struct row row = ROW_INIT;
    struct device_facts facts = {.total_bytes = 0};
    bool observed = session->backend->device->observed;
    session->device.ops->facts(&session->device, &facts);
    add_settings(session, &row);
    row_set_text(&row, COLUMN_evidence, observed ? "observed" : "computed");
    row_set_text(&row, COLUMN_framework, "highwater");
    row_set_text(&row, COLUMN_framework_version, "v" HIGHWATER_VERSION);
    set_name(&row, COLUMN_device_name, facts.name);
    set_name(&row, COLUMN_device_uuid,
             session->setting->expect_uuid ? session->setting->expect_uuid : facts.uuid);
    set_name(&row, COLUMN_device_pci, facts.pci);
    set_name(&row, COLUMN_cuda_version, facts.runtime);
    set_name(&row, COLUMN_driver_version, facts.driver);
    row_set_count(&row, COLUMN_device_capacity_bytes, facts.total_bytes);
    if (observed)
        row_set_count(&row, COLUMN_cuda_ordinal, session->setting->memory.device.ordinal);
    set_name(&row, COLUMN_counter_source, memory_counter_source(session->memory));
    set_name(&row, COLUMN_reserved_peak_is, memory_reserved_is(session->memory));
    if (session->backend->ops) {
        struct ops_facts of;
        session->backend->ops->facts(&of);
        set_name(&row, COLUMN_compute_backend, of.backend);
    }
    say(session, "hello", &row);
    row_release(&row);
}

void session_say_failure(struct session *session, const char *error,
                         const struct refusal *refusal)
{
    struct row row = ROW_INIT;
    if (session->memory && session->state == PHASE_RUNNING)
        memory_read(session->memory, false, &session->counters);
    row_of_phase(session, &row);
    row_set_status(&row, session->status);
    row_set_text(&row, COLUMN_partial, "yes");
    if (error)
        row_set_escaped(&row, COLUMN_error, error, strlen(error));
    if (refusal) {
        set_name(&row, COLUMN_refused_by, refusal->by);
        if (refusal->bytes)
            row_set_count(&row, COLUMN_refused_bytes, refusal->bytes);
        row_set_reading(&row, COLUMN_free_bytes_at_failure, refusal->free);
    }
    say(session, "fail", &row);
    row_release(&row);
    session->state = PHASE_NONE;
}

static void say_begin(struct session *session)
{
    struct row row = ROW_INIT;
    row_of_phase(session, &row);
    say(session, "begin", &row);
    row_release(&row);
}

static bool synchronise(struct session *session)
{
    if (session->device_is_open)
        session_check(session, session->device.ops->synchronise(&session->device));
    return session_works(session);
}

static bool empties_cache(const struct session *session, bool at_phase, uint64_t repeat)
{
    int when = session->setting->empty_cache;
    return session->memory &&
           (when == EMPTY_CACHE_BETWEEN_PHASES
                ? at_phase
                : when == EMPTY_CACHE_BETWEEN_REPEATS && session->part_repeat > 0 &&
                      repeat > session->part_repeat);
}

static void name_part(struct session *session, const char *part, uint64_t repeat)
{
    session->part = part;
    session->part_repeat = repeat;
}

static void open_phase(struct session *session, const char *phase, const char *pass,
                       uint64_t repeat)
{
    assert(session->state == PHASE_NONE);
    session->phase = phase, session->pass = pass, session->repeat = repeat;
    session->tokens = 0;
    session->counters = (struct counters){.value = {{.known = false}}};
    session->state = PHASE_RUNNING;
    if (!synchronise(session))
        return;
    if (empties_cache(session, true, repeat))
        memory_empty_cache(session->memory);
    if (session->memory) {
        memory_begin_phase(session->memory, phase, pass,
                           repeat ? reading_of(repeat) : reading_missing());
        memory_read(session->memory, false, &session->counters);
    } else if (session->page && session->slot >= 0) {
        struct live_state state = {.pid = (uint64_t)getpid()};
        snprintf(state.phase, sizeof state.phase, "%s", phase);
        live_publish(session->page, session->slot, &state);
    }
    say_begin(session);
}

static void start(struct session *session)
{
    fault_at_begin(session);
    session->started_ns = session->backend->ops ? clock_monotonic_ns() : 0;
}

void session_begin(struct session *session, const char *phase, const char *pass,
                   uint64_t repeat)
{
    if (!session_works(session))
        return;
    if (session->cycle) {
        if (empties_cache(session, false, repeat))
            memory_empty_cache(session->memory);
        name_part(session, phase, repeat);
        fault_at_begin(session);
        return;
    }
    session->cycle = session->setting->phases == PHASES_WHOLE;
    if (session->cycle)
        open_phase(session, "cycle", NULL, 0);
    else
        open_phase(session, phase, pass, repeat);
    name_part(session, phase, repeat);
    if (session_works(session))
        start(session);
}

/* The phases before a workload's own are none of its cycle. */
static void begin_own(struct session *session, const char *phase)
{
    if (!session_works(session))
        return;
    open_phase(session, phase, NULL, 0);
    name_part(session, phase, 0);
    if (session_works(session))
        start(session);
}

static bool is_last_part(const struct session *session)
{
    const char *const *phase = session->setting->workload->phases;
    while (phase[1])
        phase++;
    return strcmp(*phase, session->part) == 0 &&
           (session->part_repeat == 0 || session->part_repeat == session->setting->repeats);
}

void session_stop(struct session *session)
{
    if (!session_works(session))
        return;
    assert(session->state == PHASE_RUNNING && !session->part_stopped);
    fault_at_stop(session);
    if (!session_works(session))
        return;
    session->part_stopped = session->cycle && !is_last_part(session);
    if (session->part_stopped || !synchronise(session))
        return;
    /* Where nothing is computed there is no duration either. */
    session->duration_ns = session->backend->ops
                               ? reading_of(clock_monotonic_ns() - session->started_ns)
                               : reading_missing();
    if (session->memory)
        memory_read(session->memory, true, &session->counters);
    session->state = PHASE_STOPPED;
}

void session_report(struct session *session, const struct phase_result *result)
{
    if (!session_works(session))
        return;
    session->tokens += result->tokens;
    if (session->part_stopped) {
        session->part_stopped = false;
        return;
    }
    assert(session->state == PHASE_STOPPED);
    struct row row = ROW_INIT;
    row_of_phase(session, &row);
    row_set_status(&row, STATUS_ok);
    row_set_reading(&row, COLUMN_duration_ns, session->duration_ns);
    if (session->tokens)
        row_set_count(&row, COLUMN_tokens, session->tokens);
    if (result->name && session->math_is_open) {
        row_set_text(&row, COLUMN_result_name, result->name);
        row_set_real(&row, COLUMN_result_value, result->value);
    }
    say(session, "end", &row);
    row_release(&row);
    session->state = PHASE_NONE;
    session->cycle = false;
}

void session_end(struct session *session, uint64_t tokens)
{
    session_stop(session);
    session_report(session, &(struct phase_result){.tokens = tokens});
}

void session_warn(struct session *session, const char *warning)
{
    free(session->warning);
    session->warning = xstrdup(warning);
}

void session_processed(struct session *session, uint64_t batch, uint64_t context)
{
    session->processed_batch = reading_of(batch);
    session->processed_context = reading_of(context);
}

void session_generated(struct session *session, uint64_t tokens)
{
    session->processed_generated = reading_of(tokens);
}

/* CUDA gives the UUID of a MIG instance without saying that it is one, so GPU- or MIG- does not
 * count. */
static bool is_same_device(const char *a, const char *b)
{
    const char *x = strchr(a, '-'), *y = strchr(b, '-');
    return x && y && strcmp(x, y) == 0;
}

/* The context's own phase has no start values of the device: nobody could ask it before. */
void session_context(struct session *session)
{
    const struct setting *setting = session->setting;
    struct device_facts facts = {.total_bytes = 0};
    struct refusal refusal = {.by = "device"};
    struct text why = TEXT_INIT;
    begin_own(session, "context");
    if (session->fault.armed && !session->fault.kind->fire)
        session_refused(session, OUTCOME_OOM, &refusal);
    if (!session_works(session))
        return;
    enum outcome outcome =
        device_open(&session->device, session->backend->device, &setting->memory.device);
    session->device_is_open = outcome == OUTCOME_OK;
    if (outcome != OUTCOME_OK) {
        session_refused(session, outcome, &refusal);
        return;
    }
    session->device.ops->facts(&session->device, &facts);
    if (setting->expect_uuid && !is_same_device(setting->expect_uuid, facts.uuid)) {
        session_fail(session, STATUS_error, "device is %s, not %s",
                     facts.uuid[0] ? facts.uuid : "without UUID", setting->expect_uuid);
        return;
    }
    if (memory_open(&session->memory, &session->device, &setting->memory, session->page,
                    session->slot, &why) != 0) {
        session_fail(session, STATUS_error, "%s", text_string(&why));
        text_release(&why);
        return;
    }
    memory_on_alloc(session->memory, fault_at_block, session);
    memory_begin_phase(session->memory, session->phase, NULL, reading_missing());
    session_say_hello(session);
    session_stop(session);
    session->counters.value[COUNTER_device_used_start_bytes] = reading_missing();
    session_report(session, &(struct phase_result){.tokens = 0});
}

void session_libraries(struct session *session)
{
    begin_own(session, "libraries");
    session->workspace = session_tensor(session, "workspace", TAG_workspace, DTYPE_float32,
                                        (struct shape){{WORKSPACE_BYTES / 4}});
    if (session_works(session) && session->backend->ops) {
        session->math = (struct math){.ops = session->backend->ops,
                                      .device = &session->device,
                                      .workspace = session->workspace->array.address};
        enum outcome outcome = session->math.ops->open(&session->math);
        session->math_is_open = outcome == OUTCOME_OK;
        session_check(session, outcome);
    }
    session_end(session, 0);
}
