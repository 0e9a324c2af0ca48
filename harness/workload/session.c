#include "harness/workload/session.h"
#include "harness/base/clock.h"
#include "harness/base/units.h"
#include "harness/workload/fault.h"
#include "kernels/backends.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A phase is open from begin to report; stopped means that its books are closed. */
enum phase_state { PHASE_NONE, PHASE_RUNNING, PHASE_STOPPED };

struct session {
    const struct setting *setting;
    const struct backend *backend;
    const struct phase_listener *listener;
    struct live_page *page; /* NULL: none */
    int slot;

    enum status status; /* STATUS_ok until the first failure */
    struct fault fault;

    struct device device;
    bool device_is_open;
    struct memory *memory; /* NULL until the context is there */
    struct math math;
    bool math_is_open;
    struct tensor *workspace;

    enum phase_state state;
    const char *phase, *pass; /* as it is reported */
    uint64_t repeat, started_ns;
    const char *part; /* the workload's own name of it: another inside a cycle */
    uint64_t part_repeat, tokens;
    bool cycle;        /* one is open */
    bool part_stopped; /* one of its parts lies between stop and report */
    struct reading duration_ns;
    struct counters counters;
    struct reading processed_batch, processed_context, processed_generated;
    char *warning; /* owned; in all rows from then on */

    struct tensor **live; /* in the order in which they were taken */
    size_t live_count;
    struct tensor nothing; /* stands for every tensor after a failure */
};

const struct setting *session_setting(const struct session *session)
{
    return session->setting;
}

uint64_t session_dimension(const struct session *session, enum dimension dimension)
{
    struct reading value = session->setting->point.value[dimension];
    assert(value.known);
    return value.value;
}

bool session_works(const struct session *session)
{
    return session->status == STATUS_ok;
}

struct math *session_math(struct session *session)
{
    return session->math_is_open && session_works(session) && !session->part_stopped
               ? &session->math
               : NULL;
}

/* --- what the listener is told ------------------------------------------------------------ */

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

static void say_hello(struct session *session)
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

static void say_failure(struct session *session, const char *error,
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

/* --- failure ----------------------------------------------------------------------------- */

void session_fail(struct session *session, enum status status, const char *format, ...)
{
    if (!session_works(session))
        return;
    struct text text = TEXT_INIT;
    va_list arguments;
    va_start(arguments, format);
    text_addv(&text, format, arguments);
    va_end(arguments);
    session->status = status;
    say_failure(session, text_string(&text), NULL);
    text_release(&text);
}

static void describe_refusal(const struct refusal *refusal, const char *what, struct text *out)
{
    if (refusal->bytes)
        text_addf(out, "%" PRIu64 " bytes refused by %s", refusal->bytes, refusal->by);
    else
        text_addf(out, "memory refused by %s", refusal->by);
    if (what && what[0])
        text_addf(out, ": %s", what);
    if (refusal->free.known)
        text_addf(out, " (%" PRIu64 " bytes free)", refusal->free.value);
}

static void refused(struct session *session, enum outcome outcome,
                    const struct refusal *refusal)
{
    if (!session_works(session) || outcome == OUTCOME_OK)
        return;
    const char *error = text_string(&session->device.error);
    if (outcome == OUTCOME_FAILED) {
        session_fail(session, STATUS_error, "%s", error[0] ? error : "the device failed");
        return;
    }
    struct text text = TEXT_INIT;
    session->status = outcome == OUTCOME_OOM ? STATUS_oom : STATUS_host_oom;
    describe_refusal(refusal, NULL, &text);
    say_failure(session, text_string(&text), refusal);
    text_release(&text);
}

/* An operation that asks for memory itself (a library's module, a kernel's stack) does not say
 * how much: only what was free is known. */
void session_check(struct session *session, enum outcome outcome)
{
    uint64_t free_bytes, total;
    if (outcome == OUTCOME_OK)
        return;
    struct refusal refusal = {.by = "device"};
    if (outcome == OUTCOME_HOST_OOM)
        strcpy(refusal.by, "host");
    else if (session->device.ops->usage(&session->device, &free_bytes, &total) == 0)
        refusal.free = reading_of(free_bytes);
    refused(session, outcome, &refusal);
}

/* --- tensors ----------------------------------------------------------------------------- */

/* Elements and bytes of a shape; -1 when 64 bits cannot count them. */
static int size_of(const struct shape *shape, enum dtype dtype, uint64_t *count,
                   uint64_t *bytes)
{
    *count = 1;
    for (int i = 0; i < SHAPE_RANK && shape->size[i]; i++)
        if (multiply_checked(*count, shape->size[i], count) != 0)
            return -1;
    return multiply_checked(*count, dtype_bytes(dtype), bytes);
}

static void keep(struct session *session, struct tensor *tensor)
{
    *GROW(session->live, session->live_count) = tensor;
}

struct tensor *session_tensor(struct session *session, const char *name, enum tag tag,
                              enum dtype dtype, struct shape shape)
{
    uint64_t count, bytes;
    if (!session_works(session))
        return &session->nothing;
    assert(session->state == PHASE_RUNNING);
    if (size_of(&shape, dtype, &count, &bytes) != 0) {
        session_fail(session, STATUS_error, "%s is more bytes than 64 bits can count", name);
        return &session->nothing;
    }
    struct block block;
    enum outcome outcome = memory_alloc(session->memory, bytes, tag, &block);
    if (outcome != OUTCOME_OK) {
        refused(session, outcome, memory_refusal(session->memory));
        return &session->nothing;
    }
    struct tensor *tensor = xmalloc(sizeof *tensor);
    *tensor = (struct tensor){.name = name,
                              .shape = shape,
                              .count = count,
                              .tag = tag,
                              .array = {.address = block.address, .dtype = dtype},
                              .block = block};
    keep(session, tensor);
    return tensor;
}

static void give_back(struct session *session, struct tensor *tensor)
{
    memory_free(session->memory, &tensor->block, tensor->tag);
    free(tensor);
}

void session_release(struct session *session, struct tensor *tensor)
{
    if (!session_works(session) || tensor == &session->nothing)
        return; /* after a failure everything is released in reverse order at the end */
    size_t i = session->live_count;
    while (i > 0 && session->live[i - 1] != tensor)
        i--;
    assert(i > 0);
    for (; i < session->live_count; i++)
        session->live[i - 1] = session->live[i];
    session->live_count--;
    give_back(session, tensor);
}

/* --- the injected fault ------------------------------------------------------------------- */

static void strike(struct session *session)
{
    const struct ops *ops = session->backend->ops;
    session->fault.armed = false;
    switch (session->fault.kind) {
    case FAULT_HOST_OOM:
        refused(session, OUTCOME_HOST_OOM, &(struct refusal){.by = "host"});
        break;
    case FAULT_ILLEGAL_ACCESS:
        if (ops && ops->violate)
            session_check(session, ops->violate(&session->device));
        else
            session_fail(session, STATUS_error,
                         "illegal access (fault on a device without one)");
        break;
    default:
        fault_strike(&session->fault, session->phase);
        session_fail(session, STATUS_error, "fault: cannot start sleep");
    }
}

static void arm_fault(struct session *session)
{
    if (fault_arm(&session->fault, session->part) && session->fault.kind == FAULT_OOM &&
        session->memory)
        memory_refuse_next(session->memory);
}

static void on_block(void *user)
{
    struct session *session = user;
    if (session->fault.armed && session->fault.kind != FAULT_OOM)
        strike(session);
}

/* A phase that asked for nothing meets its fault here. */
static void end_fault(struct session *session)
{
    if (session->fault.armed && session->fault.kind == FAULT_OOM)
        refused(session, OUTCOME_OOM, &(struct refusal){.by = "device"});
    else
        on_block(session);
}

/* --- phases ------------------------------------------------------------------------------- */

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
    arm_fault(session);
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
        arm_fault(session);
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
    end_fault(session);
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
    if (session->fault.armed && session->fault.kind == FAULT_OOM)
        refused(session, OUTCOME_OOM, &refusal);
    if (!session_works(session))
        return;
    enum outcome outcome =
        device_open(&session->device, session->backend->device, &setting->memory.device);
    session->device_is_open = outcome == OUTCOME_OK;
    if (outcome != OUTCOME_OK) {
        refused(session, outcome, &refusal);
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
    memory_on_alloc(session->memory, on_block, session);
    memory_begin_phase(session->memory, session->phase, NULL, reading_missing());
    say_hello(session);
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

/* --- life -------------------------------------------------------------------------------- */

static void release_all(struct session *session)
{
    while (session->live_count)
        give_back(session, session->live[--session->live_count]);
    free(session->live);
    free(session->warning);
    session->warning = NULL; /* a failure of the end may still be told */
}

/* A phase left open, or memory still held, is a bug of the workload, and said as one. */
static void check_the_end(struct session *session)
{
    if (session_works(session) && session->state != PHASE_NONE)
        session_fail(session, STATUS_error, "bug: %s left phase %s open",
                     session->setting->workload->name, session->phase);
    if (session_works(session) && session->live_count)
        session_fail(session, STATUS_error,
                     "bug: %s left %zu of its tensors unreleased, the last is %s",
                     session->setting->workload->name, session->live_count,
                     session->live[session->live_count - 1]->name);
}

static void session_close(struct session *session)
{
    if (session->math_is_open)
        session->math.ops->close(&session->math);
    session->math_is_open = false;
    if (session_works(session) && session->workspace)
        session_release(session, session->workspace);
    check_the_end(session);
    release_all(session);
    uint64_t left = session->memory ? memory_close(session->memory) : 0;
    session->memory = NULL;
    if (left)
        session_fail(session, STATUS_error, "bug: %" PRIu64 " blocks were never freed", left);
    if (session->device_is_open)
        device_close(&session->device);
    text_release(&session->device.error);
}

enum status session_run(const struct setting *setting, const struct backend *backend,
                        struct live_page *page, const struct phase_listener *listener)
{
    struct session session = {.setting = setting,
                              .backend = backend,
                              .listener = listener,
                              .page = page,
                              .slot = -1,
                              .status = STATUS_ok};
    struct text why = TEXT_INIT;
    session.device.ops = backend->device;
    session.phase = setting->workload->phases[0];
    if (fault_parse(setting->fault, setting->workload->phases, &session.fault, &why) != 0 ||
        workload_check(setting->workload, &setting->point, setting->options, &why) != 0)
        session_fail(&session, STATUS_error, "%s", text_string(&why));
    else if (page && (session.slot = live_claim(page, (uint64_t)getpid())) < 0)
        session_fail(&session, STATUS_error, "the live page has no free slot");
    text_release(&why);
    if (session_works(&session))
        setting->workload->run(&session);
    session_close(&session);
    return session.status;
}
