/* Tables made row by row, and what the report says of them. */
#ifndef TESTS_UNIT_REPORT_BED_H
#define TESTS_UNIT_REPORT_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/record/table.h"
#include "harness/plan/plan.h"
#include "reports/report_text.h"
#include "tests/unit/folder_bed.h"

#include <string.h>

/* A table under construction, the card that its next rows are of, and its study. */
static struct text table;
static uint64_t capacity;
static const char *ecc, *device;
static const struct report_study *study;

static inline int begin(void **state)
{
    (void)state;
    capacity = 85520809984, ecc = device = NULL, study = NULL;
    text_clear(&table);
    table_add_header(&table);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    text_release(&table);
    return 0;
}

struct made {
    const char *backend, *run;
    uint64_t value, rank;
    const char *phase;
    int status;
    struct reading allocated, reserved, predicted, used;
    const char *phases; /* split, whole or NULL */
    bool partial;
};

static inline void add(const struct made *made)
{
    struct row row = ROW_INIT;
    bool observed = strcmp(made->backend, "cuda") == 0;
    const struct {
        enum column column;
        const char *value;
    } texts[] = {{COLUMN_evidence, observed ? "observed" : "computed"},
                 {COLUMN_backend, made->backend}, {COLUMN_study, "s"},
                 {COLUMN_workload, "dense"}, {COLUMN_role, "sweep"},
                 {COLUMN_dimension, "batch"}, {COLUMN_run, made->run},
                 {COLUMN_phase, made->phase}, {COLUMN_phases, made->phases}, {COLUMN_ecc, ecc},
                 {COLUMN_partial, made->partial ? "yes" : NULL}, {COLUMN_device_name, device}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        row_set_text(&row, texts[i].column, texts[i].value);
    if (row_is_closing(&row))
        row_set_text(&row, COLUMN_predicted_fits, made->status == STATUS_oom ? "no" : "yes");
    row_set_count(&row, COLUMN_value, made->value);
    row_set_count(&row, COLUMN_trial, 1);
    row_set_count(&row, COLUMN_rank, made->rank);
    row_set_count(&row, COLUMN_device_capacity_bytes, capacity);
    row_set_reading(&row, COLUMN_allocated_peak_bytes, made->allocated);
    row_set_reading(&row, COLUMN_reserved_peak_bytes, made->reserved);
    row_set_reading(&row, COLUMN_predicted_allocated_peak_bytes, made->predicted);
    row_set_reading(&row, COLUMN_device_used_end_bytes, made->used);
    row_set_status(&row, (enum status)made->status);
    if (row_is_closing(&row) && made->status == STATUS_oom)
        row_set_text(&row, COLUMN_failed_phase, "warm_forward");
    table_add_row(&table, &row);
    row_release(&row);
}

static inline void add_as(const char *backend, const char *run, uint64_t value, uint64_t rank,
                          enum status status, const char *phases)
{
    struct made made = {backend, run, value, rank, .phase = "cold_forward", .phases = phases,
                        .status = STATUS_ok, .allocated = reading_of(1000 * value),
                        .predicted = reading_of(1000 * value)};
    add(&made);
    made.phase = "warm_forward";
    made.status = (int)status;
    made.partial = status == STATUS_oom;
    made.allocated = reading_of(1000 * value + 1);
    add(&made);
    made = (struct made){backend, run, value, rank, .phase = "run", .phases = phases,
                         .status = (int)status};
    add(&made);
}

#define add_run(backend, run, value, rank, status)                                             \
    add_as(backend, run, value, rank, status, NULL)

/* The report of the table, which the caller frees; *outcome is report_text's. */
static inline char *report(int *outcome)
{
    struct text out = TEXT_INIT, why = TEXT_INIT;
    assert_int_equal(file_create("rows.csv", table.data, table.length, &why), 0);
    *outcome = report_text("rows.csv", study, &out, &why);
    unlink("rows.csv");
    text_release(&why);
    return out.length > 0 ? text_detach(&out) : xstrdup("");
}

static inline void has(const char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL)
        fail_msg("\"%s\" is not in: %s", wanted, text);
}

#endif
