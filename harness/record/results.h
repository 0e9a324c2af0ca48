/* results: a results folder. Rows are sacred: written once, synced, never rewritten.
 *
 *     study.ini  environment.json  rows.csv  events.log  runs/<run>/
 *
 * One driver per folder: the lock is the kernel's (an open-file-description lock on rows.csv,
 * dropped at death), so that another path to the same folder finds it too.
 */
#ifndef HIGHWATER_RECORD_RESULTS_H
#define HIGHWATER_RECORD_RESULTS_H

#include "harness/record/row.h"
#include "harness/record/runs.h"

#include <stddef.h>
#include <stdint.h>

struct results {
    char *folder;
    int rows_fd, events_fd; /* rows_fd holds the lock */
    uint64_t rows_bytes;    /* length of rows.csv, all of it whole runs */
};

enum results_outcome {
    RESULTS_OK = 0,
    RESULTS_FAILED = -1, /* I/O; the reason names the file */
    RESULTS_EXISTS = -2, /* there is something already */
    RESULTS_IN_USE = -3, /* another driver holds the lock */
};

/* Creates the folder and its files (rows.csv with its header, frozen study, environment) and
 * takes the lock. The folder appears under its name only when all of it is on the disk;
 * nothing is left behind on failure. */
enum results_outcome results_create(struct results *results, const char *folder,
                                    const struct text *study, const struct text *environment,
                                    struct text *why) MUST_CHECK;

/* Opens an existing folder to go on: takes the lock, reads rows.csv strictly and cuts it back
 * to the last whole run. A run is whole when it has one closing row of each of its ranks, 0
 * to ranks - 1, and the last of them is its last row. What is cut is kept beside it
 * (rows.cut-1.csv, ...) and told in `said`. Memory grows with runs, not with rows. The caller
 * releases what it gets. `listener` may be NULL: it is told the closing rows of each whole run,
 * in the order of the table. */
struct results_listener {
    void (*run)(void *user, const struct row *closing, size_t ranks);
    void *user;
};
struct results_reopened {
    struct run_set done;
    uint64_t rows;      /* of whole runs */
    uint64_t cut_bytes; /* 0: nothing was torn */
    struct text said;   /* "" when nothing was torn */
};
enum results_outcome results_reopen(struct results *results, const char *folder,
                                    const struct results_listener *listener,
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

/* What lies behind the last whole run; resuming would cut it off. */
struct results_damage {
    struct text reason; /* "" none; the caller releases */
    uint64_t byte;      /* where it begins */
    bool at_end;        /* rows are missing at the end: a driver may be about to write them */
};
/* The whole runs of a folder that a driver may be writing to, also of an older version whose
 * columns are the first of ours: nothing is locked or changed, what is damaged is left out and
 * told in `damage` (may be NULL). -1: it cannot be read as our table. */
int results_look(const char *folder, const struct results_listener *listener,
                 struct run_set *done, struct results_damage *damage,
                 struct text *why) MUST_CHECK;

/* Is a driver at work in this folder? Takes nothing, also for a moment. */
bool results_in_use(const char *folder);
/* Appends "FOLDER is in use by pid 1234", or by a process of another host or user. */
void results_add_user(const char *folder, struct text *out);
/* The run that events.log says has begun and not ended, and when (UTC); "" none. */
void results_current(const char *folder, struct text *run, struct text *since);

#endif
