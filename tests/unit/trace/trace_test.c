/* Reading traces and segment files: what is refused, and that the message names the line. */
#include "harness/base/file.h"
#include "harness/trace/idmap.h"
#include "harness/trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void write_file(const char *contents, size_t length)
{
    struct text why = TEXT_INIT;
    snprintf(path, sizeof(path), "trace_test.%d.csv", (int)getpid());
    unlink(path);
    if (file_create(path, contents, length, &why))
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

#define HEADER "op,id,bytes,stream,address\n"
#define SEGMENTS "after_trace_line,action,bytes,stream,address\n"

static void refused(const char *contents, uint64_t line, const char *words)
{
    struct trace trace = {.count = 77};
    struct text why = TEXT_INIT;
    char place[96];
    write_file(contents, strlen(contents));
    if (trace_read(path, &trace, &why) != -1)
        fail_msg("taken: %s", contents);
    snprintf(place, sizeof(place), "%s:%llu: ", path, (unsigned long long)line);
    if (!text_starts_with(text_string(&why), place) || !strstr(text_string(&why), words))
        fail_msg("%s, not line %llu, \"%s\"", text_string(&why), (unsigned long long)line,
                 words);
    assert_int_equal(trace.count, 77);
    text_release(&why);
    unlink(path);
}

static void hostile_traces(void **state)
{
    (void)state;
    refused("", 1, "empty");
    refused("op,id,bytes,stream\n", 1, "header");
    refused("op,id,bytes,address,stream\n", 1, "header");
    refused(HEADER "free,1,,,\n", 2, "not live: \"1\"");
    refused(HEADER "alloc,1,5,0,\nfree,1,,,\nfree,1,,,\n", 4, "not live");
    refused(HEADER "alloc,1,5,0,\nalloc,1,5,0,\n", 3, "live already");
    refused(HEADER "alloc,1,0,0,\n", 2, "0 bytes");
    refused(HEADER "alloc,1,1152921504606846976,0,\n", 2, "2^60");
    refused(HEADER "alloc,1,18446744073709551615,0,\n", 2, "2^60");
    refused(HEADER "alloc,1,18446744073709551616,0,\n", 2, "bytes: ");
    refused(HEADER "oom,,0,0,\n", 2, "0 bytes");
    refused(HEADER "alloc,-1,5,0,\n", 2, "id: ");
    refused(HEADER "alloc,1,5,x,\n", 2, "stream: ");
    refused(HEADER "alloc,1,5,0,12z\n", 2, "address: ");
    refused(HEADER "alloc,,5,0,\n", 2, "id: ");
    refused(HEADER "alloc,1,5,0,\nalloc,2,5", 3, "3 fields");
    refused(HEADER "alloc,1,5,0,,\n", 2, "6 fields");
    refused(HEADER "\n\nlook,1,5,0,\n", 4, "no such op: \"look\"");
    refused(HEADER "begin,a,,,\nbegin,b,,,\n", 3, "inside another");
    refused(HEADER "begin,a,,,\nend,b,,,\n", 3, "did not begin");
    refused(HEADER "end,a,,,\n", 2, "did not begin");
    refused(HEADER "begin,,,,\n", 2, "name");
    refused(HEADER "begin,\"a,,,\nend,a,,,\n", 2, "");
}

static void nul_bytes(void **state)
{
    (void)state;
    static const char contents[] = HEADER "alloc,1,5\0,0,\n";
    struct trace trace;
    struct text why = TEXT_INIT;
    write_file(contents, sizeof(contents) - 1);
    assert_int_equal(trace_read(path, &trace, &why), -1);
    assert_non_null(strstr(text_string(&why), ":2: "));
    text_release(&why);
    unlink(path);
}

static void no_such_file(void **state)
{
    (void)state;
    struct trace trace;
    struct text why = TEXT_INIT;
    assert_int_equal(trace_read("/no/such/file.csv", &trace, &why), -1);
    assert_non_null(strstr(text_string(&why), "/no/such/file.csv"));
    text_release(&why);
}

/* Slots are dense and used again; a phase may be left open; blank cells where an op has
 * none. */
static void a_good_trace(void **state)
{
    (void)state;
    struct trace trace;
    struct text why = TEXT_INIT;
    const char *contents = HEADER "begin,\"a, b\",,,\nalloc,18446744073709551615,7,3,512\n"
                                  "alloc,5,8,0,\nfree,18446744073709551615,,,\nalloc,6,9,0,\n"
                                  "oom,,512,,\nempty_cache,,,,\n";
    write_file(contents, strlen(contents));
    if (trace_read(path, &trace, &why))
        fail_msg("%s", text_string(&why));
    assert_int_equal(trace.count, 7);
    assert_int_equal(trace.slots, 2);
    assert_string_equal(trace.names[0], "a, b");
    assert_true(trace.events[1].has_address && !trace.events[2].has_address);
    assert_int_equal(trace.events[1].stream, 3);
    assert_int_equal(trace.events[1].slot, trace.events[3].slot);
    assert_int_equal(trace.events[4].slot, trace.events[1].slot);
    assert_int_not_equal(trace.events[2].slot, trace.events[1].slot);
    assert_false(trace.tagged);
    trace_release(&trace);
    text_release(&why);
    unlink(path);
}

static void segments_refused(const char *contents, const char *words)
{
    struct segment_records segments;
    struct text why = TEXT_INIT;
    write_file(contents, strlen(contents));
    if (segments_read(path, &segments, &why) != -1)
        fail_msg("taken: %s", contents);
    if (!strstr(text_string(&why), words))
        fail_msg("%s lacks \"%s\"", text_string(&why), words);
    text_release(&why);
    unlink(path);
}

static void hostile_segments(void **state)
{
    (void)state;
    segments_refused(HEADER, "header");
    segments_refused(SEGMENTS "1,segment_alloc,0,0,512\n", ":2: ");
    segments_refused(SEGMENTS "1,segment_lost,512,0,512\n", "no such action: \"segment_lost\"");
    segments_refused(SEGMENTS "2,segment_free,512,0,512\n1,segment_free,512,0,512\n", ":3: ");
    segments_refused(SEGMENTS "1,segment_alloc,512,0\n", "4 fields");
    segments_refused(SEGMENTS "1,segment_alloc,512,0,\n", "address: ");
}

/* Against a plain array, with ids that collide. */
static void ids_to_slots(void **state)
{
    (void)state;
    enum { IDS = 500 };
    struct idmap map = {0};
    bool live[IDS] = {false};
    uint32_t slots[IDS], slot, most = 0, now = 0;
    uint64_t random = 17;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const size_t k = (random >> 33) % IDS;
        const uint64_t id = k << 44;
        if (random >> 32 & 1) {
            assert_int_equal(idmap_add(&map, id, &slot), !live[k]);
            if (!live[k]) {
                slots[k] = slot;
                now++;
            }
            live[k] = true;
        } else {
            assert_int_equal(idmap_remove(&map, id, &slot), live[k]);
            if (live[k]) {
                assert_int_equal(slot, slots[k]);
                now--;
            }
            live[k] = false;
        }
        most = now > most ? now : most;
    }
    assert_int_equal(map.slots, most);
    for (size_t a = 0; a < IDS; a++) {
        for (size_t b = 0; live[a] && b < a; b++)
            assert_false(live[b] && slots[a] == slots[b]);
    }
    idmap_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_traces),   cmocka_unit_test(nul_bytes),
        cmocka_unit_test(no_such_file),     cmocka_unit_test(a_good_trace),
        cmocka_unit_test(hostile_segments), cmocka_unit_test(ids_to_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
