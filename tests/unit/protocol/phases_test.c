#include "harness/protocol/phases.h"
#include "tests/unit/folder_bed.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void put(const char *bytes, size_t length)
{
    int fd = open("phases", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_int_equal(write(fd, bytes, length), (ssize_t)length);
    close(fd);
}

static struct phase_record read_phases(const char *live_path)
{
    struct phase_record record;
    struct text why = TEXT_INIT;
    if (phases_read("phases", live_path, &record, &why) != 0)
        fail_msg("%s", text_string(&why));
    assert_int_equal(why.length, 0);
    return record;
}

/* The rows as lines, and what else the record says. */
static void assert_record(const char *lines, const char *live_path, const char *wanted)
{
    put(lines, strlen(lines));
    struct phase_record record = read_phases(live_path);
    struct text out = TEXT_INIT;
    if (record.said_hello)
        line_format(&out, "hello", &record.hello);
    for (size_t i = 0; i < record.count; i++)
        line_format(&out, "row", &record.rows[i]);
    text_addf(&out, "%s%s%zu", record.failed ? "failed " : "", record.said_bye ? "bye " : "",
              record.bad_lines);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
    phase_record_release(&record);
}

#define P "phase=prefill"

static void a_good_child(void **state)
{
    (void)state;
    assert_record("hello\tframework=highwater\n"
                  "begin\t" P "\tpass=first\tallocated_start_bytes=7\n"
                  "end\t" P "\tpass=first\tallocated_start_bytes=8\tallocated_peak_bytes=9\n"
                  "begin\tphase=decode\tpass=warm\trepeat=1\n"
                  "end\tphase=decode\tpass=warm\trepeat=1\tstatus=adapted\n"
                  "bye\n",
                  NULL,
                  "hello\tframework=highwater\n"
                  "row\t" P "\tpass=first\tstatus=ok\tallocated_start_bytes=8\t"
                  "allocated_peak_bytes=9\n"
                  "row\tphase=decode\tpass=warm\trepeat=1\tstatus=adapted\n"
                  "bye 0");
}

static void a_silent_child(void **state)
{
    (void)state;
    struct phase_record record;
    struct text why = TEXT_INIT;
    assert_int_equal(phases_read("absent", "absent too", &record, &why), 0);
    assert_true(record.count == 0 && !record.said_hello && !record.said_bye && !record.failed);
    phase_record_release(&record);
    assert_record("", NULL, "0");
    assert_record("hello", NULL, "0"); /* torn */
    assert_int_equal(phases_read(".", NULL, &record, &why), -1);
    assert_non_null(strstr(text_string(&why), "directory"));
    text_release(&why);
}

static void a_failing_child(void **state)
{
    (void)state;
    assert_record("begin\t" P "\nfail\t" P "\tstatus=oom\trefused_bytes=5\nbye\n", NULL,
                  "row\t" P "\tstatus=oom\tpartial=yes\trefused_bytes=5\nfailed bye 0");
    /* without its phase's name, without a status */
    assert_record("begin\t" P "\nfail\terror=x\n", NULL,
                  "row\t" P "\tstatus=error\tpartial=yes\terror=x\nfailed 0");
    /* between two phases, before any phase, in a phase that was never begun */
    assert_record("begin\t" P "\nend\t" P "\nfail\tstatus=host_oom\n", NULL,
                  "row\t" P "\tstatus=ok\nrow\tstatus=host_oom\tpartial=yes\nfailed 0");
    assert_record("fail\tstatus=oom\n", NULL, "row\tstatus=oom\tpartial=yes\nfailed 0");
    assert_record("begin\t" P "\nfail\tphase=decode\tstatus=oom\n", NULL,
                  "row\t" P
                  "\tpartial=yes\nrow\tphase=decode\tstatus=oom\tpartial=yes\nfailed 0");
    /* the first error wins, and its row stays the last */
    assert_record("begin\t" P
                  "\nfail\tstatus=oom\nfail\tstatus=error\nbegin\tphase=x\nend\tphase=x\n",
                  NULL, "row\t" P "\tstatus=oom\tpartial=yes\nfailed 3");
    /* the closing row's name is not a child's to use */
    assert_record("begin\tphase=run\nend\tphase=run\nfail\tphase=run\tstatus=oom\n", NULL,
                  "row\tstatus=oom\tpartial=yes\nfailed 2");
}

static void a_muddled_child(void **state)
{
    (void)state;
    assert_record("hello\nhello\nend\t" P "\nbegin\nwarm_up\tphase=x\nnoise on the file\n"
                  "begin\t" P "\nend\t" P "\tpass=warm\nend\t" P "\nend\t" P
                  "\nbye\nbye\nbegin\t" P "\n",
                  NULL, "hello\nrow\t" P "\tstatus=ok\nbye 8");
    /* a phase that was left without its end is not whole */
    assert_record("begin\t" P "\nbegin\tphase=decode\nend\tphase=decode\n", NULL,
                  "row\t" P "\tstatus=error\tpartial=yes\terror=phase prefill was not ended\n"
                  "row\tphase=decode\tstatus=ok\n0");
    assert_record("begin\t" P "\nend\t" P "\tpartial=yes\n", NULL,
                  "row\t" P
                  "\tstatus=error\tpartial=yes\terror=phase prefill was not ended\n0");
    assert_record("begin\t" P "\trepeat=1\nend\t" P "\trepeat=2\nend\t" P "\trepeat=1\n", NULL,
                  "row\t" P "\trepeat=1\tstatus=ok\n1");
}

/* What a child said that was not its own to say; "": nothing. */
static void assert_odd(const char *lines, const char *wanted)
{
    put(lines, strlen(lines));
    struct phase_record record = read_phases(NULL);
    struct text out = TEXT_INIT;
    text_addf(&out, "%s%s%s", record.dropped != NULL ? record.dropped : "",
              record.bad_status ? "status " : "",
              !record.bad_status        ? ""
              : record.status_given < 0 ? "of no known name"
                                        : status_facts[record.status_given].name);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
    phase_record_release(&record);
}

static void no_verb_carries_what_is_not_its_own(void **state)
{
    (void)state;
    const char lines[] =
        "hello\tframework=x\twall_ns=7\tfits=yes\tforeign_end_bytes=7\n"
        "begin\t" P "\tallocated_start_bytes=8\tevidence=observed\tstatus=ok\n"
        "end\t" P "\tframework=y\tsignal=7\thost=h\ttokens=9\tpredicted_fits=yes\n"
        "fail\tfailed_phase=x\texit_code=0\trefused_bytes=5\n";
    assert_record(lines, NULL,
                  "hello\tframework=x\n"
                  "row\t" P "\tstatus=ok\tallocated_start_bytes=8\ttokens=9\n"
                  "row\tstatus=error\tpartial=yes\trefused_bytes=5\nfailed 0");
    assert_odd(lines, "fits");
    assert_odd("begin\t" P "\tpartial=yes\n", "partial");
    assert_odd("hello\tbatch=1\tdevice_uuid=GPU-1\tprocessed_batch=1\n"
               "later\tfits=yes\nbye\tfits=yes\n",
               "");
}

static void some_statuses_are_its_observers_to_give(void **state)
{
    (void)state;
    for (int status = 0; status < STATUSES; status++) {
        const char *name = status_facts[status].name;
        bool own = status == STATUS_oom || status == STATUS_host_oom ||
                   status == STATUS_error || status == STATUS_adapted;
        struct text lines = TEXT_INIT, wanted = TEXT_INIT;
        text_setf(&lines, "fail\tstatus=%s\n", name);
        text_setf(&wanted, "row\tstatus=%s\tpartial=yes\nfailed 0", own ? name : "error");
        assert_record(text_string(&lines), NULL, text_string(&wanted));
        text_setf(&wanted, "%s%s", own ? "" : "status ", own ? "" : name);
        assert_odd(text_string(&lines), text_string(&wanted));
        own = own || status == STATUS_ok;
        text_setf(&lines, "begin\t" P "\nend\t" P "\tstatus=%s\n", name);
        text_setf(&wanted, "row\t" P "\tstatus=%s\n0", own ? name : "error");
        assert_record(text_string(&lines), NULL, text_string(&wanted));
        text_release(&lines);
        text_release(&wanted);
    }
    assert_record("fail\tstatus=fine\n", NULL, "row\tstatus=error\tpartial=yes\nfailed 0");
    assert_odd("fail\tstatus=fine\n", "status of no known name");
}

static struct live_page *open_page(int *slot)
{
    struct live_page *page;
    struct text why = TEXT_INIT;
    unlink("live");
    assert_int_equal(live_create("live", &why), 0);
    assert_int_equal(live_open("live", &page, &why), 0);
    *slot = live_claim(page, 7);
    return page;
}

static struct live_state decode_state(void)
{
    struct live_state state = {
        .pid = 7, .phase = "decode", .pass = "warm", .refused_by = "device"};
    state.repeat = reading_of(2);
    state.counters.value[COUNTER_allocated_start_bytes] = reading_of(1);
    state.counters.value[COUNTER_allocated_peak_bytes] = reading_of(100);
    state.counters.value[COUNTER_allocated_end_bytes] = reading_of(50);
    state.counters.value[COUNTER_device_used_end_bytes] = reading_of(51);
    state.counters.value[COUNTER_end_weights_bytes] = reading_of(52);
    state.counters.value[COUNTER_peak_weights_bytes] = reading_of(60);
    state.counters.value[COUNTER_refused_bytes] = reading_of(70);
    return state;
}

#define D "phase=decode\tpass=warm\trepeat=2"

static void a_phase_cut_off(void **state)
{
    (void)state;
    int slot;
    struct live_page *page = open_page(&slot);
    struct live_state live = decode_state();
    live_publish(page, slot, &live);
    /* peaks so far, no end values; what the line said itself stays */
    assert_record("begin\t" D "\tallocated_start_bytes=9\nend\tphase=dec", "live",
                  "row\t" D "\tpartial=yes\tallocated_start_bytes=9\tallocated_peak_bytes=100\t"
                  "peak_weights_bytes=60\trefused_by=device\trefused_bytes=70\n0");
    assert_record(
        "begin\t" D "\nfail\tstatus=oom\trefused_by=limit\tallocated_peak_bytes=101\n", "live",
        "row\t" D "\tstatus=oom\tpartial=yes\tallocated_start_bytes=1\t"
        "allocated_peak_bytes=101\tpeak_weights_bytes=60\trefused_by=limit\t"
        "refused_bytes=70\nfailed 0");
    /* a whole phase needs no page */
    assert_record("begin\t" D "\nend\t" D "\n", "live", "row\t" D "\tstatus=ok\n0");
    /* another phase's, pass's or repeat's counters are not this one's */
    static const char *const others[] = {"phase=prefill\tpass=warm\trepeat=2",
                                         "phase=decode\tpass=first\trepeat=2",
                                         "phase=decode\tpass=warm\trepeat=3",
                                         "phase=decode\tpass=warm",
                                         "phase=decode\trepeat=2",
                                         NULL};
    for (size_t i = 0; others[i] != NULL; i++) {
        struct text lines = TEXT_INIT, wanted = TEXT_INIT;
        text_setf(&lines, "begin\t%s\n", others[i]);
        text_setf(&wanted, "row\t%s\tpartial=yes\n0", others[i]);
        assert_record(text_string(&lines), "live", text_string(&wanted));
        text_release(&lines);
        text_release(&wanted);
    }
    /* the slot that is of this phase, not the first one */
    int second = live_claim(page, 8);
    assert_int_equal(second, 1);
    live.pid = 8;
    memcpy(live.phase, "vision", 7);
    live_publish(page, second, &live);
    assert_record(
        "begin\tphase=vision\tpass=warm\trepeat=2\n", "live",
        "row\tphase=vision\tpass=warm\trepeat=2\tpartial=yes\tallocated_start_bytes=1\t"
        "allocated_peak_bytes=100\tpeak_weights_bytes=60\trefused_by=device\t"
        "refused_bytes=70\n0");
    live_close(page);
}

static void a_lost_page_costs_only_its_counters(void **state)
{
    (void)state;
    put("begin\t" P "\n", strlen("begin\t" P "\n"));
    struct phase_record record = read_phases("absent");
    assert_true(record.count == 1 && record.live_missing);
    phase_record_release(&record);
    put("begin\t" P "\nend\t" P "\n", strlen("begin\t" P "\nend\t" P "\n"));
    record = read_phases("absent");
    assert_true(record.count == 1 && !record.live_missing);
    phase_record_release(&record);
}

static void long_names_are_found(void **state)
{
    (void)state;
    int slot;
    struct live_page *page = open_page(&slot);
    struct live_state live = {.pid = 7};
    memset(live.phase, 'p', LIVE_NAME - 1);
    live.counters.value[COUNTER_allocated_peak_bytes] = reading_of(3);
    live_publish(page, slot, &live);
    struct text lines = TEXT_INIT;
    text_setf(&lines, "begin\tphase=%s%s\n", live.phase, "pppp");
    put(lines.data, lines.length);
    struct phase_record record = read_phases("live");
    assert_true(row_count(&record.rows[0], COLUMN_allocated_peak_bytes).known);
    phase_record_release(&record);
    text_release(&lines);
    live_close(page);
}

static const char sample[] =
    "hello\tframework=highwater\tframework_version=1\n"
    "begin\t" P "\tpass=first\trepeat=1\tallocated_start_bytes=7\n"
    "end\t" P "\tpass=first\trepeat=1\tallocated_peak_bytes=9\terror=a\\\\b\\n\n"
    "begin\tphase=decode\tpass=warm\trepeat=2\n"
    "fail\tphase=decode\tpass=warm\trepeat=2\tstatus=oom\trefused_by=device\n"
    "bye\n";

static void every_cut_is_survived(void **state)
{
    (void)state;
    int slot;
    live_close(open_page(&slot));
    size_t begun = 0;
    for (size_t length = 0; length < sizeof sample; length++) {
        put(sample, length);
        struct phase_record record = read_phases("live");
        assert_int_equal(record.bad_lines, 0);
        assert_true(record.count >= begun && record.count <= begun + 1);
        begun = record.count;
        if (record.count > 0 && row_status(&record.rows[record.count - 1]) != STATUS_ok)
            assert_string_equal(row_text(&record.rows[record.count - 1], COLUMN_partial),
                                "yes");
        phase_record_release(&record);
    }
    assert_int_equal(begun, 2);
}

/* Hostile bytes: nothing crashes, and every row can be written as a line again. */
static void every_flip_is_survived(void **state)
{
    (void)state;
    static const unsigned char flips[] = {0x01, 0x20, 0x80, 0xff};
    for (size_t i = 0; i < sizeof sample - 1; i++)
        for (size_t f = 0; f < sizeof flips; f++) {
            char bytes[sizeof sample];
            memcpy(bytes, sample, sizeof sample);
            bytes[i] = (char)((unsigned char)bytes[i] ^ flips[f]);
            put(bytes, sizeof sample - 1);
            struct phase_record record = read_phases(NULL);
            struct text out = TEXT_INIT;
            assert_true(record.count <= 4);
            for (size_t r = 0; r < record.count; r++) {
                text_clear(&out);
                line_format(&out, "row", &record.rows[r]);
                assert_true(text_is_utf8(out.data, out.length));
                assert_ptr_equal(memchr(out.data, '\n', out.length), out.data + out.length - 1);
            }
            text_release(&out);
            phase_record_release(&record);
        }
}

static void floods_are_cut(void **state)
{
    (void)state;
    struct text long_text = TEXT_INIT;
    text_add(&long_text, "begin\tphase=x\twarning=");
    for (int i = 0; i < 100000; i++)
        text_add(&long_text, "\xe2\x82\xac");
    text_add(&long_text, "\n");
    put(long_text.data, long_text.length);
    struct phase_record cut = read_phases(NULL);
    /* whole characters */
    assert_int_equal(strlen(row_text(&cut.rows[0], COLUMN_warning)), 498);
    phase_record_release(&cut);
    text_release(&long_text);
    struct text flood = TEXT_INIT;
    struct phase_record record;
    for (int i = 0; i < 65537; i++)
        text_add(&flood, "begin\tphase=x\n");
    text_add(&flood, "fail\tstatus=oom\n");
    put(flood.data, flood.length);
    record = read_phases(NULL);
    assert_int_equal(record.count, 65537);
    assert_int_equal(record.bad_lines, 1);
    assert_true(record.failed); /* the verdict is heard all the same */
    assert_int_equal(row_status(&record.rows[65536]), STATUS_oom);
    phase_record_release(&record);
    int fd = open("phases", O_WRONLY | O_TRUNC);
    assert_int_equal(ftruncate(fd, (64 << 20) + 1), 0);
    close(fd);
    record = read_phases(NULL);
    assert_true(record.count == 0 && record.bad_lines == 1);
    phase_record_release(&record);
    text_release(&flood);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_child),
        cmocka_unit_test(a_silent_child),
        cmocka_unit_test(a_failing_child),
        cmocka_unit_test(a_muddled_child),
        cmocka_unit_test(no_verb_carries_what_is_not_its_own),
        cmocka_unit_test(some_statuses_are_its_observers_to_give),
        cmocka_unit_test(a_phase_cut_off),
        cmocka_unit_test(a_lost_page_costs_only_its_counters),
        cmocka_unit_test(long_names_are_found),
        cmocka_unit_test(every_cut_is_survived),
        cmocka_unit_test(every_flip_is_survived),
        cmocka_unit_test(floods_are_cut),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
