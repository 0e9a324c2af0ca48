/* clock: monotonic time for durations, UTC for people. Nanoseconds everywhere. */
#ifndef HIGHWATER_BASE_CLOCK_H
#define HIGHWATER_BASE_CLOCK_H

#include "harness/base/text.h"

#include <stdint.h>

uint64_t clock_monotonic_ns(void);
uint64_t clock_realtime_ns(void);
/* Ends early when a handled signal comes. */
void clock_sleep_ns(uint64_t nanoseconds);
/* Appends "YYYY-MM-DD HH:MM:SS" of a realtime value. */
void text_add_utc(struct text *text, uint64_t realtime_ns);

#endif
