/* A session's life, its tensors and its first failure. */
#include "harness/base/units.h"
#include "harness/workload/session_inside.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    session_say_failure(session, text_string(&text), NULL);
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

void session_refused(struct session *session, enum outcome outcome,
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
    session_say_failure(session, text_string(&text), refusal);
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
    session_refused(session, outcome, &refusal);
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
        session_refused(session, outcome, memory_refusal(session->memory));
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

enum status workload_run(const struct setting *setting, const struct backend *backend,
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
        setting->workload->check(&setting->point, setting->options, &why) != 0)
        session_fail(&session, STATUS_error, "%s", text_string(&why));
    else if (page && (session.slot = live_claim(page, (uint64_t)getpid())) < 0)
        session_fail(&session, STATUS_error, "the live page has no free slot");
    text_release(&why);
    if (session_works(&session))
        setting->workload->run(&session);
    session_close(&session);
    return session.status;
}
