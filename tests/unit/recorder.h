/* A run of dense whose rows are kept. */
#ifndef HIGHWATER_TESTS_RECORDER_H
#define HIGHWATER_TESTS_RECORDER_H

#include "kernels/backends.h"
#include "harness/workload/session.h"
#include "harness/trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_ROWS 64

struct recorder {
    struct row hello, begun, rows[MOST_ROWS]; /* rows: those that ended or failed */
    size_t count, hellos, begins, fails;
};

static void record(void *user, const char *verb, const struct row *row)
{
    struct recorder *recorder = user;
    assert_int_equal(recorder->fails, 0); /* nothing is said after a failure */
    if (strcmp(verb, "hello") == 0) {
        recorder->hellos++;
        row_copy(&recorder->hello, row);
    } else if (strcmp(verb, "begin") == 0) {
        recorder->begins++;
        row_release(&recorder->begun);
        row_copy(&recorder->begun, row);
    } else {
        assert_true(recorder->count < MOST_ROWS);
        recorder->fails += strcmp(verb, "fail") == 0;
        row_copy(&recorder->rows[recorder->count++], row);
    }
}

static void forget(struct recorder *recorder)
{
    for (size_t i = 0; i < recorder->count; i++)
        row_release(&recorder->rows[i]);
    row_release(&recorder->hello);
    row_release(&recorder->begun);
    *recorder = (struct recorder){.count = 0};
}

static struct setting setting_of(uint64_t batch, uint64_t context, uint64_t width,
                                 uint64_t sequences)
{
    struct setting setting = {
        .workload = workload_find("dense"), .warmup = 1, .repeats = 2, .seed = 7};
    setting.point.value[DIMENSION_batch] = reading_of(batch);
    setting.point.value[DIMENSION_context] = reading_of(context);
    setting.point.value[DIMENSION_width] = reading_of(width);
    setting.point.value[DIMENSION_sequences] = reading_of(sequences);
    setting.memory.device.capacity = reading_of((uint64_t)64 << 30);
    setting.memory.allocator = "caching";
    return setting;
}

static enum status run(const struct setting *setting, const char *backend,
                       struct recorder *recorder)
{
    struct phase_listener listener = {.line = record, .user = recorder};
    *recorder = (struct recorder){.count = 0};
    return session_run(setting, backend_find(backend), NULL, &listener);
}

/* A recording of memory, with what belongs to it. */
static inline void remove_trace(const char *path)
{
    char *segments = trace_segments_path(path);
    unlink(path);
    unlink(segments);
    free(segments);
}

static uint64_t count_of(const struct row *row, enum column column)
{
    struct reading value = row_count(row, column);
    assert_true(value.known);
    return value.value;
}

#endif
