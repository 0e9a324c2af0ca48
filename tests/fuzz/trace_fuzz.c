/* Hostile recordings: whatever is in the file, the answer is a replay or a message with the
 * line.
 *
 * The first byte chooses allocator and settings; then comes a trace, and behind a line "=" the
 * segments, behind another one a list for roundup_power2_divisions.
 */
#include "harness/trace/replay.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file that has only a descriptor for a name. */
static int hold(const char *bytes, size_t length, char path[64])
{
    const int fd = memfd_create("trace", 0);
    if (fd < 0 || write(fd, bytes, length) != (ssize_t)length)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

static char *next_part(char **rest)
{
    char *part = *rest;
    char *end = strstr(part, "\n=\n");
    *rest = end ? end + 3 : part + strlen(part);
    if (end)
        end[1] = '\0';
    return part;
}

/* -1 must come with a reason, and for a bad line with its number. */
static void check_reason(int result, struct text *why, const char *path)
{
    if (result) {
        assert(why->length > 0);
        assert(strstr(text_string(why), path));
    }
    text_clear(why);
}

static void run(const struct trace *trace, const struct segment_records *segments, uint8_t how,
                char *divisions)
{
    struct text why = TEXT_INIT;
    struct replay_result result;
    const struct replay_setting setting = {
        .allocator = allocator_names[how % 4],
        .allocator_setting =
            {
                .roundup_power2_divisions = divisions,
                .max_split_size = {64 * MIB, (how & 4) != 0},
                .garbage_collection_threshold = how & 8 ? 0.6 : 0,
                .limit = {96 * MIB, (how & 16) != 0},
                .check = true,
            },
        .device_total = 128 * MIB,
        .ties = segments   ? REPLAY_RECORDED
                : how & 32 ? REPLAY_CHUNK_MODEL
                           : REPLAY_SEGMENT_ORDER,
        .segments = segments,
        .skip_refusals = (how & 64) != 0,
    };
    if (replay_run(trace, &setting, &result, &why) == 0)
        replay_result_release(&result);
    else
        assert(why.length > 0);
    text_release(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *copy = malloc(size), *rest = copy;
    memcpy(copy, data + 1, size - 1);
    copy[size - 1] = '\0';
    char *first = next_part(&rest), *second = next_part(&rest), *divisions = next_part(&rest);
    /* a trace with NUL bytes keeps them when nothing follows it */
    const size_t length = *second ? strlen(first) : size - 1;
    char trace_path[64], segments_path[64];
    const int trace_fd = hold(first, length, trace_path);
    const int segments_fd = hold(second, strlen(second), segments_path);
    struct trace trace;
    struct segment_records segments;
    struct text why = TEXT_INIT;
    int result = trace_read(trace_path, &trace, &why);
    check_reason(result, &why, trace_path);
    if (result == 0) {
        run(&trace, NULL, data[0], divisions);
        result = segments_read(segments_path, &segments, &why);
        check_reason(result, &why, segments_path);
        if (result == 0) {
            run(&trace, &segments, data[0] & 0xfd, divisions);
            segments_release(&segments);
        }
        trace_release(&trace);
    }
    text_release(&why);
    close(trace_fd);
    close(segments_fd);
    free(copy);
    return 0;
}
