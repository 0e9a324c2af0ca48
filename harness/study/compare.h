/* compare: what makes two studies the same, for resuming.
 *
 *     difference                                                   verdict
 *     looks: comments, spacing, order of keys and sections,
 *         8 as 8:8:+1, sizes in other units, allow_root            same
 *     values, inputs, trials or boundaries added; a boundary's
 *         `to` or `confirm` changed                                grown
 *     what schedules runs: timeout, settle, until, order,
 *         after_oom, devices, hostfile, the question               grown
 *     values, inputs, trials or boundaries taken away; an input
 *         with another point; a boundary's `from` or `step`        other
 *     everything else that has a key: it changes what a run is     other
 *
 * The results folder is in no study. Which device, driver, program and columns go together is
 * for the one who resumes to see: they are in the rows, not in the study.
 */
#ifndef HIGHWATER_STUDY_COMPARE_H
#define HIGHWATER_STUDY_COMPARE_H

#include "harness/study/study.h"

enum study_change {
    STUDY_SAME,
    STUDY_GROWN, /* rows of the old study are rows of the new one; more may be missing */
    STUDY_OTHER, /* rows of the two do not belong into one table */
};
/* Appends a line for each difference: "study.trials: 2 is now 3". */
enum study_change study_compare(const struct study *old, const struct study *new,
                                struct text *difference);

#endif
