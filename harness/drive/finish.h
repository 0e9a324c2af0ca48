/* finish: what every row of a rank says beside its phase, and whether a good end was one. */
#ifndef HIGHWATER_DRIVE_FINISH_H
#define HIGHWATER_DRIVE_FINISH_H

#include "harness/drive/complete.h"

/* The rows of one rank, its closing row last, each with a status. What was decided before the
 * run stands over what rank and child say of it; a child that ran under something else, or did
 * not reach a phase, did not do what was asked. */
void finish_rank(const struct run_facts *facts, uint64_t rank, struct row *rows, size_t count);

#endif
