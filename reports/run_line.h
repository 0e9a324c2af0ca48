/* run_line: what a report says of one run on one rank: its rows, condensed. */
#ifndef HIGHWATER_REPORTS_RUN_LINE_H
#define HIGHWATER_REPORTS_RUN_LINE_H

#include "harness/record/row.h"

#include <stdint.h>

/* Texts are "" when the cell is empty; owned. */
struct run_line {
    char *evidence, *backend, *study, *workload, *role, *dimension, *input, *run, *device;
    struct reading value, trial, rank, capacity;
    int status; /* of the closing row; -1: the run has none (yet) */
    char *fits, *failed_phase, *refused_by;
    struct reading allocated, reserved, predicted, device_used; /* largest of the phases */
    bool partial; /* a phase did not finish: its peak is a lower bound */
};
struct run_lines {
    struct run_line *lines;
    size_t count, room;
};

/* Reads a table; the lines are sorted by run_line_group, then value, input, trial and rank. */
int run_lines_read(const char *path, struct run_lines *lines, uint64_t *rows, struct text *tear,
                   struct text *why) MUST_CHECK;
void run_lines_release(struct run_lines *lines);
/* Orders by what makes a table of its own: evidence, backend, study, workload, role, dimension.
 */
int run_line_group(const struct run_line *a, const struct run_line *b);

#endif
