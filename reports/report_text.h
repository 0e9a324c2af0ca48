/* report_text: a table of rows as text for a first morning: per sweep value whether it fits,
 * the phase of failure, and four counters.
 *
 * Computed and observed rows stand in tables of their own, and so do backends. Nothing is
 * summed: a run's peak is the largest of its phases' peaks, each device for itself. What was
 * not measured is a dash.
 */
#ifndef HIGHWATER_REPORTS_REPORT_TEXT_H
#define HIGHWATER_REPORTS_REPORT_TEXT_H

#include "harness/base/text.h"

/* `path` is a rows.csv, whole or torn (its good rows are reported, and the tear is said).
 * -1: it cannot be read as our table. */
int report_text(const char *path, struct text *out, struct text *why) MUST_CHECK;

#endif
