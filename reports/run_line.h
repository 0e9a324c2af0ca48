/* run_line: what a report says of one run on one rank: its rows, condensed. */
#ifndef HIGHWATER_REPORTS_RUN_LINE_H
#define HIGHWATER_REPORTS_RUN_LINE_H

#include "harness/record/row.h"

#include <stdint.h>

/* Texts are "" when the cell is empty; owned. */
struct run_line {
    char *evidence, *backend, *study, *workload, *role, *dimension, *input, *run, *phases,
        *device;
    struct reading value, trial, rank, capacity;
    uint64_t place; /* alone: of its device in the list, from 1; else 0 */
    size_t attempt; /* which block of rows of the table, from 1 */
    size_t changes; /* of its cards, up to this run (reports/changes.h) */
    int status;     /* of the closing row; -1: the run has none (yet) */
    char *fits, *failed_phase, *refused_by;
    struct reading allocated, reserved, predicted, device_used; /* largest of the phases */
    bool partial;          /* a phase did not finish: its peak is a lower bound */
    bool predicted_misfit; /* likewise of the predicted peak: it ends at the refused request */
};
struct run_lines {
    struct run_line *lines;
    size_t count;
    size_t attempts;     /* blocks of rows, one each time that a run was made */
    size_t replaced;     /* lines of runs that were made again: the last attempt alone counts */
    struct text changes; /* of cards, a line each */
};

/* Reads a table; the lines are sorted by run_line_group, then value, input, trial and rank. */
int run_lines_read(const char *path, struct run_lines *lines, uint64_t *rows, struct text *tear,
                   struct text *why) MUST_CHECK;
void run_lines_release(struct run_lines *lines);
/* Orders by what makes a table of its own: evidence, backend, study, workload, role, dimension,
 * and the cards before and after a change. */
int run_line_group(const struct run_line *a, const struct run_line *b);

#endif
