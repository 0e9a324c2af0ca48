/* shard: what one rank of one run says to the driver: an append-only file of lines, the last of
 * which says that it is complete.
 *
 *   start     the rank program runs; host
 *   begin     all ranks are there, the child starts: everything known of the rank and its
 *             device
 *   row       a row of a phase; the last one is the closing row
 *   complete  nothing is missing
 */
#ifndef HIGHWATER_PROTOCOL_SHARD_H
#define HIGHWATER_PROTOCOL_SHARD_H

#include "harness/record/line.h"

/* Exit code of a rank that could not write its shard: no outcome of the run. */
#define SHARD_UNWRITTEN 74 /* EX_IOERR */

/* Paths of a rank's files, in the run folder and in the live folder; the caller frees. */
char *shard_path(const char *run_folder, uint64_t rank) MUST_CHECK;
char *shard_error_path(const char *run_folder, uint64_t rank) MUST_CHECK; /* child's stderr */
char *shard_trace_path(const char *run_folder, uint64_t rank) MUST_CHECK; /* of its memory */
/* Removes a rank's recording and its segments, where there are any. */
void shard_drop_trace(const char *run_folder, uint64_t rank);
char *shard_phases_path(const char *live_folder, uint64_t rank) MUST_CHECK;
char *shard_live_path(const char *live_folder, uint64_t rank) MUST_CHECK;

/* Rank: a new file, or the old one emptied; a descriptor, or -1. */
int shard_create(const char *path, struct text *why) MUST_CHECK;
/* Rows and the line that completes them, synced. */
int shard_finish(int fd, const struct row *rows, size_t count, struct text *why) MUST_CHECK;

/* Driver. */
struct shard {
    bool started, begun, complete;
    struct row about;     /* of the newest start or begin line */
    struct row *rows;     /* the closing row last, when complete */
    size_t count, closed; /* rows; closing ones among them */
};
/* A missing file is a rank that never started; one with a line that cannot be read, a row of no
 * known status, rows behind its end or two closing rows is not complete. */
int shard_read(const char *path, struct shard *shard, struct text *why) MUST_CHECK;
void shard_release(struct shard *shard);

#endif
