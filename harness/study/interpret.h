/* interpret: from a document to a study. Internal to the study room.
 *
 * Every step complains and goes on, so that all errors of a file are shown at once.
 */
#ifndef HIGHWATER_STUDY_INTERPRET_H
#define HIGHWATER_STUDY_INTERPRET_H

#include "harness/study/document.h"
#include "harness/study/study.h"

/* Defaults, then every key into its option; names, required keys, duplicates. */
void study_fill(const struct document *document, struct study *study,
                struct complaints *complaints);
/* What single keys cannot tell: names, lists, and whether they go together. */
void study_check(const struct document *document, struct study *study,
                 struct complaints *complaints);
/* Every point that will be run against the workload. */
void study_check_points(const struct document *document, const struct study *study,
                        struct complaints *complaints);
/* The hash of the canonical form. */
void study_hash(const struct study *study, char hash[24]);

/* Reads "1, 2, 4:64:x2, 100:200:+10": values from minimum to maximum, none twice, at most
 * STUDY_VALUES_LIMIT. The caller frees. */
#define STUDY_VALUES_LIMIT ((size_t)1000000)
int values_parse(const char *list, uint64_t minimum, uint64_t maximum, uint64_t **values,
                 size_t *count, struct text *why) MUST_CHECK;

#endif
