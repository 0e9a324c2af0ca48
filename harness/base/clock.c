#include "harness/base/clock.h"

#include <time.h>

#define SECOND 1000000000ull

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void clock_sleep_ns(uint64_t nanoseconds)
{
    struct timespec time = {.tv_sec = (time_t)(nanoseconds / SECOND),
                            .tv_nsec = (long)(nanoseconds % SECOND)};
    nanosleep(&time, NULL);
}

void text_add_utc(struct text *text, uint64_t realtime_ns)
{
    time_t seconds = (time_t)(realtime_ns / SECOND);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    text_addf(text, "%04d-%02d-%02d %02d:%02d:%02d", utc.tm_year + 1900, utc.tm_mon + 1,
              utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}
