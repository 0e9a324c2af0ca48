/* rank: one MPI process of a run, the observer of one device. It links no CUDA; its child is
 * the one that works. rank.c alone knows MPI.
 */
#ifndef HIGHWATER_OBSERVE_RANK_H
#define HIGHWATER_OBSERVE_RANK_H

#include "harness/base/text.h"

/* The whole life of a rank. Returns the exit code: 0 once the shard is complete, whatever
 * became of the child; else SHARD_UNWRITTEN or 1, with a reason in `why`. */
int rank_main(int argc, char **argv, struct text *why) MUST_CHECK;

#endif
