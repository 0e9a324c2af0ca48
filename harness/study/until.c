#include "harness/study/until.h"

#include "harness/base/units.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)
#define DAY (24 * 60)         /* minutes */
#define LONGEST_JUMP (3 * 60) /* ahead; what is longer is one back */

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

static int minute_of_day(time_t moment, int *second)
{
    struct tm local;
    localtime_r(&moment, &local);
    *second = local.tm_sec;
    return local.tm_hour * 60 + local.tm_min;
}

/* Walks the local clock minute by minute. Where it jumps ahead, what it leaves out is there;
 * where it goes back, it shows some times twice: the first that is still to come counts. */
static uint64_t next_clock_time(int hour, int minute, uint64_t now_ns)
{
    time_t moment = (time_t)(now_ns / SECOND_NS);
    int wanted = hour * 60 + minute, second = 0;
    int shown = minute_of_day(moment, &second);
    moment -= second;
    for (;;) {
        int before = shown;
        moment += 60;
        shown = minute_of_day(moment, &second);
        int passed = (shown - before + DAY) % DAY, to_wanted = (wanted - before + DAY) % DAY;
        if (shown == wanted || (passed <= LONGEST_JUMP && 0 < to_wanted && to_wanted < passed))
            return (uint64_t)moment * SECOND_NS;
    }
}

bool until_is_time_of_day(const char *until)
{
    int hour, minute;
    return is_clock_time(until, &hour, &minute);
}

int until_moment(const char *until, uint64_t now_ns, uint64_t *moment_ns, struct text *why)
{
    int hour, minute;
    uint64_t length;
    int result = 0;
    if (until[0] == '\0')
        *moment_ns = UINT64_MAX;
    else if (is_clock_time(until, &hour, &minute))
        *moment_ns = next_clock_time(hour, minute, now_ns);
    else if (parse_duration(until, &length, NULL) == 0)
        *moment_ns = now_ns > UINT64_MAX - length ? UINT64_MAX : now_ns + length;
    else
        result = -1;
    if (result != 0)
        text_addf(why,
                  "\"%s\" is neither a time of day such as 22:30 nor a duration such as 8h",
                  until);
    return result;
}

void until_add_moment(struct text *out, uint64_t moment_ns)
{
    time_t moment = (time_t)(moment_ns / SECOND_NS);
    struct tm local;
    char shown[64];
    localtime_r(&moment, &local);
    size_t length = strftime(shown, sizeof shown, "%Y-%m-%d %H:%M:%S %Z", &local);
    text_addf(out, "%.*s", (int)length, shown);
}
