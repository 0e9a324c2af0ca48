/* stand_in: test builds only: the shards of a run as its ranks would write them if every
 * prediction came true, without a launch. For studies of many runs, and for cutting tables.
 */
#ifndef HIGHWATER_DRIVE_STAND_IN_H
#define HIGHWATER_DRIVE_STAND_IN_H

#include "harness/drive/complete.h"

/* Set: runs are stood in for. */
#define STAND_IN_VARIABLE "HIGHWATER_TEST_INSTANT"
int stand_in(const struct run_facts *facts, struct text *why) MUST_CHECK;

#endif
