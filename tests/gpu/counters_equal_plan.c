/* The plan's promise: the allocator counters of every phase are the same on the simulated
 * device and on the GPU, to the byte: with every allocator and its options, split and whole,
 * with emptied caches, under limits that send it up the ladder, and in vain. All in one
 * process; each run opens memory and libraries anew.
 *
 * async is the driver's own pool: what is allocated is exact; what the pool reserves depends on
 * when it notices that the device has finished, and the plan's is an upper bound.
 *
 *     counters_equal_plan [DEVICE]    DEVICE other than cuda: a sample, to test the test */
#include "harness/trace/replay.h"
#include "kernels/backends.h"
#include "kernels/workloads/decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_ROWS 32
#define MIB ((uint64_t)1 << 20)

struct recorder {
    struct row rows[MOST_ROWS];
    size_t count;
    struct reading capacity;
};

struct bench {
    const char *device;
    char *trace; /* file for recordings */
    int points, equal;
    uint64_t retries, refusals; /* runs that ended well after a retry, and refused ones */
};

static void record(void *user, const char *verb, const struct row *row)
{
    struct recorder *recorder = user;
    if (strcmp(verb, "hello") == 0)
        recorder->capacity = row_count(row, COLUMN_device_capacity_bytes);
    else if (strcmp(verb, "begin") != 0 && recorder->count < MOST_ROWS)
        row_copy(&recorder->rows[recorder->count++], row);
}

static void forget(struct recorder *recorder)
{
    for (size_t i = 0; i < recorder->count; i++)
        row_release(&recorder->rows[i]);
    recorder->count = 0;
}

static enum status run(const struct setting *setting, const char *backend,
                       struct recorder *recorder)
{
    struct phase_listener listener = {.line = record, .user = recorder};
    return session_run(setting, backend_find(backend), NULL, &listener);
}

static const char *cell(const struct row *row, enum column column)
{
    const char *text = row_text(row, column);
    return text ? text : "";
}

/* --- comparing ---------------------------------------------------------------------------- */

static int compare(const struct row *plan, const struct row *seen, enum column column,
                   bool at_most)
{
    struct reading a = row_count(plan, column), b = row_count(seen, column);
    if (a.known == b.known &&
        (!a.known || a.value == b.value || (at_most && b.value < a.value)))
        return 0;
    printf("  %s %s: plan %s%lu, seen %s%lu\n", cell(plan, COLUMN_phase),
           column_facts[column].name, a.known ? "" : "nothing ", (unsigned long)a.value,
           b.known ? "" : "nothing ", (unsigned long)b.value);
    return 1;
}

static int differences(const struct recorder *plan, const struct recorder *seen, bool async)
{
    static const enum column exact[] = {
        COLUMN_allocated_start_bytes, COLUMN_allocated_peak_bytes, COLUMN_allocated_end_bytes,
        COLUMN_requested_peak_bytes,  COLUMN_alloc_retries,        COLUMN_refused_bytes};
    static const enum column reserved[] = {
        COLUMN_reserved_start_bytes, COLUMN_reserved_peak_bytes, COLUMN_reserved_end_bytes,
        COLUMN_reserved_at_allocated_peak_bytes};
    int found = plan->count != seen->count;
    for (size_t r = 0; r < plan->count && r < seen->count; r++) {
        const struct row *a = &plan->rows[r], *b = &seen->rows[r];
        const char *by = cell(a, COLUMN_refused_by);
        for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
            found += compare(a, b, exact[i], false);
        for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
            found += compare(a, b, reserved[i], async);
        found += strcmp(by, cell(b, COLUMN_refused_by)) != 0;
        if (strcmp(by, "limit") == 0)
            found += compare(a, b, COLUMN_free_bytes_at_failure, false);
    }
    return found;
}

static int figure_differences(const struct replay_result *result, const char *how,
                              const struct recorder *seen)
{
    static const struct {
        enum replay_figure figure;
        enum column column;
    } pairs[] = {{REPLAY_allocated_peak, COLUMN_allocated_peak_bytes},
                 {REPLAY_allocated_end, COLUMN_allocated_end_bytes},
                 {REPLAY_reserved_peak, COLUMN_reserved_peak_bytes},
                 {REPLAY_reserved_end, COLUMN_reserved_end_bytes}};
    int found = result->count != seen->count;
    for (size_t r = 0; r < result->count && r < seen->count; r++)
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
            struct reading there = result->phases[r].figures[pairs[i].figure];
            struct reading here = row_count(&seen->rows[r], pairs[i].column);
            if (!here.known || (there.known && there.value == here.value))
                continue;
            found++;
            printf("  %s %s: replayed (%s) %lu, seen %lu\n", result->phases[r].name,
                   column_facts[pairs[i].column].name, how, (unsigned long)there.value,
                   (unsigned long)here.value);
        }
    return found;
}

/* What the run recorded, played on the simulated device, and on one that answers as the card
 * did (of allocators that take segments). */
static int replay_differences(const char *path, const struct setting *setting,
                              const struct recorder *seen)
{
    struct replay_setting how = {.allocator = setting->memory.allocator,
                                 .allocator_setting = setting->memory.allocator_setting,
                                 .device_total = seen->capacity.value,
                                 .ties = REPLAY_SEGMENT_ORDER};
    char *segments_path = trace_segments_path(path);
    struct segment_records segments = {NULL, 0};
    struct trace trace = {.count = 0};
    struct replay_result result;
    struct text why = TEXT_INIT;
    int found = 0;
    if (trace_read(path, &trace, &why) != 0 || replay_run(&trace, &how, &result, &why) != 0 ||
        segments_read(segments_path, &segments, &why) != 0) {
        printf("  %s\n", text_string(&why));
        exit(1);
    }
    found += figure_differences(&result, "plan's device", seen);
    replay_result_release(&result);
    if (strcmp(how.allocator, "caching") == 0) {
        how.ties = REPLAY_RECORDED;
        how.segments = &segments;
        found += replay_run(&trace, &how, &result, &why) != 0;
        found += figure_differences(&result, "recorded device", seen);
        found += result.first_difference.length > 0;
        printf("%s%s", text_string(&result.first_difference),
               result.first_difference.length ? "\n" : "");
        replay_result_release(&result);
    }
    segments_release(&segments);
    trace_release(&trace);
    unlink(segments_path);
    free(segments_path);
    return found;
}

static void describe(const struct setting *setting)
{
    const struct allocator_setting *of = &setting->memory.allocator_setting;
    printf("DIFFERENT %s %s%s, empty_cache %s, %s", setting->workload->name,
           dtype_names[setting->dtype], setting->phases == PHASES_WHOLE ? " whole" : "",
           empty_cache_names[setting->empty_cache], setting->memory.allocator);
    if (of->roundup_power2_divisions)
        printf(" roundup %s", of->roundup_power2_divisions);
    if (of->max_split_size.known)
        printf(" max_split %lu", (unsigned long)of->max_split_size.value);
    if (of->limit.known)
        printf(" limit %lu", (unsigned long)of->limit.value);
    for (int i = 0; i < DIMENSIONS; i++)
        if (setting->point.value[i].known)
            printf(" %s=%lu", dimension_facts[i].name,
                   (unsigned long)setting->point.value[i].value);
    printf("\n");
}

/* -1: no device. */
static int check(struct bench *bench, struct setting *setting)
{
    struct recorder seen = {.count = 0}, plan = {.count = 0};
    bool async = strcmp(setting->memory.allocator, "async") == 0;
    setting->memory.trace = async ? NULL : bench->trace;
    setting->memory.device.capacity = reading_of((uint64_t)1 << 40); /* cuda has its own */
    enum status there = run(setting, bench->device, &seen);
    setting->memory.trace = NULL;
    if (!seen.capacity.known) {
        printf("FAILED: %s\n", seen.count ? cell(&seen.rows[0], COLUMN_error) : "no device");
        return -1;
    }
    setting->memory.device.capacity = seen.capacity;
    enum status here = run(setting, "simulated", &plan);
    int different = differences(&plan, &seen, async) + (there != here) +
                    (there != STATUS_ok && there != STATUS_oom);
    if (!async)
        different += replay_differences(bench->trace, setting, &seen);
    unlink(bench->trace);
    const struct row *last = &seen.rows[seen.count - 1];
    struct reading retries = row_count(last, COLUMN_alloc_retries);
    bench->retries += there == STATUS_ok && retries.known && retries.value > 0;
    bench->refusals += there == STATUS_oom;
    if (different) {
        describe(setting);
        printf("  %d differences, %s on %s %s, %s as planned\n", different,
               status_facts[there].name, bench->device, cell(last, COLUMN_error),
               status_facts[here].name);
    }
    bench->points++;
    bench->equal += different == 0;
    forget(&seen);
    forget(&plan);
    return 0;
}

/* --- the points --------------------------------------------------------------------------- */

/* The points of the main issue with the caching allocator, a sample with the others. */
static int check_dense(struct bench *bench)
{
    static const uint64_t batches[] = {1, 2, 8}, contexts[] = {16, 128, 4096};
    static const uint64_t widths[] = {64, 1024, 4096};
    const struct memory_setting kinds[] = {
        {.allocator = "caching"},
        {.allocator = "caching",
         .allocator_setting = {.roundup_power2_divisions = (char *)"[16:4,>:8]"}},
        {.allocator = "caching",
         .allocator_setting = {.max_split_size = reading_of(20 * MIB),
                               .max_non_split_rounding = reading_of(24 * MIB)}},
        {.allocator = "caching",
         .allocator_setting = {.garbage_collection_threshold = 0.3,
                               .limit = reading_of(1500 * MIB)}},
        {.allocator = "expandable"},
        {.allocator = "async"},
        {.allocator = "direct"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds * 81; i++) {
        struct setting setting = {.workload = workload_find("dense"),
                                  .warmup = 1,
                                  .repeats = 2,
                                  .seed = 7,
                                  .dtype = (int)(i % 3),
                                  .memory = kinds[i / 81]};
        uint64_t context = contexts[i / 9 % 3], width = widths[i / 27 % 3];
        bool sampled = i < 81 || i % 5 == 0;
        if (!sampled || (strcmp(bench->device, "cuda") != 0 && context * width > 10000))
            continue;
        setting.point.value[DIMENSION_batch] = reading_of(batches[i / 3 % 3]);
        setting.point.value[DIMENSION_context] = reading_of(context);
        setting.point.value[DIMENSION_width] = reading_of(width);
        setting.point.value[DIMENSION_sequences] = reading_of(1 + i % 2);
        setting.phases = i / 2 % 2; /* PHASES_SPLIT, PHASES_WHOLE */
        setting.empty_cache = (int)(i / 4 % 3);
        if (check(bench, &setting) != 0)
            return -1;
    }
    return 0;
}

/* A cache that grows by copies leaves blocks that are too small for the next: below 150 MiB
 * what is kept has to be given back, below 114 MiB in vain. */
static int check_ladder(struct bench *bench)
{
    const char *const allocators[] = {"caching", "expandable", "async", "direct"};
    static const uint64_t point[][2] = {{DIMENSION_batch, 256}, {DIMENSION_context, 84},
                                        {DIMENSION_width, 16},  {DIMENSION_sequences, 1},
                                        {DIMENSION_layers, 1},  {DIMENSION_generated, 40}};
    struct decoder_options options;
    int outcome = 0;
    option_defaults(decoder_options, &options);
    options.heads = options.kv_heads = 1;
    options.head_dim = 128;
    options.vocabulary = 32;
    options.intermediate = 16;
    options.kv_layout = KV_GROW;
    for (int i = 0; i < 4 * 8 && outcome == 0; i++) {
        struct setting setting = {.workload = workload_find("decoder"),
                                  .repeats = 1,
                                  .seed = 7,
                                  .dtype = DTYPE_float32,
                                  .options = &options};
        if (strcmp(bench->device, "cuda") != 0 && i % 3 != 1)
            continue; /* a sample */
        for (size_t k = 0; k < sizeof point / sizeof *point; k++)
            setting.point.value[point[k][0]] = reading_of(point[k][1]);
        setting.memory.allocator = allocators[i / 8];
        setting.memory.allocator_setting.limit =
            reading_of((uint64_t)(104 + 6 * (i % 8)) * MIB);
        setting.phases = i % 2; /* PHASES_SPLIT, PHASES_WHOLE */
        outcome = check(bench, &setting);
    }
    option_release(decoder_options, &options);
    return outcome;
}

int main(int argc, char **argv)
{
    struct bench bench = {.device = argc > 1 ? argv[1] : "cuda"};
    char *path = xasprintf("counters_equal_plan.%ld.csv", (long)getpid());
    bench.trace = path;
    int outcome = check_dense(&bench) != 0 || check_ladder(&bench) != 0;
    printf("%d of %d points equal to the plan; %lu of them after retries, %lu refused\n",
           bench.equal, bench.points, (unsigned long)bench.retries,
           (unsigned long)bench.refusals);
    free(path);
    return outcome || bench.equal != bench.points || bench.retries < 1 || bench.refusals < 1;
}
