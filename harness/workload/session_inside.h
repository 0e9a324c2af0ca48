/* What session.c, phase.c and fault.c share; workloads see session.h only. */
#ifndef HIGHWATER_WORKLOAD_SESSION_INSIDE_H
#define HIGHWATER_WORKLOAD_SESSION_INSIDE_H

#include "kernels/backends.h"
#include "harness/workload/fault.h"
#include "harness/workload/session.h"

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
    bool cycle,
        part_stopped; /* a cycle is open; one of its parts lies between stop and report */
    struct reading duration_ns;
    struct counters counters;
    struct reading processed_batch, processed_context, processed_generated;
    char *warning; /* owned; in all rows from then on */

    struct tensor **live; /* in the order in which they were taken */
    size_t live_count;
    struct tensor nothing; /* stands for every tensor after a failure */
};

/* Reports the failure of the open phase; `refusal` NULL: none known. */
void session_refused(struct session *session, enum outcome outcome,
                     const struct refusal *refusal);
void session_say_hello(struct session *session);
void session_say_failure(struct session *session, const char *error,
                         const struct refusal *refusal);

/* The injected fault: at begin, at every block handed out, and at stop when it has not
 * fired. */
void fault_at_begin(struct session *session);
void fault_at_block(void *session);
void fault_at_stop(struct session *session);

#endif
