/* whole_runs: which runs of a results table are whole. A run is whole when it has one closing
 * row of each of its ranks, 0 to ranks - 1, and the last of them is its last row. The same run
 * again behind that is a new one: it was retried.
 *
 * Nothing is locked or changed: a driver may be writing. Memory grows with runs, not with rows.
 */
#ifndef HIGHWATER_RECORD_WHOLE_RUNS_H
#define HIGHWATER_RECORD_WHOLE_RUNS_H

#include "harness/record/runs.h"

/* Is told the closing rows of each whole run, in the order of the table. */
struct run_listener {
    void (*run)(void *user, const struct row *closing, size_t ranks);
    void *user;
};

struct whole_runs {
    struct run_set done;
    uint64_t rows;      /* of them */
    uint64_t end;       /* byte behind the last of them, or behind the header; 0: no header */
    struct text damage; /* what is wrong behind that; "" nothing */
    bool at_end;        /* rows are missing at the end: a driver may be about to write them */
};

/* `listener` may be NULL. With `allow_older` also a table of an older version, whose columns
 * are the first of ours. -1: it cannot be read as our table. */
int whole_runs_read(const char *folder, bool allow_older, const struct run_listener *listener,
                    struct whole_runs *found, struct text *why) MUST_CHECK;
void whole_runs_release(struct whole_runs *runs);

#endif
