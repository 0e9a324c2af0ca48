/* How fast the replay is and what a live block costs: replay_bench TRACE.csv[:allocator] …
 *
 * Prints, per trace repeated in memory, events per second on one core; then growing synthetic
 * recordings (up to 10 million events over up to 100,000 live blocks) and the bytes that the
 * allocator keeps per live block, all of its bookkeeping included.
 */
#include "harness/trace/replay.h"

#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB ((uint64_t)1 << 20)
#define DEVICE_TOTAL 150109880320u

/* Of this process: other work on the machine does not count. */
static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_of(const struct trace *trace, const struct replay_setting *setting,
                         struct replay_result *result)
{
    struct text why = TEXT_INIT;
    const double start = cpu_seconds();
    if (replay_run(trace, setting, result, &why)) {
        fprintf(stderr, "replay_bench: %s\n", text_string(&why));
        exit(1);
    }
    text_release(&why);
    return cpu_seconds() - start;
}

/* The trace `times` times in a row; blocks still live at its end are freed between. */
static struct trace repeat(const struct trace *trace, size_t times)
{
    struct trace all = {.slots = trace->slots};
    bool *live = xcalloc((size_t)trace->slots + 1, sizeof(*live));
    all.events = xmalloc(times * (trace->count + trace->slots) * sizeof(*all.events));
    for (size_t i = 0; i < times; i++) {
        for (size_t j = 0; j < trace->count; j++) {
            const struct trace_event *event = &trace->events[j];
            if (event->op == TRACE_BEGIN || event->op == TRACE_END)
                continue;
            if (event->op == TRACE_ALLOC || event->op == TRACE_FREE)
                live[event->slot] = event->op == TRACE_ALLOC;
            all.events[all.count++] = *event;
        }
        for (uint32_t slot = 0; slot < trace->slots; slot++) {
            if (live[slot])
                all.events[all.count++] = (struct trace_event){.op = TRACE_FREE, .slot = slot};
            live[slot] = false;
        }
    }
    free(live);
    return all;
}

static void bench_recording(const char *path, const char *allocator)
{
    struct trace trace;
    struct text why = TEXT_INIT;
    if (trace_read(path, &trace, &why)) {
        fprintf(stderr, "replay_bench: %s\n", text_string(&why));
        exit(1);
    }
    text_release(&why);
    struct trace all = repeat(&trace, 4000000 / trace.count + 1);
    const struct replay_setting setting = {
        .allocator = allocator, .device_total = DEVICE_TOTAL, .ties = REPLAY_CHUNK_MODEL};
    double best = 0;
    for (int i = 0; i < 3; i++) {
        struct replay_result result;
        const double seconds = seconds_of(&all, &setting, &result);
        replay_result_release(&result);
        if (best == 0 || seconds < best)
            best = seconds;
    }
    const char *name = strrchr(path, '/');
    printf("%-28s %-10s %9zu events  %6.2f million events/s\n", name ? name + 1 : path,
           allocator, all.count, (double)all.count / best / 1e6);
    free(all.events);
    trace_release(&trace);
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* `live` blocks, then one freed and one made anew, at random, until `events` are full. */
static struct trace synthesize(size_t events, uint32_t live)
{
    struct trace trace = {.slots = live};
    trace.events = xmalloc((events + 1) * sizeof(*trace.events));
    uint64_t state = 7;
    while (trace.count + 1 < events) {
        struct trace_event event = {.op = TRACE_ALLOC, .slot = (uint32_t)trace.count};
        if (trace.count >= live) {
            event = (struct trace_event){.op = TRACE_FREE,
                                         .slot = (uint32_t)(next_random(&state) % live)};
            trace.events[trace.count++] = event;
            event.op = TRACE_ALLOC;
        }
        event.bytes = 1 + (next_random(&state) % 8192 << next_random(&state) % 10);
        trace.events[trace.count++] = event;
    }
    return trace;
}

static void bench_size(size_t events, uint32_t live)
{
    struct trace trace = synthesize(events, live);
    const struct replay_setting setting = {
        .allocator = "caching", .device_total = DEVICE_TOTAL, .ties = REPLAY_CHUNK_MODEL};
    struct replay_result result;
    const double seconds = seconds_of(&trace, &setting, &result);
    const double each = seconds * 1e9 / (double)trace.count;
    printf("%9zu events, %6u live blocks  %6.2f million events/s  %6.1f ns each, %5.2f ns / "
           "log2(n)\n",
           trace.count, live, 1e3 / each, each, each / log2((double)trace.count));
    replay_result_release(&result);
    free(trace.events);
}

/* What an allocator keeps after many random requests, and 8 bytes for who holds the block. */
static void bench_memory(uint32_t live)
{
    struct device device;
    struct allocator *allocator;
    struct text why = TEXT_INIT;
    const struct device_setting setting = {.capacity = reading_of(DEVICE_TOTAL)};
    struct trace trace = synthesize((size_t)live * 20, live);
    const size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    struct piece **held = xcalloc(live, sizeof(struct piece *));
    if (device_open(&device, &device_simulated, &setting) != OUTCOME_OK ||
        allocator_open(&allocator, "caching", &device, &(struct allocator_setting){0}, &why))
        exit(1);
    for (size_t i = 0; i < trace.count; i++) {
        const struct trace_event *event = &trace.events[i];
        struct block block;
        struct refusal refusal;
        if (event->op == TRACE_FREE)
            allocator_free_piece(allocator, held[event->slot]);
        else if (allocator_alloc(allocator, event->bytes, 0, &block, &refusal) == OUTCOME_OK)
            held[event->slot] = block.piece;
        else
            exit(1);
    }
    const size_t bytes = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    printf("%9.1f bytes per live block (%u live, %" PRIu64 " free)\n", (double)bytes / live,
           live, allocator_read(allocator)->all.inactive_splits.current);
    allocator_close(allocator);
    device_close(&device);
    free(held);
    free(trace.events);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *path = xstrdup(argv[i]);
        char *colon = strrchr(path, ':');
        if (colon)
            *colon = '\0';
        bench_recording(path, colon ? colon + 1 : "caching");
        free(path);
    }
    for (uint32_t live = 1000; live <= 100000; live *= 10) {
        for (size_t events = 1000000; events <= 10000000; events *= 10)
            bench_size(events, live);
    }
    bench_memory(100000);
    return 0;
}
