/* The plan's promise: the six allocator counters of every phase are the same on the simulated
 * device and on the GPU, to the byte. All points in one process; each opens memory and
 * libraries anew. The points of the main issue with the caching allocator, a sample with the
 * others. */
#include "kernels/backends.h"
#include "kernels/workloads/workload.h"

#include <stdio.h>
#include <string.h>

#define MOST_ROWS 32

struct recorder {
    struct row rows[MOST_ROWS];
    size_t count;
    struct reading capacity;
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

static enum status run(struct workload_setting *setting, const char *backend,
                       struct recorder *recorder)
{
    struct phase_listener listener = {.line = record, .user = recorder};
    return workload_run(setting, backend_find(backend), NULL, &listener);
}

static const char *cell(const struct row *row, enum column column)
{
    const char *text = row_text(row, column);
    return text ? text : "";
}

static int differences(const struct recorder *plan, const struct recorder *seen)
{
    static const enum column columns[] = {
        COLUMN_allocated_start_bytes, COLUMN_allocated_peak_bytes, COLUMN_allocated_end_bytes,
        COLUMN_reserved_start_bytes,  COLUMN_reserved_peak_bytes,  COLUMN_reserved_end_bytes};
    int found = plan->count != seen->count;
    for (size_t r = 0; r < plan->count && r < seen->count; r++)
        for (size_t i = 0; i < 6; i++) {
            struct reading a = row_count(&plan->rows[r], columns[i]);
            struct reading b = row_count(&seen->rows[r], columns[i]);
            if (a.known == b.known && (!a.known || a.value == b.value))
                continue;
            found++;
            printf("  %s %s: plan %lu, seen %lu\n", cell(&plan->rows[r], COLUMN_phase),
                   column_facts[columns[i]].name, (unsigned long)a.value,
                   (unsigned long)b.value);
        }
    return found;
}

/* 1: equal, 0: not, -1: no device. */
static int check(struct workload_setting *setting)
{
    struct recorder seen = {.count = 0}, plan = {.count = 0};
    enum status there = run(setting, "cuda", &seen);
    if (!seen.capacity.known) {
        printf("FAILED: %s\n", seen.count ? cell(&seen.rows[0], COLUMN_error) : "no device");
        return -1;
    }
    setting->memory.device.capacity = seen.capacity;
    enum status here = run(setting, "simulated", &plan);
    int different = differences(&plan, &seen);
    bool equal = there == here && there == STATUS_ok && different == 0;
    if (!equal)
        printf("DIFFERENT %s %s batch %lu context %lu width %lu: %d counters, %s %s\n",
               setting->memory.allocator, dtype_names[setting->dtype],
               (unsigned long)setting->point.value[DIMENSION_batch].value,
               (unsigned long)setting->point.value[DIMENSION_context].value,
               (unsigned long)setting->point.value[DIMENSION_width].value, different,
               status_facts[there].name,
               there == STATUS_ok ? "" : cell(&seen.rows[seen.count - 1], COLUMN_error));
    forget(&seen);
    forget(&plan);
    return equal;
}

int main(void)
{
    static const uint64_t batches[] = {1, 2, 8}, contexts[] = {16, 128, 4096};
    static const uint64_t widths[] = {64, 1024, 4096};
    const char *const allocators[] = {"caching", "direct", "expandable"};
    int points = 0, equal = 0;
    for (int i = 0; i < 3 * 81; i++) {
        struct workload_setting setting = {.workload = workload_find("dense"),
                                           .warmup = 1,
                                           .repeats = 1,
                                           .seed = 7,
                                           .dtype = i % 3};
        setting.point.value[DIMENSION_batch] = reading_of(batches[i / 3 % 3]);
        setting.point.value[DIMENSION_context] = reading_of(contexts[i / 9 % 3]);
        setting.point.value[DIMENSION_width] = reading_of(widths[i / 27 % 3]);
        setting.point.value[DIMENSION_sequences] = reading_of(1 + (uint64_t)(i % 2));
        setting.memory.allocator = (char *)allocators[i / 81];
        if (i >= 81 && i % 5 != 0)
            continue; /* a sample of the other allocators */
        int outcome = check(&setting);
        if (outcome < 0)
            return 1;
        points++;
        equal += outcome;
    }
    printf("%d of %d points equal to the plan\n", equal, points);
    return equal != points;
}
