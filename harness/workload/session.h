/* session: a workload while it runs. A workload reads as a list of phases:
 *
 *     session_context(session);
 *     session_libraries(session);
 *     session_begin(session, "inputs", NULL, 0);
 *     struct tensor *x = session_tensor(session, "x", TAG_inputs, dtype, shape);
 *     session_end(session, 0);
 *     …
 *     session_release(session, x);
 *
 * The first failure is sticky: it is reported at once, and from then on every call here is a
 * quiet no-op (tensors have address 0, session_math() is NULL), so that a workload needs no
 * error paths. What it holds then is released in reverse order when it returns. After a run
 * without failure the workload has released all that it took; anything left is a bug and
 * becomes an error.
 */
#ifndef HIGHWATER_WORKLOAD_SESSION_H
#define HIGHWATER_WORKLOAD_SESSION_H

#include "kernels/ops.h"
#include "harness/workload/workload.h"

/* --- from outside ------------------------------------------------------------------------- */

/* Who is told about phases. Rows hold only what the workload knows; they live during the call.
 * hello comes when the device is open; begin, then end or fail. */
struct phase_listener {
    void (*line)(void *user, const char *verb, const struct row *row);
    void *user;
};

struct backend; /* device_ops + ops; a row each in kernels/backends.h */

/* Runs setting->workload. Returns the status of the child's own verdict (ok, oom, host_oom,
 * error). Never prints. `page` may be NULL. */
enum status session_run(const struct setting *setting, const struct backend *backend,
                        struct live_page *page, const struct phase_listener *listener);

/* --- for workloads ------------------------------------------------------------------------ */

#define SHAPE_RANK 4
struct shape {
    uint64_t size[SHAPE_RANK]; /* the first 0 ends it */
};

struct tensor {
    const char *name;
    struct shape shape;
    uint64_t count; /* elements */
    struct array array;
    enum tag tag;
    struct block block;
};

/* --- what was asked for ------------------------------------------------------------------ */
const struct setting *session_setting(const struct session *session);
uint64_t session_dimension(const struct session *session, enum dimension dimension);

/* --- phases ------------------------------------------------------------------------------ */
/* The phases `context` and `libraries`, the same for every workload. */
void session_context(struct session *session);
void session_libraries(struct session *session);

/* In a whole run (phases = whole) everything from the first phase behind `libraries` to the end
 * of the last one of workload->phases in its last repeat is one phase, `cycle`: model, inputs,
 * cold, warm-up and warm executions follow each other as in an ordinary program. Nothing here
 * waits for the device inside it; between stop and report of a part session_math() is NULL, so
 * that no result is looked at but the last, which is the cycle's. Its tokens are the sum of its
 * parts'. A workload need not know: it is the same calls. */
/* `pass` is "first", "warm" or NULL; `repeat` counts from 1, 0: none. Tensors are taken within
 * a phase only. */
void session_begin(struct session *session, const char *phase, const char *pass,
                   uint64_t repeat);
/* Waits for the device and closes the phase's books: duration, peaks, end values. */
void session_stop(struct session *session);
/* What the stopped phase made. Work for the result (a mean, a loss) may lie between stop and
 * report: it belongs to no phase. */
struct phase_result {
    uint64_t tokens;  /* 0: none */
    const char *name; /* of the value; NULL: none */
    double value;
};
void session_report(struct session *session, const struct phase_result *result);
/* Stop and report, without a value. */
void session_end(struct session *session, uint64_t tokens);
/* What is really processed, read off the tensors that hold it; in all rows from then on. */
void session_processed(struct session *session, uint64_t batch, uint64_t context);
void session_generated(struct session *session, uint64_t tokens);

/* What is odd though the run counts: stands as `warning` in all rows from then on. */
void session_warn(struct session *session, const char *warning);

/* --- tensors ----------------------------------------------------------------------------- */
/* Never NULL. The session owns it until session_release(). `name` is borrowed. */
struct tensor *session_tensor(struct session *session, const char *name, enum tag tag,
                              enum dtype dtype, struct shape shape);
void session_release(struct session *session, struct tensor *tensor);

/* --- arithmetic -------------------------------------------------------------------------- */
/* NULL where none is done: on the simulated device, and after a failure. */
struct math *session_math(struct session *session);
/* Notes how an operation ended. */
void session_check(struct session *session, enum outcome outcome);
bool session_works(const struct session *session); /* false after a failure */
/* The workload's own failure. */
void session_fail(struct session *session, enum status status, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
