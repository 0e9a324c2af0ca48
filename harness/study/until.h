/* until: the moment after which no run is started. */
#ifndef HIGHWATER_STUDY_UNTIL_H
#define HIGHWATER_STUDY_UNTIL_H

#include "harness/base/text.h"

#include <stdint.h>

/* Does `until` name a time of day rather than a duration or nothing? */
bool until_is_time_of_day(const char *until);
/* "22:30", the next time after `now` that the local clock (TZ) shows it or jumps over it, or
 * "8h", that long after it; "" is never (UINT64_MAX). Nanoseconds, of real time for a time of
 * day, of the clock that `now` was read from for a duration. -1: neither. */
int until_moment(const char *until, uint64_t now_ns, uint64_t *moment_ns,
                 struct text *why) MUST_CHECK;
/* Appends "2026-11-29 22:30:00 CET": the local clock at that moment. */
void until_add_moment(struct text *out, uint64_t moment_ns);

#endif
