/* describe: what a study says of itself: its canonical form and hash, the cells of its rows,
 * what its ranks have, and what is to be known of the files that it names.
 */
#ifndef HIGHWATER_STUDY_DESCRIBE_H
#define HIGHWATER_STUDY_DESCRIBE_H

#include "harness/record/row.h"

struct study;

void study_release(struct study *study);

/* The workload's caution, and what it says of the files that its options name: appends to
 * `notes` a line each. -1: the files cannot be used, `why` has a line for each fault. */
int study_look(const struct study *study, struct text *notes, struct text *why) MUST_CHECK;
/* Of those files, as the workload has it (workload.h). */
int study_fingerprint(const struct study *study, struct text *out, struct text *why) MUST_CHECK;

/* Capacity of rank r on simulated and host devices; missing otherwise. */
struct reading study_capacity(const struct study *study, uint64_t rank);
/* On cuda the same key is a limit on the rank's allocator; missing: none. */
struct reading study_limit(const struct study *study, uint64_t rank);
/* How many devices the study is for, each with a rank of its own, when it can be told without
 * looking at them: ranks, or the number of capacities or of listed devices. */
struct reading study_ranks(const struct study *study);
/* One line a setting, the same for every way to write the same study (resume); and its hash. */
void study_add_canonical(const struct study *study, struct text *out);
void study_hash(const struct study *study, char hash[24]);
/* "key=value;…" of everything that has no column of its own. */
void study_add_options(const struct study *study, struct text *out);
void study_add_allocator_settings(const struct study *study, struct text *out);
/* Cells of [identity] and of those options of the workload that are columns. */
void study_describe_own(const struct study *study, struct row *row);

#endif
