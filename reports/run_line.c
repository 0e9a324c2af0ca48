#include "reports/run_line.h"

#include "harness/record/table.h"

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
    return order;
}

static int compare_lines(const void *a, const void *b)
{
    const struct run_line *x = a, *y = b;
    int order = run_line_group(x, y);
    order = order ? order : compare_readings(x->value, y->value);
    order = order ? order : strcmp(x->input, y->input);
    order = order ? order : compare_readings(x->trial, y->trial);
    order = order ? order : strcmp(x->run, y->run);
    return order ? order : compare_readings(x->rank, y->rank);
}

static void line_release(struct run_line *line)
{
    char **texts[] = {&line->evidence, &line->backend,      &line->study,
                      &line->workload, &line->role,         &line->dimension,
                      &line->input,    &line->run,          &line->device,
                      &line->fits,     &line->failed_phase, &line->refused_by};
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
        .device = take(row, COLUMN_device_name),
        .fits = xstrdup(""),
        .failed_phase = xstrdup(""),
        .refused_by = xstrdup(""),
        .value = row_count(row, COLUMN_value),
        .trial = row_count(row, COLUMN_trial),
        .rank = row_count(row, COLUMN_rank),
        .status = -1,
    };
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
    if (row_is_closing(row)) {
        line->status = row_status(row);
        replace(&line->fits, row, COLUMN_fits);
        replace(&line->failed_phase, row, COLUMN_failed_phase);
    }
    replace(&line->refused_by, row, COLUMN_refused_by);
    line->partial = line->partial || (partial && strcmp(partial, "yes") == 0);
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

/* The line of this row's run and rank. Rows of a run stand together in what highwater writes,
 * so the search ends where another run begins. */
static struct run_line *find_line(struct run_lines *lines, const struct row *row)
{
    for (size_t i = lines->count; i-- > 0 && same_run(&lines->lines[i], row);)
        if (compare_readings(lines->lines[i].rank, row_count(row, COLUMN_rank)) == 0)
            return &lines->lines[i];
    return NULL;
}

static bool take_row(void *user, const struct row *row, uint64_t end_offset)
{
    struct run_lines *lines = user;
    struct run_line *line = find_line(lines, row);
    (void)end_offset;
    if (!line) {
        if (lines->count == lines->room) {
            lines->room = 2 * lines->room + 64;
            lines->lines = xrealloc(lines->lines, lines->room * sizeof *lines->lines);
        }
        line = &lines->lines[lines->count++];
        line_open(line, row);
    }
    line_add(line, row);
    return true;
}

int run_lines_read(const char *path, struct run_lines *out, uint64_t *rows, struct text *tear,
                   struct text *why)
{
    struct run_lines lines = {NULL, 0, 0};
    struct table_reading reading = {.rows = 0};
    if (table_read(path, true, take_row, &lines, &reading, why) != 0) {
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
    *rows = reading.rows;
    *out = lines;
    return 0;
}

void run_lines_release(struct run_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        line_release(&lines->lines[i]);
    free(lines->lines);
}
