/* report_text: a table of rows as text: per sweep value whether it fits, the phase of
 * failure, and four counters.
 *
 * Computed and observed rows stand in tables of their own, and so do backends. Nothing is
 * summed: a run's peak is the largest of its phases' peaks, each device for itself. What was
 * not measured is a dash.
 */
#ifndef HIGHWATER_REPORTS_REPORT_TEXT_H
#define HIGHWATER_REPORTS_REPORT_TEXT_H

#include "harness/base/text.h"

#include <stdint.h>

/* What the study of a table tells of it. */
struct report_study {
    const char *progress;       /* "2 of 13 runs made, 11 left"; borrowed */
    const uint32_t *unfinished; /* by enum plan_role: a bit for each dimension with runs left */
};
/* `path` is a rows.csv, whole or torn (its good rows are reported, and the tear is said);
 * `study` NULL: a table alone, of which nobody knows what is left. -1: it cannot be read as our
 * table. */
int report_text(const char *path, const struct report_study *study, struct text *out,
                struct text *why) MUST_CHECK;

#endif
