/* The moment of `until`: the next time that the local clock shows it, on days of 23 and 25
 * hours and around midnight too. */
#include "harness/study/until.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)

/* At `now` UTC ("2026-03-08 06:59:58") under a TZ the moment is so many seconds ahead. */
static void ahead(const char *zone, const char *now, const char *until, int64_t seconds)
{
    struct tm utc = {.tm_year = 0};
    struct text why = TEXT_INIT;
    uint64_t moment = 0;
    assert_non_null(strptime(now, "%Y-%m-%d %H:%M:%S", &utc));
    uint64_t now_ns = (uint64_t)timegm(&utc) * SECOND + SECOND / 2;
    setenv("TZ", zone, 1);
    tzset();
    assert_int_equal(until_moment(until, now_ns, &moment, &why), 0);
    uint64_t wanted = now_ns + (uint64_t)seconds * SECOND - SECOND / 2;
    if (moment != wanted)
        fail_msg("%s, %s UTC, until %s: %lld s ahead, not %lld", zone, now, until,
                 (long long)((int64_t)(moment - now_ns) / (int64_t)SECOND + 1),
                 (long long)seconds);
    text_release(&why);
}

#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static void an_ordinary_day(void **state)
{
    (void)state;
    ahead("UTC0", "2026-06-01 22:29:58", "22:30", 2);
    ahead("UTC0", "2026-06-01 22:29:59", "22:30", 1);
    ahead("UTC0", "2026-06-01 22:30:00", "22:30", DAY); /* that moment has begun */
    ahead("UTC0", "2026-06-01 22:30:01", "22:30", DAY - 1);
    ahead("UTC0", "2026-06-01 22:31:00", "22:30", DAY - MINUTE);
    ahead("UTC0", "2026-06-01 22:30:00", "7:05", 8 * HOUR + 35 * MINUTE);
    ahead("UTC0", "2026-12-31 23:59:58", "0:00", 2);
    ahead("UTC0", "2026-12-31 23:59:58", "00:01", MINUTE + 2);
    ahead("UTC0", "2026-06-01 00:00:01", "23:59", DAY - MINUTE - 1);
    ahead("UTC0", "2028-02-28 12:00:00", "11:00", 23 * HOUR);
    ahead("YST-5:30", "2026-06-01 17:00:00", "22:31", MINUTE);
    ahead("YST-5:30", "2026-06-01 17:00:00", "22:30", DAY);
    ahead("YST3:00:07", "2026-06-01 15:00:00", "12:00", 7); /* no whole minutes from UTC */
}

/* New York: 2026-03-08 at 2:00 the clock goes to 3:00, 2026-11-01 at 2:00 to 1:00. */
#define NEW_YORK "EST5EDT,M3.2.0,M11.1.0"

static void a_day_of_23_hours(void **state)
{
    (void)state;
    ahead(NEW_YORK, "2026-03-08 06:59:58", "3:00", 2);
    ahead(NEW_YORK, "2026-03-08 06:59:58", "3:10", 10 * MINUTE + 2);
    ahead(NEW_YORK, "2026-03-08 05:00:00", "1:59", HOUR + 59 * MINUTE);
    ahead(NEW_YORK, "2026-03-08 04:00:00", "22:00", 22 * HOUR); /* 23:00 of the day before */
    /* What the clock jumps over is there when it has jumped. */
    ahead(NEW_YORK, "2026-03-08 06:45:00", "2:30", 15 * MINUTE);
    ahead(NEW_YORK, "2026-03-08 05:00:00", "2:00", 2 * HOUR);
    ahead(NEW_YORK, "2026-03-08 07:00:00", "2:30", 23 * HOUR + 30 * MINUTE);
}

static void a_day_of_25_hours(void **state)
{
    (void)state;
    ahead(NEW_YORK, "2026-11-01 05:29:58", "1:30", 2);           /* the first half past one */
    ahead(NEW_YORK, "2026-11-01 05:30:00", "1:30", HOUR);        /* the second */
    ahead(NEW_YORK, "2026-11-01 06:10:00", "1:30", 20 * MINUTE); /* it is ten past again */
    ahead(NEW_YORK, "2026-11-01 06:30:00", "1:30", DAY);
    ahead(NEW_YORK, "2026-11-01 05:59:58", "2:00", HOUR + 2);
    ahead(NEW_YORK, "2026-11-01 03:00:00", "22:00", 24 * HOUR); /* 23:00 of the day before */
}

/* Zones that leave out midnight, or are on the other side of the world. */
static void odd_zones(void **state)
{
    (void)state;
    ahead("XST3XDT,M10.3.0/0,M2.3.0/0", "2026-10-18 02:59:58", "0:00", 2);
    ahead("XST3XDT,M10.3.0/0,M2.3.0/0", "2026-10-18 02:59:58", "0:30", 2);
    ahead("XST3XDT,M10.3.0/0,M2.3.0/0", "2026-10-18 02:59:58", "1:00", 2);
    ahead("LHST-10:30LHDT-11,M10.1.0,M4.1.0", "2026-10-03 15:29:00", "2:15", MINUTE);
    ahead("YST-14", "2026-06-01 09:59:59", "0:00", 1);
    ahead("YST12", "2026-06-01 11:59:59", "0:00", 1);
}

static void durations(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    uint64_t moment;
    assert_int_equal(until_moment("8h", 5 * SECOND, &moment, &why), 0);
    assert_int_equal(moment, (5 + 8 * HOUR) * SECOND);
    assert_int_equal(until_moment("1s", UINT64_MAX - 1, &moment, &why), 0);
    assert_int_equal(moment, UINT64_MAX);
    assert_int_equal(until_moment("", 5, &moment, &why), 0);
    assert_int_equal(moment, UINT64_MAX);
    static const char *const neither[] = {"24:00", "22:60", ":30",    "22:3",   "22:300",
                                          "2x:30", "-1:30", "222:30", "22:30 ", "soon"};
    for (size_t i = 0; i < sizeof neither / sizeof *neither; i++) {
        assert_int_equal(until_moment(neither[i], 5, &moment, &why), -1);
        assert_false(until_is_time_of_day(neither[i]));
    }
    assert_true(until_is_time_of_day("7:05"));
    assert_false(until_is_time_of_day("8h"));
    assert_false(until_is_time_of_day(""));
    text_release(&why);
}

static void shown(void **state)
{
    (void)state;
    struct text out = TEXT_INIT;
    setenv("TZ", "XST-1XDT,M3.5.0,M10.5.0/3", 1);
    tzset();
    until_add_moment(&out, UINT64_C(1782160200) * SECOND + 999999999);
    assert_string_equal(text_string(&out), "2026-06-22 22:30:00 XDT");
    text_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_day),   cmocka_unit_test(a_day_of_23_hours),
        cmocka_unit_test(a_day_of_25_hours), cmocka_unit_test(odd_zones),
        cmocka_unit_test(durations),         cmocka_unit_test(shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
