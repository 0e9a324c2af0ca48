/* phases: the append-only file in which a child says what it does (path in HIGHWATER_PHASES).
 *
 * Verbs, each a line of record/line.h:
 *   hello   once, first: framework, framework_version, compute_backend, counter_source,
 *           device_uuid, cuda_ordinal, processed_*, the settings in force …
 *   begin   phase, pass, repeat: a phase starts (counters: the start values)
 *   end     the same phase is over: all counters, status, duration, tokens, result
 *   fail    the current phase failed: status, error, refused_by, counters so far
 *   bye     the child is about to exit well
 * A begun phase without end or fail was cut off: its counters are in the live page.
 * Which verb may carry which column stands in columns.def; other columns are dropped. A status
 * is oom, host_oom, error or adapted, of an end also ok; any other counts as error.
 */
#ifndef HIGHWATER_PROTOCOL_PHASES_H
#define HIGHWATER_PROTOCOL_PHASES_H

#include "harness/record/line.h"
#include "harness/protocol/live.h"

#define PHASES_VARIABLE "HIGHWATER_PHASES"

/* What a child's phase file and live page say, as rows: one per begun phase, in order, the last
 * with partial = yes when it was cut off (live counters; no end values; no status: that is the
 * rank's to say) or failed. A failure outside any phase has a row of its own, with or without a
 * phase's name. A phase that ended without a status is ok; one that was left for the next, or
 * ended as partial, is an error. Only the first fail counts, nothing but bye counts after it;
 * such lines, an end that was not begun and a phase named "run" are bad lines. Texts are cut at
 * 500 bytes. Verbs of newer speakers are skipped. */
struct phase_record {
    struct row hello; /* what the child said of itself */
    bool said_hello;
    bool said_bye;     /* the last line: it exits well */
    bool failed;       /* a fail line came: the child's own verdict is in the last row */
    bool live_missing; /* the last row wanted the live page, which could not be read */
    struct row *rows;
    size_t count;
    size_t bad_lines;
    const char *dropped; /* the first column that was not its to say; NULL: none */
    bool bad_status;     /* it gave a status that was not its to give, */
    int status_given;    /* first this one; -1: of no known name */
};
/* Reads both; a missing or empty phase file is a child that never spoke (0 rows). `live_path`
 * may be NULL. Of a flood the first 64 MiB and the first 65,536 phases count, and a failure;
 * the rest is bad lines. -1: phase file unreadable. */
int phases_read(const char *phases_path, const char *live_path, struct phase_record *record,
                struct text *why) MUST_CHECK;
/* While a child writes: has the newest phase begun and neither ended nor failed? */
bool phases_running(const char *phases_path);
void phase_record_release(struct phase_record *record);

#endif
