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

#endif
