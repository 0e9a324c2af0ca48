/* results_lock: one driver per results folder. The lock is the kernel's (an open-file-
 * description lock on rows.csv, dropped at death), so that another path to the same folder
 * finds it too.
 */
#ifndef HIGHWATER_RECORD_RESULTS_LOCK_H
#define HIGHWATER_RECORD_RESULTS_LOCK_H

#include "harness/base/text.h"

enum results_outcome {
    RESULTS_OK = 0,
    RESULTS_FAILED = -1, /* I/O; the reason names the file */
    RESULTS_EXISTS = -2, /* there is something already */
    RESULTS_IN_USE = -3, /* another driver holds the lock */
};

/* Takes the lock of an open rows.csv without waiting; closing the file gives it back. */
enum results_outcome results_lock(int rows_fd, const char *folder, struct text *why) MUST_CHECK;
/* Is a driver at work in this folder? Takes nothing, also for a moment. */
bool results_in_use(const char *folder);
/* Appends "FOLDER is in use by pid 1234", or by a process of another host or user. */
void results_add_user(const char *folder, struct text *out);

#endif
