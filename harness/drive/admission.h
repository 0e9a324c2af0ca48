/* admission: whether a study can be run where we are: cards enough and in a mode that allows
 * it, a CUDA that can open them; and between two runs, whether they still answer.
 */
#ifndef HIGHWATER_DRIVE_ADMISSION_H
#define HIGHWATER_DRIVE_ADMISSION_H

#include "harness/plan/placement.h"

enum admission {
    ADMISSION_OK = 0,
    ADMISSION_REFUSED = -1,   /* not as asked */
    ADMISSION_NO_DEVICE = -2, /* nothing to measure on */
};
/* The placement of a study for as long as it is swept. `measure`: opens each kind of card once
 * in a short program, so that a card that CUDA cannot use is found before anything is created,
 * and predictions know what its context takes. */
enum admission admission_open(struct placement *placement, const struct study *study,
                              bool measure, struct text *why) MUST_CHECK;

/* Do all cards still answer, and are they the ones that the study began with? -1: lost. */
int admission_check(const struct placement *placement, struct text *why) MUST_CHECK;

#endif
