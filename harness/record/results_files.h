/* results_files: what results.c and results_reopen.c share; for no one else. */
#ifndef HIGHWATER_RECORD_RESULTS_FILES_H
#define HIGHWATER_RECORD_RESULTS_FILES_H

#include "harness/base/text.h"

/* Takes the lock without waiting; -1 with errno (EAGAIN or EACCES: someone has it). */
int rows_lock(int rows_fd) MUST_CHECK;
/* The folder's path without slashes at its end; the caller frees. */
char *results_path(const char *folder) MUST_CHECK;

#endif
