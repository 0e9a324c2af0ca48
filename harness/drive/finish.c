#include "harness/drive/finish.h"
#include "harness/base/clock.h"

#include <stdlib.h>

/* What is not a rank's or its child's to say, of every row. */
static void describe(const struct run_facts *facts, uint64_t rank, struct row *ours)
{
    const struct study *study = facts->study;
    struct reading weights = reading_missing(), kv = reading_missing();
    plan_describe_study(study, ours);
    if (study->setting.workload->estimate != NULL)
        study->setting.workload->estimate(&facts->run->point, study->setting.dtype,
                                          study->setting.options, &weights, &kv);
    row_set_reading(ours, COLUMN_estimated_weights_bytes, weights);
    row_set_reading(ours, COLUMN_estimated_kv_bytes, kv);
    row_set_count(ours, COLUMN_rank, rank);
    if (facts->order > 0)
        row_set_count(ours, COLUMN_order, facts->order);
    row_set_count(ours, COLUMN_ranks, facts->placement->ranks);
    row_set_text(ours, COLUMN_program_version, "v" HIGHWATER_VERSION);
    row_set_count(ours, COLUMN_schema, ROW_SCHEMA);
}

/* What the closing row and the driver know, where a phase says nothing. */
static void share(const struct run_facts *facts, uint64_t rank, const struct row *closing,
                  struct row *all)
{
    static const enum column of_rank[] = {COLUMN_host,
                                          COLUMN_device_name,
                                          COLUMN_nvml_index,
                                          COLUMN_device_uuid,
                                          COLUMN_device_pci,
                                          COLUMN_shared_device,
                                          COLUMN_ecc,
                                          COLUMN_mig,
                                          COLUMN_driver_version,
                                          COLUMN_cuda_version,
                                          COLUMN_device_capacity_bytes,
                                          COLUMN_started_utc,
                                          COLUMN_cuda_ordinal,
                                          COLUMN_compute_backend,
                                          COLUMN_framework,
                                          COLUMN_framework_version};
    row_set_reading(all, COLUMN_allocator_limit_bytes, facts->placement->seats[rank].limit);
    for (size_t i = 0; i < sizeof of_rank / sizeof of_rank[0]; i++) {
        struct row one = ROW_INIT;
        one.cell[of_rank[i]] = closing->cell[of_rank[i]]; /* borrowed for the copy */
        row_fill(all, &one);
    }
    if (row_text(all, COLUMN_started_utc) == NULL && facts->started_ns > 0) {
        struct text started = TEXT_INIT;
        text_add_utc(&started, facts->started_ns);
        row_set_text(all, COLUMN_started_utc, text_string(&started));
        text_release(&started);
    }
}

/* Finished, but not what was asked: the workload says itself what it processed. */
static void judge_processed(const struct row *rows, size_t count, struct row *closing)
{
    static const enum column pairs[][2] = {{COLUMN_batch, COLUMN_processed_batch},
                                           {COLUMN_context, COLUMN_processed_context},
                                           {COLUMN_generated, COLUMN_processed_generated}};
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
            struct reading asked = row_count(&rows[i], pairs[p][0]);
            struct reading done = row_count(&rows[i], pairs[p][1]);
            if (!asked.known || !done.known || asked.value == done.value ||
                row_status(closing) != STATUS_ok)
                continue;
            char *warning =
                xasprintf("%s asked %llu, processed %llu", column_facts[pairs[p][0]].name,
                          (unsigned long long)asked.value, (unsigned long long)done.value);
            row_set_status(closing, STATUS_adapted);
            row_add_warning(closing, warning);
            free(warning);
        }
}

/* Fitting needs proof of every phase; a good end without it is none. */
static void judge_reached(const struct row *rows, size_t count, struct row *closing)
{
    for (size_t i = 0; i < count && row_status(closing) == STATUS_ok; i++) {
        if (row_status(&rows[i]) != STATUS_not_reached)
            continue;
        char *error = xasprintf("ended well, but phase %s was not reached",
                                row_text(&rows[i], COLUMN_phase));
        row_set_status(closing, STATUS_error);
        row_set_text(closing, COLUMN_failed_phase, row_text(&rows[i], COLUMN_phase));
        row_set_text(closing, COLUMN_error, error);
        free(error);
    }
}

/* Where no device was observed there is nothing to say of one but its capacity. */
static void clear_device(struct row *row)
{
    static const enum column of_device[] = {
        COLUMN_driver_start_bytes,    COLUMN_driver_peak_bytes,
        COLUMN_driver_end_bytes,      COLUMN_device_used_start_bytes,
        COLUMN_device_used_end_bytes, COLUMN_cuda_ordinal,
        COLUMN_device_uuid,           COLUMN_device_pci,
        COLUMN_driver_version,        COLUMN_cuda_version};
    for (size_t i = 0; i < sizeof of_device / sizeof of_device[0]; i++)
        row_clear(row, of_device[i]);
}

/* A child may say under what settings it ran. */
static void judge_settings(const struct text *otherwise, struct row *closing)
{
    if (otherwise->length == 0)
        return;
    if (row_status(closing) == STATUS_ok)
        row_set_status(closing, STATUS_adapted);
    row_add_warning(closing, text_string(otherwise));
}

void finish_rank(const struct run_facts *facts, uint64_t rank, struct row *rows, size_t count)
{
    struct row ours = ROW_INIT, all = ROW_INIT;
    struct text otherwise = TEXT_INIT;
    struct row *closing = &rows[count - 1];
    describe(facts, rank, &ours);
    share(facts, rank, closing, &all);
    for (size_t i = 0; i < count; i++) {
        plan_correct(&ours, facts->run, &rows[i], &otherwise);
        row_fill(&rows[i], &all);
        if (facts->study->setting.backend != BACKEND_CUDA)
            clear_device(&rows[i]);
        row_clear(&rows[i], COLUMN_fits); /* follows from the status, if from anything */
    }
    row_set_status(closing, (enum status)row_status(closing));
    judge_reached(rows, count, closing);
    judge_processed(rows, count, closing);
    judge_settings(&otherwise, closing);
    row_release(&ours);
    row_release(&all);
    text_release(&otherwise);
}
