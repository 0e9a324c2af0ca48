/* rundir: a private folder for the files of running programs (live pages, the launcher's
 * session files), on a memory file system where there is one.
 */
#ifndef HIGHWATER_DRIVE_RUNDIR_H
#define HIGHWATER_DRIVE_RUNDIR_H

#include "harness/base/text.h"

#include <stdint.h>

struct rundir {
    char *path;
    int lock; /* held while we live: a folder whose lock is free is a leftover */
};
/* Creates it in /dev/shm, or in `fallback` (a folder) when that is no memory file system; the
 * leftovers of drivers that died are removed from both. */
int rundir_open(struct rundir *rundir, const char *fallback, struct text *why) MUST_CHECK;
/* A fresh folder inside, for one run; the caller frees the path. */
char *rundir_for_run(const struct rundir *rundir, uint64_t order, struct text *why) MUST_CHECK;
/* Removes that folder and frees its path; what cannot be removed goes with the whole folder. */
void rundir_end_run(char *path);
/* Removes it with everything inside. */
int rundir_close(struct rundir *rundir, struct text *why) MUST_CHECK;

#endif
