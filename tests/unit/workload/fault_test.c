/* The N-th piece of memory that an allocator asks of its device is refused, for N = 1, 2, 3 …
 * until a run gets along without: over every workload and allocator on the host device, with
 * the allocator's invariants checked after every operation. Each time proper rows, and nothing
 * left. */
#include "kernels/backends.h"
#include "harness/workload/session.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* The host device behind a counter; one at a time. */
static struct {
    uint64_t calls, refuse_at; /* segments and pages asked for; which one is refused */
    uint64_t bytes, ranges;    /* out at the moment */
    uint64_t opens;
} device;

static bool refuses(void)
{
    return ++device.calls == device.refuse_at;
}

static enum outcome open_counted(struct device *opened, const struct device_setting *setting)
{
    device.opens++;
    return device_host.open(opened, setting);
}

static enum outcome alloc_counted(struct device *from, uint64_t bytes, uint64_t *address)
{
    const enum outcome outcome =
        refuses() ? OUTCOME_OOM : device_host.segment_alloc(from, bytes, address);
    device.bytes += outcome == OUTCOME_OK ? bytes : 0;
    return outcome;
}

static void free_counted(struct device *from, uint64_t address, uint64_t bytes)
{
    device.bytes -= bytes;
    device_host.segment_free(from, address, bytes);
}

static enum outcome reserve_counted(struct device *from, uint64_t bytes, uint64_t *address)
{
    const enum outcome outcome = device_host.paging->reserve(from, bytes, address);
    device.ranges += outcome == OUTCOME_OK;
    return outcome;
}

static void unreserve_counted(struct device *from, uint64_t address, uint64_t bytes)
{
    device.ranges--;
    device_host.paging->unreserve(from, address, bytes);
}

static enum outcome map_counted(struct device *from, uint64_t address, uint64_t bytes)
{
    const enum outcome outcome =
        refuses() ? OUTCOME_OOM : device_host.paging->map(from, address, bytes);
    device.bytes += outcome == OUTCOME_OK ? bytes : 0;
    return outcome;
}

static void unmap_counted(struct device *from, uint64_t address, uint64_t bytes)
{
    device.bytes -= bytes;
    device_host.paging->unmap(from, address, bytes);
}

static struct device_paging paging;
static struct device_ops ops;
static struct backend backend;

static void set_counted(void)
{
    paging = *device_host.paging;
    paging.reserve = reserve_counted;
    paging.unreserve = unreserve_counted;
    paging.map = map_counted;
    paging.unmap = unmap_counted;
    ops = device_host;
    ops.open = open_counted;
    ops.segment_alloc = alloc_counted;
    ops.segment_free = free_counted;
    ops.paging = &paging;
    backend = *backend_find("host");
    backend.device = &ops;
}

/* --- one run --- */

struct heard {
    size_t begins, ends, fails;
    struct row last; /* the row of the last end or fail */
};

static void hear(void *user, const char *verb, const struct row *row)
{
    struct heard *heard = user;
    assert_int_equal(heard->fails, 0); /* nothing is said after a failure */
    heard->begins += strcmp(verb, "begin") == 0;
    heard->ends += strcmp(verb, "end") == 0;
    heard->fails += strcmp(verb, "fail") == 0;
    if (strcmp(verb, "end") == 0 || strcmp(verb, "fail") == 0) {
        row_release(&heard->last);
        row_copy(&heard->last, row);
    }
}

static void check_failure(const struct heard *heard)
{
    const struct row *row = &heard->last;
    assert_int_equal(heard->fails, 1);
    assert_int_equal(heard->begins, heard->ends + 1);
    assert_int_equal(row_status(row), STATUS_oom);
    assert_string_equal(row_text(row, COLUMN_refused_by), "device");
    assert_true(row_count(row, COLUMN_refused_bytes).value > 0);
    assert_true(row_count(row, COLUMN_free_bytes_at_failure).known);
    assert_true(row_count(row, COLUMN_allocated_peak_bytes).known);
    assert_false(row_count(row, COLUMN_allocated_end_bytes).known);
    assert_non_null(row_text(row, COLUMN_phase));
}

/* Did the run get along without the refusal? Asserts what must be so either way. */
static bool run_refusing(const struct setting *setting, uint64_t at)
{
    struct heard heard = {.last = ROW_INIT};
    const struct phase_listener listener = {hear, &heard};
    memset(&device, 0, sizeof(device));
    device.refuse_at = at;
    const enum status status = session_run(setting, &backend, NULL, &listener);
    const bool refused = device.calls >= at;
    assert_int_equal(device.opens, 1);
    assert_int_equal(device.bytes, 0);
    assert_int_equal(device.ranges, 0);
    if (status == STATUS_ok) {
        assert_int_equal(heard.fails, 0);
        assert_int_equal(heard.begins, heard.ends);
        /* a refusal that the run survived is one that the failure ladder healed */
        if (refused)
            assert_true(row_count(&heard.last, COLUMN_alloc_retries).value > 0);
    } else {
        assert_true(refused);
        check_failure(&heard);
    }
    row_release(&heard.last);
    return !refused;
}

static void refuse_each(const struct setting *setting, const char *allocator)
{
    struct setting mine = *setting;
    uint64_t at = 1;
    mine.memory.allocator = allocator;
    while (!run_refusing(&mine, at))
        at++;
    assert_true(at > 1); /* something was asked for */
}

/* --- every workload --- */

static void give(const struct workload *workload, void *options, const char *name,
                 const char *value)
{
    struct text why = TEXT_INIT;
    const struct option *option =
        workload->options ? option_find(workload->options, name) : NULL;
    if (option && option_set(option, options, value, &why))
        fail_msg("%s", text_string(&why));
    text_release(&why);
}

static void set_point(struct point *point, uint32_t has)
{
    static const struct {
        enum dimension dimension;
        uint64_t value;
    } small[] = {{DIMENSION_batch, 2},     {DIMENSION_context, 19},   {DIMENSION_width, 32},
                 {DIMENSION_sequences, 2}, {DIMENSION_generated, 3},  {DIMENSION_layers, 2},
                 {DIMENSION_images, 1},    {DIMENSION_resolution, 28}};
    for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
        if (has >> small[i].dimension & 1)
            point->value[small[i].dimension] = reading_of(small[i].value);
    }
}

static void try_workload(const struct workload *workload, const char *option, const char *value)
{
    struct setting setting = {
        .workload = workload, .dtype = DTYPE_float32, .warmup = 1, .repeats = 2, .seed = 7};
    setting.memory.device.capacity = reading_of((uint64_t)1 << 30);
    setting.memory.allocator_setting.check = true;
    set_point(&setting.point, workload->dimensions);
    if (workload->options) {
        setting.options = xcalloc(1, workload->options_size);
        option_defaults(workload->options, setting.options);
        give(workload, setting.options, "vocabulary", "61");
        if (option)
            give(workload, setting.options, option, value);
    }
    for (size_t i = 0; allocator_names[i]; i++)
        refuse_each(&setting, allocator_names[i]);
    if (workload->options)
        option_release(workload->options, setting.options);
    free(setting.options);
}

/* Also with each way to lay out a cache: they allocate at other moments. */
static void every_workload_and_allocator(void **state)
{
    (void)state;
    set_counted();
    for (size_t i = 0; workloads[i]; i++) {
        const struct option *layout =
            workloads[i]->options ? option_find(workloads[i]->options, "kv_layout") : NULL;
        if (!layout)
            try_workload(workloads[i], NULL, NULL);
        for (size_t j = 0; layout && layout->choices[j]; j++)
            try_workload(workloads[i], "kv_layout", layout->choices[j]);
    }
}

/* The limit forces the ladder again and again; invariants hold, figures are those of the plan's
 * device. */
static void every_workload_under_a_limit(void **state)
{
    (void)state;
    set_counted();
    for (size_t i = 0; workloads[i]; i++) {
        struct setting setting = {.workload = workloads[i],
                                  .dtype = DTYPE_float32,
                                  .warmup = 1,
                                  .repeats = 1,
                                  .seed = 7};
        setting.memory.device.capacity = reading_of((uint64_t)1 << 30);
        setting.memory.allocator_setting.check = true;
        set_point(&setting.point, workloads[i]->dimensions);
        setting.options = xcalloc(1, workloads[i]->options_size + 1);
        if (workloads[i]->options)
            option_defaults(workloads[i]->options, setting.options);
        give(workloads[i], setting.options, "vocabulary", "61");
        for (uint64_t mib = 34; mib <= 80; mib += 2) {
            static char name[] = "caching";
            struct heard heard = {.last = ROW_INIT};
            const struct phase_listener listener = {hear, &heard};
            setting.memory.allocator = name;
            setting.memory.allocator_setting.limit = reading_of(mib << 20);
            memset(&device, 0, sizeof(device));
            const enum status status = session_run(&setting, &backend, NULL, &listener);
            assert_true(status == STATUS_ok || status == STATUS_oom);
            assert_int_equal(device.bytes, 0);
            if (status == STATUS_oom)
                assert_string_equal(row_text(&heard.last, COLUMN_refused_by), "limit");
            row_release(&heard.last);
        }
        if (workloads[i]->options)
            option_release(workloads[i]->options, setting.options);
        free(setting.options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_workload_and_allocator),
        cmocka_unit_test(every_workload_under_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
