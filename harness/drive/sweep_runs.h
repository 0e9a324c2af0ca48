/* sweep_runs: a sweep in progress and the runs that it makes, one after the other: which are
 * missing, which are skipped, what becomes of their rows. sweep.c opens what it needs.
 */
#ifndef HIGHWATER_DRIVE_SWEEP_RUNS_H
#define HIGHWATER_DRIVE_SWEEP_RUNS_H

#include "harness/drive/driver.h"
#include "harness/drive/resume.h"
#include "harness/drive/sweep.h"
#include "harness/plan/searches.h"
#include "harness/plan/skip.h"

struct sweep {
    const struct sweep_request *request;
    struct plan plan;
    struct driver driver;
    struct results results;
    bool recording;       /* there is a results folder */
    struct resume resume; /* the runs that are made */
    struct probes probes;
    struct skip skip;
    struct text cut;   /* of a torn tail, "" none */
    struct text files; /* of the study: their fingerprint when it began, "" none */
    uint64_t last_order;
    uint64_t began_ns;
    uint64_t until_ns; /* by sweep_now */
    bool ended_early;  /* by until or at a failure */
    struct sweep_progress progress;
};

/* A message for people, and an event. */
int sweep_tell(struct sweep *sweep, struct text *why, const char *format, ...)
    PRINTF_LIKE(3, 4) MUST_CHECK;
/* The clock that the study's `until` goes by: a time of day is real time, a duration passes as
 * it does whatever is done to that clock. */
uint64_t sweep_now(const struct sweep *sweep);
/* Makes every run that is not made. */
enum sweep_outcome sweep_make_runs(struct sweep *sweep, struct text *why) MUST_CHECK;
/* Is there a run to be made? */
bool sweep_has_work(struct sweep *sweep);
/* Counts a run that is in the table. */
void sweep_count(struct sweep *sweep, uint32_t statuses);

#endif
