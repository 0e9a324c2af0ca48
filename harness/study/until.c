#include "harness/study/until.h"

#include "harness/base/units.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

static bool is_clock_time(const char *until, int *hour, int *minute)
{
    const char *colon = strchr(until, ':');
    size_t hours = colon ? (size_t)(colon - until) : 0;
    if (hours < 1 || hours > 2 || strlen(colon) != 3 || !isdigit((unsigned char)colon[1]) ||
        !isdigit((unsigned char)colon[2]))
        return false;
    *hour = 0;
    for (size_t i = 0; i < hours; i++) {
        if (!isdigit((unsigned char)until[i]))
            return false;
        *hour = *hour * 10 + (until[i] - '0');
    }
    *minute = (colon[1] - '0') * 10 + (colon[2] - '0');
    return *hour < 24 && *minute < 60;
}

/* mktime mends the date, and knows of days of 23 and 25 hours. */
static uint64_t next_clock_time(int hour, int minute, uint64_t now_ns)
{
    time_t now = (time_t)(now_ns / SECOND_NS), moment;
    struct tm local;
    localtime_r(&now, &local);
    int today = local.tm_mday;
    for (int day = 0;; day++) {
        local.tm_mday = today + day;
        local.tm_hour = hour;
        local.tm_min = minute;
        local.tm_sec = 0;
        local.tm_isdst = -1;
        moment = mktime(&local);
        if (moment > now || day > 1)
            return (uint64_t)moment * SECOND_NS;
        localtime_r(&now, &local);
    }
}

int until_moment(const char *until, uint64_t now_ns, uint64_t *moment_ns, struct text *why)
{
    int hour, minute;
    uint64_t length;
    struct text ignored = TEXT_INIT;
    int result = 0;
    if (until[0] == '\0')
        *moment_ns = UINT64_MAX;
    else if (is_clock_time(until, &hour, &minute))
        *moment_ns = next_clock_time(hour, minute, now_ns);
    else if (parse_duration(until, &length, &ignored) == 0)
        *moment_ns = now_ns > UINT64_MAX - length ? UINT64_MAX : now_ns + length;
    else
        result = -1;
    if (result != 0)
        text_addf(why,
                  "\"%s\" is neither a time of day such as 22:30 nor a duration such as 8h",
                  until);
    text_release(&ignored);
    return result;
}
