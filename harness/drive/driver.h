/* driver: one run after the other, from its folders to its rows. sweep.c says which runs and
 * what becomes of the rows.
 */
#ifndef HIGHWATER_DRIVE_DRIVER_H
#define HIGHWATER_DRIVE_DRIVER_H

#include "harness/drive/admission.h"
#include "harness/drive/collect.h"
#include "harness/drive/launcher.h"
#include "harness/drive/rundir.h"

struct driver {
    const struct study *study;
    struct launcher launcher;
    struct placement placement;
    struct rundir rundir;
    struct watch watch;
    bool watching;
};
/* Everything that can be refused before something is created is refused here: root without
 * consent, missing programs, devices. `measure` as in admission_open. */
enum admission driver_check(struct driver *driver, const struct study *study, bool measure,
                            struct text *why) MUST_CHECK;
/* From here on signals are ours and folders in memory exist; `fallback` as in rundir_open. */
int driver_open(struct driver *driver, const char *fallback, struct text *why) MUST_CHECK;
/* After driver_check, whether driver_open was called or not. */
void driver_close(struct driver *driver);

enum run_outcome {
    RUN_DONE = 0,
    RUN_FAILED = -1,      /* our own files and means: the study cannot go on */
    RUN_INTERRUPTED = -2, /* by a signal to us; no rows */
};
/* One run. `run_folder` is where shards and standard error go; NULL: inside the folder in
 * memory, removed afterwards. */
enum run_outcome driver_run(struct driver *driver, const struct plan_run *run, uint64_t order,
                            const char *run_folder, struct run_rows *rows, int *signal,
                            struct text *why) MUST_CHECK;
/* The rows of a run that had ended when its driver died: 1 when the shards of all ranks are in
 * `run_folder`, whole, not stopped and of no status in `retry` (a bit each: made again); 0
 * otherwise; -1: they cannot be read. */
int driver_import(struct driver *driver, const struct plan_run *run, uint64_t order,
                  uint32_t retry, const char *run_folder, struct run_rows *rows,
                  struct text *why) MUST_CHECK;
/* The rows of a run that is not made, for this reason. */
int driver_skip(struct driver *driver, const struct plan_run *run, const char *reason,
                struct run_rows *rows, struct text *why) MUST_CHECK;
/* Removes the recordings of a run that needs none (trace = on-failure). */
void driver_drop_traces(const struct driver *driver, const char *run_folder);

#ifdef HIGHWATER_TEST_HOOKS /* tests/stand_in.c: nothing is launched, ranks are stood in for */
bool stand_in_is_asked_for(void);
int stand_in(const struct run_facts *facts, struct text *why) MUST_CHECK;
#endif

#endif
