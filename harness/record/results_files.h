/* results_files: what the files results*.c share; for no one else. */
#ifndef HIGHWATER_RECORD_RESULTS_FILES_H
#define HIGHWATER_RECORD_RESULTS_FILES_H

#include "harness/record/results.h"

/* Takes the lock without waiting. */
enum results_outcome rows_lock(int rows_fd, const char *folder, struct text *why) MUST_CHECK;
/* Closes without a look: of what has failed already. */
void results_drop(struct results *results);
/* Cuts rows.csv off at byte `end`. `keep`: what lies behind is on the disk before, as a new
 * rows.cut-N.csv; `said` names it, and tells of how many runs there are rows in it. */
int results_cut(struct results *results, uint64_t end, bool keep, struct text *said,
                struct text *why) MUST_CHECK;

#endif
