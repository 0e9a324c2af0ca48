#include "reports/run_line.h"

#include "harness/record/table.h"
#include "harness/plan/plan.h"
#include "reports/changes.h"

#include <stdlib.h>
#include <string.h>

static int compare_readings(struct reading a, struct reading b)
{
    if (a.known != b.known)
        return a.known ? 1 : -1;
    return a.known ? (a.value > b.value) - (a.value < b.value) : 0;
}

int run_line_group(const struct run_line *a, const struct run_line *b)
{
    const char *const x[] = {a->evidence, a->backend, a->study,
                             a->workload, a->role,    a->dimension};
    const char *const y[] = {b->evidence, b->backend, b->study,
                             b->workload, b->role,    b->dimension};
    int order = 0;
    for (size_t i = 0; order == 0 && i < sizeof x / sizeof x[0]; i++)
        order = strcmp(x[i], y[i]);
    return order ? order : (a->changes > b->changes) - (a->changes < b->changes);
}

static int compare_lines(const void *a, const void *b)
{
    const struct run_line *x = a, *y = b;
    int order = run_line_group(x, y);
    order = order ? order : compare_readings(x->value, y->value);
    order = order ? order : strcmp(x->input, y->input);
    order = order ? order : compare_readings(x->trial, y->trial);
    order = order ? order : strcmp(x->run, y->run);
    if (order == 0 && x->attempt != y->attempt)
        order = x->attempt > y->attempt ? 1 : -1;
    return order ? order : compare_readings(x->rank, y->rank);
}

static void line_release(struct run_line *line)
{
    char **texts[] = {&line->evidence,  &line->backend,   &line->study, &line->workload,
                      &line->role,      &line->dimension, &line->input, &line->run,
                      &line->phases,    &line->device,    &line->fits,  &line->failed_phase,
                      &line->refused_by};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(*texts[i]);
}

static char *take(const struct row *row, enum column column)
{
    const char *value = row_text(row, column);
    return xstrdup(value ? value : "");
}

static void line_open(struct run_line *line, const struct row *row)
{
    *line = (struct run_line){
        .evidence = take(row, COLUMN_evidence),
        .backend = take(row, COLUMN_backend),
        .study = take(row, COLUMN_study),
        .workload = take(row, COLUMN_workload),
        .role = take(row, COLUMN_role),
        .dimension = take(row, COLUMN_dimension),
        .input = take(row, COLUMN_input),
        .run = take(row, COLUMN_run),
        .phases = take(row, COLUMN_phases),
        .device = take(row, COLUMN_device_name),
        .fits = xstrdup(""),
        .failed_phase = xstrdup(""),
        .refused_by = xstrdup(""),
        .value = row_count(row, COLUMN_value),
        .trial = row_count(row, COLUMN_trial),
        .rank = row_count(row, COLUMN_rank),
        .status = -1,
    };
    line->place = plan_place(row);
}

static void replace(char **text, const struct row *row, enum column column)
{
    const char *value = row_text(row, column);
    if (!value)
        return;
    free(*text);
    *text = xstrdup(value);
}

static void line_add(struct run_line *line, const struct row *row)
{
    const char *partial = row_text(row, COLUMN_partial);
    const char *predicted = row_text(row, COLUMN_predicted_fits);
    if (row_is_closing(row)) {
        line->status = row_status(row);
        replace(&line->fits, row, COLUMN_fits);
        replace(&line->failed_phase, row, COLUMN_failed_phase);
    }
    replace(&line->refused_by, row, COLUMN_refused_by);
    line->partial = line->partial || (partial && strcmp(partial, "yes") == 0);
    line->predicted_misfit =
        line->predicted_misfit || (predicted && strcmp(predicted, "no") == 0);
    line->capacity = reading_max(line->capacity, row_count(row, COLUMN_device_capacity_bytes));
    line->allocated = reading_max(line->allocated, row_count(row, COLUMN_allocated_peak_bytes));
    line->reserved = reading_max(line->reserved, row_count(row, COLUMN_reserved_peak_bytes));
    line->predicted =
        reading_max(line->predicted, row_count(row, COLUMN_predicted_allocated_peak_bytes));
    line->device_used =
        reading_max(line->device_used, row_count(row, COLUMN_device_used_start_bytes));
    line->device_used =
        reading_max(line->device_used, row_count(row, COLUMN_device_used_end_bytes));
}

static bool same_text(const char *text, const struct row *row, enum column column)
{
    const char *value = row_text(row, column);
    return strcmp(text, value ? value : "") == 0;
}

static bool same_run(const struct run_line *line, const struct row *row)
{
    return same_text(line->run, row, COLUMN_run) && same_text(line->study, row, COLUMN_study) &&
           same_text(line->evidence, row, COLUMN_evidence) &&
           same_text(line->backend, row, COLUMN_backend);
}

/* The line of this row's run and rank; NULL: it begins one. Rows of an attempt stand together
 * in what highwater writes, each rank's closed by its closing row: another run's row, or a row
 * behind the closing one, begins an attempt. */
static struct run_line *find_line(struct run_lines *lines, const struct row *row)
{
    bool begins = lines->count == 0 || !same_run(&lines->lines[lines->count - 1], row);
    for (size_t i = begins ? 0 : lines->count;
         i-- > 0 && lines->lines[i].attempt == lines->attempts;) {
        struct run_line *line = &lines->lines[i];
        if (compare_readings(line->rank, row_count(row, COLUMN_rank)) != 0)
            continue;
        if (line->status < 0)
            return line;
        begins = true;
    }
    lines->attempts += begins;
    return NULL;
}

struct being_read {
    struct run_lines lines;
    struct changes changes;
};

/* A change that one rank shows holds for the run. */
static void set_changes(struct run_lines *lines, size_t changes)
{
    for (size_t i = lines->count; i-- > 0 && lines->lines[i].attempt == lines->attempts;)
        lines->lines[i].changes = changes;
}

static bool take_row(void *user, const struct row *row, uint64_t end_offset)
{
    struct being_read *read = user;
    struct run_lines *lines = &read->lines;
    struct run_line *line = find_line(lines, row);
    (void)end_offset;
    if (!line) {
        line = GROW(lines->lines, lines->count);
        line_open(line, row);
        line->attempt = lines->attempts;
        line->changes = changes_begin(&read->changes, line);
    }
    line_add(line, row);
    if (row_is_closing(row))
        set_changes(lines, changes_take(&read->changes, line, row));
    return true;
}

/* Sorted lines of one run stand together, its last attempt at the end. */
static bool is_same_run(const struct run_line *a, const struct run_line *b)
{
    return strcmp(a->run, b->run) == 0 && run_line_group(a, b) == 0;
}

static void drop_replaced(struct run_lines *lines)
{
    size_t kept = 0;
    for (size_t i = 0, next; i < lines->count; i = next) {
        for (next = i + 1;
             next < lines->count && is_same_run(&lines->lines[i], &lines->lines[next]);)
            next++;
        size_t last = lines->lines[next - 1].attempt;
        for (size_t j = i; j < next; j++) {
            if (lines->lines[j].attempt == last)
                lines->lines[kept++] = lines->lines[j];
            else
                line_release(&lines->lines[j]);
        }
    }
    lines->replaced = lines->count - kept;
    lines->count = kept;
}

int run_lines_read(const char *path, struct run_lines *out, uint64_t *rows, struct text *tear,
                   struct text *why)
{
    struct being_read read = {.lines = {.lines = NULL}};
    struct table_reading reading = {.rows = 0};
    int outcome = table_read(path, true, take_row, &read, &reading, why);
    struct run_lines lines = read.lines;
    text_add(&lines.changes, text_string(&read.changes.said));
    changes_release(&read.changes);
    if (outcome == 0 && reading.torn && reading.good_end == 0) {
        text_addf(why, "%s: not a table of highwater: it has no header", path);
        outcome = -1;
    }
    if (outcome != 0) {
        run_lines_release(&lines);
        text_release(&reading.reason);
        return -1;
    }
    if (reading.torn)
        text_addf(tear, "the table ends in a row that is not whole (%s)",
                  text_string(&reading.reason));
    text_release(&reading.reason);
    if (lines.count)
        qsort(lines.lines, lines.count, sizeof *lines.lines, compare_lines);
    drop_replaced(&lines);
    *rows = reading.rows;
    *out = lines;
    return 0;
}

void run_lines_release(struct run_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        line_release(&lines->lines[i]);
    free(lines->lines);
    text_release(&lines->changes);
}
