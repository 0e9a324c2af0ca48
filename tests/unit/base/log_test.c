#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#define BAD "bad thing\\x1b[2J\\xe2\\x80\\xae\\xc2\\x9b"

/* What is logged at all four levels with this much wanted. */
static void assert_logged(enum log_level most, const char *wanted)
{
    char path[] = "/tmp/highwater-log-XXXXXX";
    struct text out = TEXT_INIT, why = TEXT_INIT;
    int fd = mkstemp(path), saved = dup(STDERR_FILENO);
    assert_true(fd >= 0 && saved >= 0);
    dup2(fd, STDERR_FILENO);
    log_open("highwater", most);
    log_error("bad %s", "thing\x1b[2J\u202e\xc2\x9b");
    log_warning("odd");
    log_note("two\nlines\n");
    log_detail("%d", 7);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(fd);
    assert_int_equal(file_read(path, 0, &out, &why), 0);
    unlink(path);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
}

static void levels(void **state)
{
    (void)state;
    assert_logged(LOG_ERROR, "highwater: " BAD "\n");
    assert_logged(LOG_NOTE, "highwater: " BAD "\nhighwater: warning: odd\n"
                            "highwater: two\nhighwater: lines\n");
    assert_logged(LOG_DETAIL, "highwater: " BAD "\nhighwater: warning: odd\n"
                              "highwater: two\nhighwater: lines\nhighwater: 7\n");
}

static void utc(void **state)
{
    (void)state;
    struct text out = TEXT_INIT;
    text_add_utc(&out, 0);
    text_add_utc(&out, 1798761599999999999ull);
    assert_string_equal(text_string(&out), "1970-01-01 00:00:002026-12-31 23:59:59");
    text_release(&out);
}

static void sleeping_takes_its_time(void **state)
{
    (void)state;
    uint64_t start = clock_monotonic_ns();
    clock_sleep_ns(20000000);
    assert_true(clock_monotonic_ns() - start >= 20000000);
    assert_true(clock_realtime_ns() > 1577836800000000000ull); /* later than 2020 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels),
        cmocka_unit_test(utc),
        cmocka_unit_test(sleeping_takes_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
