/* fault: a failure put in on purpose, [device] fault = PHASE:KIND. It fires once, in the middle
 * of the phase (in a whole run: of that part of its cycle): when its first block was handed out
 * (oom: that request is refused), or at its end where it hands out none. context:oom refuses
 * the context itself.
 *
 *   oom             the device refuses memory
 *   host_oom        the host refuses memory
 *   kill, segv      the process is ended by SIGKILL, SIGSEGV
 *   hang            sleeps for ever
 *   setsid          leaves a child in a session of its own that sleeps 300 s, then hangs itself
 *   exit-N          says so on standard error and exits with code N
 *   illegal-access  touches memory that is nobody's
 */
#ifndef HIGHWATER_WORKLOAD_FAULT_H
#define HIGHWATER_WORKLOAD_FAULT_H

#include "harness/base/text.h"

enum fault_kind {
    FAULT_OOM,
    FAULT_HOST_OOM,
    FAULT_KILL,
    FAULT_SEGV,
    FAULT_HANG,
    FAULT_SETSID,
    FAULT_EXIT,
    FAULT_ILLEGAL_ACCESS,
};

struct fault {
    char phase[48]; /* "" no fault */
    enum fault_kind kind;
    int exit_code;
    bool armed; /* its phase runs, and it is still to strike */
    bool spent; /* it was armed once */
};

/* `words` is PHASE:KIND; NULL or "" is no fault. The phase must be one of `phases`. */
int fault_parse(const char *words, const char *const *phases, struct fault *fault,
                struct text *why) MUST_CHECK;
/* At the start of a phase. True: the fault is this phase's, and armed now. */
bool fault_arm(struct fault *fault, const char *phase);
/* Ends or stops this process, for the kinds from FAULT_KILL to FAULT_EXIT; returns only when
 * FAULT_SETSID could not start its child. */
void fault_strike(const struct fault *fault, const char *phase);

#endif
