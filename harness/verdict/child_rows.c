#include "harness/verdict/child_rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* The child tells these once, in whatever line; every row gets them. */
static void spread(enum column column, struct row *rows, size_t count)
{
    struct reading known = reading_missing();
    for (size_t i = 0; i < count && !known.known; i++)
        known = row_count(&rows[i], column);
    for (size_t i = 0; i < count; i++)
        if (!row_count(&rows[i], column).known)
            row_set_reading(&rows[i], column, known);
}

/* A driver may serve more than the card has out of the host's memory. */
static bool spilled(const struct row *rows, size_t count, struct reading card_bytes)
{
    for (size_t i = 0; i < count; i++) {
        struct reading capacity = row_count(&rows[i], COLUMN_device_capacity_bytes);
        struct reading peak = reading_max(row_count(&rows[i], COLUMN_allocated_peak_bytes),
                                          row_count(&rows[i], COLUMN_reserved_peak_bytes));
        if (!capacity.known)
            capacity = card_bytes;
        if (capacity.known && peak.known && peak.value > capacity.value)
            return true;
    }
    return false;
}

static const struct row *failed_row(const struct phase_record *record)
{
    const struct row *own = classify_own(record);
    if (own != NULL || record->count == 0)
        return own;
    const struct row *last = &record->rows[record->count - 1];
    return row_text(last, COLUMN_partial) != NULL ? last : NULL;
}

static void fill_phase(const struct child_facts *facts, const struct verdict *verdict,
                       const struct row *said, bool failed, struct row *row)
{
    row_copy(row, said);
    if (row_status(row) < 0)
        row_set_status(row, verdict->status);
    if (failed) {
        if (row_text(row, COLUMN_error) == NULL && verdict->error.length > 0)
            row_set_text(row, COLUMN_error, text_string(&verdict->error));
        if (row_text(row, COLUMN_refused_by) == NULL)
            row_set_text(row, COLUMN_refused_by, verdict->refused_by);
    }
    row_fill(row, facts->about); /* what the rank has seen comes before what the child says */
    row_fill(row, &facts->record->hello);
}

static void fill_ending(const struct ending *ending, struct row *row)
{
    if (ending == NULL || !ending->reaped)
        return;
    if (WIFSIGNALED(ending->wait_status))
        row_set_count(row, COLUMN_signal, (uint64_t)WTERMSIG(ending->wait_status));
    else
        row_set_count(row, COLUMN_exit_code, (uint64_t)WEXITSTATUS(ending->wait_status));
}

/* `failed`: the row of the phase that did; NULL: none. */
static void fill_closing(const struct child_facts *facts, const struct verdict *verdict,
                         const struct row *failed, struct row *row)
{
    static const enum column of_failure[] = {COLUMN_refused_by, COLUMN_refused_bytes,
                                             COLUMN_free_bytes_at_failure};
    row_set_text(row, COLUMN_phase, "run");
    row_set_status(row, verdict->status);
    if (failed != NULL) {
        row_set_text(row, COLUMN_failed_phase, row_text(failed, COLUMN_phase));
        row_set_text(row, of_failure[0], row_text(failed, of_failure[0]));
        row_set_reading(row, of_failure[1], row_count(failed, of_failure[1]));
        row_set_reading(row, of_failure[2], row_count(failed, of_failure[2]));
    }
    if (verdict->refused_by != NULL)
        row_set_text(row, COLUMN_refused_by, verdict->refused_by);
    if (verdict->error.length > 0)
        row_set_text(row, COLUMN_error, text_string(&verdict->error));
    if (verdict->warning.length > 0)
        row_set_text(row, COLUMN_warning, text_string(&verdict->warning));
    fill_ending(facts->ending, row);
    row_set_reading(row, COLUMN_wall_ns, facts->wall_ns);
    row_fill(row, facts->about); /* what the rank has seen comes before what the child says */
    row_fill(row, &facts->record->hello);
}

void child_rows_of(const struct child_facts *facts, const struct verdict *verdict,
                   struct child_rows *out)
{
    const struct phase_record *record = facts->record;
    const struct row *failed = failed_row(record); /* once: it looks through all of them */
    struct row *rows = xcalloc(record->count + 1, sizeof *rows);
    size_t count = 0;
    for (size_t i = 0; i < record->count; i++)
        if (row_text(&record->rows[i], COLUMN_phase) != NULL) /* else only the run failed */
            fill_phase(facts, verdict, &record->rows[i], &record->rows[i] == failed,
                       &rows[count++]);
    struct row *closing = &rows[count++];
    fill_closing(facts, verdict, failed, closing);
    spread(COLUMN_device_capacity_bytes, rows, count);
    int status = (int)verdict->status;
    if (rules_apply(RULE_IF(spilled, spilled(rows, count, facts->card.total)), &status) != 0) {
        row_set_status(closing, (enum status)status);
        row_add_warning(closing, "more than the device has: host spill suspected");
    }
    *out = (struct child_rows){
        .rows = rows, .count = count, .failed = verdict->status != STATUS_ok};
}

void child_rows_make(const struct child_facts *facts, struct child_rows *rows)
{
    struct verdict verdict;
    classify(facts, &verdict);
    child_rows_of(facts, &verdict, rows);
    text_release(&verdict.error);
    text_release(&verdict.warning);
}

void child_rows_release(struct child_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        row_release(&rows->rows[i]);
    free(rows->rows);
    *rows = (struct child_rows){.rows = NULL};
}
