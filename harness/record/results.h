/* results: a results folder. Rows are sacred: written once, synced, never rewritten.
 *
 *     study.ini  environment.json  rows.csv  events.log  runs/<run>/
 *
 * One driver per folder: the lock is the kernel's (released at death) and held on rows.csv's
 * folder, so that another path to the same folder finds it too.
 */
#ifndef HIGHWATER_RECORD_RESULTS_H
#define HIGHWATER_RECORD_RESULTS_H

#include "harness/record/row.h"

#include <stddef.h>
#include <stdint.h>

struct results {
    char *folder;
    int folder_fd, rows_fd, events_fd, lock_fd;
};

enum results_outcome {
    RESULTS_OK = 0,
    RESULTS_FAILED = -1, /* I/O; the reason names the file */
    RESULTS_EXISTS = -2, /* there is something already */
    RESULTS_IN_USE = -3, /* another driver holds the lock */
};

/* Creates the folder and its files (rows.csv with its header, the frozen study, the environment)
 * and takes the lock. Nothing is left behind on failure. */
enum results_outcome results_create(struct results *results, const char *folder,
                                    const struct text *study, const struct text *environment,
                                    struct text *why) MUST_CHECK;
/* All rows of a run in one append and one sync. */
int results_append(struct results *results, const struct row *rows, size_t count,
                   struct text *why) MUST_CHECK;
/* One UTC-stamped line in events.log. */
int results_event(struct results *results, struct text *why, const char *format, ...)
    PRINTF_LIKE(3, 4) MUST_CHECK;
/* runs/<run>, created; the caller frees the path. */
char *results_run_folder(struct results *results, const char *run, struct text *why) MUST_CHECK;
void results_close(struct results *results);

#endif
