/* sweep: the driver: runs a plan, appends rows. Opens no device; links neither CUDA nor MPI. */
#ifndef HIGHWATER_DRIVE_SWEEP_H
#define HIGHWATER_DRIVE_SWEEP_H

#include "harness/record/results.h"
#include "harness/plan/plan.h"

struct json;
enum sweep_outcome {
    SWEEP_DONE = 0,
    SWEEP_FAILED = 1,     /* bad input, I/O, internal */
    SWEEP_NO_DEVICE = 2,  /* a measurement was asked for and there is no usable device */
    SWEEP_ALL_FAILED = 3, /* ran to its end and every run failed */
    SWEEP_EXISTS = 4,     /* output exists or is in use */
    SWEEP_DEVICE_LOST = 5,
    SWEEP_SIGHUP = 129,
    SWEEP_SIGINT = 130,
    SWEEP_SIGTERM = 143,
};

struct sweep_progress {
    size_t done, total; /* runs; a boundary's are estimated until it is found */
    size_t fitted, failed, skipped;
    size_t made;                /* by this driver; the elapsed time is theirs */
    size_t planned_left;        /* of the plan, without a boundary's */
    const struct plan_run *run; /* the one that ended, NULL at the start */
    const struct row *closing;  /* its worst closing row */
    uint64_t elapsed_ns;
};
struct sweep_request {
    const struct study *study;
    const char *folder;             /* the results folder itself */
    const char *command_line;       /* for environment.json */
    bool keep_runs;                 /* keep runs/<run> of ok runs too */
    bool resume;                    /* the folder is there: make what is missing */
    uint32_t retry;                 /* resume: statuses to make again, a bit each */
    bool stop_on_failure;           /* SWEEP_FAILED at the first run that is not ok */
    const struct json *environment; /* of environment_gather; NULL: gathered when needed */
    /* A message for people: what resuming found, what ended the study, boundaries. */
    void (*say)(void *user, const char *message);
    void (*progress)(void *user, const struct sweep_progress *progress);
    void *user;
    /* measure: rows go here instead of a results folder (folder is NULL then). */
    void (*rows)(void *user, const struct row *rows, size_t count);
};
enum sweep_outcome sweep_run(const struct sweep_request *request, struct text *why) MUST_CHECK;

#endif
