/* values: the list behind a sweep's `values`. Internal to the study room. */
#ifndef HIGHWATER_STUDY_VALUES_H
#define HIGHWATER_STUDY_VALUES_H

#include "harness/base/text.h"

#include <stddef.h>
#include <stdint.h>

/* Reads "1, 2, 4:64:x2, 100:200:+10": values from minimum to maximum, none twice, at most
 * STUDY_VALUES_LIMIT. The caller frees. */
#define STUDY_VALUES_LIMIT ((size_t)1000000)
int values_parse(const char *list, uint64_t minimum, uint64_t maximum, uint64_t **values,
                 size_t *count, struct text *why) MUST_CHECK;

#endif
