/* results: a results folder. Rows are sacred: written once, synced, never rewritten.
 *
 *     study.ini  environment.json  rows.csv  events.log  runs/<run>/
 * */
#ifndef HIGHWATER_RECORD_RESULTS_H
#define HIGHWATER_RECORD_RESULTS_H

#include "harness/record/results_lock.h"
#include "harness/record/whole_runs.h"

struct results {
    char *folder;
    int rows_fd, events_fd; /* rows_fd holds the lock */
    uint64_t rows_bytes;    /* length of rows.csv, all of it whole runs */
};

/* Creates the folder and its files (rows.csv with its header, frozen study, environment) and
 * takes the lock. The folder appears under its name only when all of it is on the disk;
 * nothing is left behind on failure. */
enum results_outcome results_create(struct results *results, const char *folder,
                                    const struct text *study, const struct text *environment,
                                    struct text *why) MUST_CHECK;

/* Opens an existing folder to go on: takes the lock, reads rows.csv strictly and cuts it back
 * to the last whole run. What is cut is kept beside it (rows.cut-1.csv, ...) and told in
 * `said`. The caller releases what it gets. `listener` may be NULL. */
struct results_reopened {
    struct run_set done;
    uint64_t rows;      /* of whole runs */
    uint64_t cut_bytes; /* 0: nothing was torn */
    struct text said;   /* "" when nothing was torn */
};
enum results_outcome results_reopen(struct results *results, const char *folder,
                                    const struct run_listener *listener,
                                    struct results_reopened *reopened,
                                    struct text *why) MUST_CHECK;
void results_reopened_release(struct results_reopened *reopened);

/* All rows of a run in one append and one sync. On failure the file is as it was before, or the
 * reason says that it is not. */
int results_append(struct results *results, const struct row *rows, size_t count,
                   struct text *why) MUST_CHECK;
/* One UTC-stamped line in events.log, on the disk when this returns. */
int results_event(struct results *results, struct text *why, const char *format, ...)
    PRINTF_LIKE(3, 4) MUST_CHECK;
/* runs/<run>, made empty; the caller frees the path. NULL: the reason is in `why`. */
char *results_run_folder(struct results *results, const char *run, struct text *why) MUST_CHECK;
/* -1: what was said to be written may not be; the reason is added behind others. */
int results_close(struct results *results, struct text *why) MUST_CHECK;

/* The run that events.log says has begun and not ended, and when (UTC); "" none. */
void results_current(const char *folder, struct text *run, struct text *since);

#endif
