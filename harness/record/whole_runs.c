#include "harness/record/whole_runs.h"

#include "harness/record/table.h"

#include <stdlib.h>
#include <string.h>

struct scan {
    struct whole_runs *found;
    const struct run_listener *listener;
    struct row *closing; /* of the run being read, when there is a listener */
    uint64_t *closers;   /* the ranks whose closing rows were read; `closed` in both */
    struct text run;     /* the one whose rows are being read, "" before the first */
    uint64_t closed, ranks, order;
    uint32_t statuses;
    uint64_t rows_of_run;
    bool broken; /* reading stopped at a row that does not go on with the run */
};

static bool is_whole(const struct scan *scan)
{
    return scan->closed > 0 && scan->closed == scan->ranks;
}

static void forget_closing(struct scan *scan)
{
    for (uint64_t i = 0; scan->listener != NULL && i < scan->closed; i++)
        row_release(&scan->closing[i]);
    scan->closed = 0;
}

static void scan_release(struct scan *scan)
{
    forget_closing(scan);
    free(scan->closing);
    free(scan->closers);
    text_release(&scan->run);
}

static void keep_closing(struct scan *scan, const struct row *row, uint64_t rank)
{
    scan->closing = xgrow(scan->closing, scan->closed, sizeof *scan->closing);
    scan->closers = xgrow(scan->closers, scan->closed, sizeof *scan->closers);
    scan->closers[scan->closed] = rank;
    if (scan->listener != NULL) {
        scan->closing[scan->closed] = (struct row)ROW_INIT;
        row_copy(&scan->closing[scan->closed], row);
    }
    scan->closed++;
}

/* One of the ranks that the first closing row speaks of, and none that was closed already. */
static bool closes_a_rank(const struct scan *scan, struct reading rank, uint64_t ranks)
{
    if (!rank.known || rank.value >= ranks || (scan->closed > 0 && ranks != scan->ranks))
        return false;
    for (uint64_t i = 0; i < scan->closed; i++)
        if (scan->closers[i] == rank.value)
            return false;
    return true;
}

static void start_run(struct scan *scan, const char *name)
{
    text_setf(&scan->run, "%s", name);
    forget_closing(scan);
    scan->closed = scan->ranks = scan->order = scan->rows_of_run = 0;
    scan->statuses = 0;
}

/* The same run again behind its last closing row is a new one: it was retried. */
static bool on_row(void *user, const struct row *row, uint64_t end_offset)
{
    struct scan *scan = user;
    const char *name = row_text(row, COLUMN_run);
    bool next = name == NULL || strcmp(name, text_string(&scan->run)) != 0 || is_whole(scan);
    bool broken = name == NULL || (next && scan->run.length > 0 && !is_whole(scan));
    if (broken) {
        scan->broken = true;
        return false;
    }
    if (next)
        start_run(scan, name);
    scan->rows_of_run++;
    if (!row_is_closing(row))
        return true;
    struct reading ranks = row_count(row, COLUMN_ranks), order = row_count(row, COLUMN_order);
    struct reading rank = row_count(row, COLUMN_rank);
    uint64_t all = ranks.known ? ranks.value : 1;
    if (!closes_a_rank(scan, rank, all)) {
        scan->broken = true;
        return false;
    }
    keep_closing(scan, row, rank.value);
    scan->ranks = all;
    scan->order = order.known ? order.value : 0;
    scan->statuses |= 1u << row_status(row);
    if (is_whole(scan)) {
        run_set_put(&scan->found->done, name, scan->order, scan->statuses);
        scan->found->rows += scan->rows_of_run;
        scan->found->end = end_offset;
        if (scan->listener != NULL)
            scan->listener->run(scan->listener->user, scan->closing, scan->closed);
    }
    return true;
}

static void tell_damage(const struct scan *scan, const struct table_reading *reading)
{
    struct whole_runs *found = scan->found;
    bool open = scan->run.length > 0 && !is_whole(scan);
    if (!reading->torn && !scan->broken && !open)
        return;
    text_add(&found->damage, "rows.csv: ");
    if (reading->torn)
        text_add(&found->damage, text_string(&reading->reason));
    else
        text_addf(&found->damage, "run %s has not one closing row of each rank",
                  text_string(&scan->run));
    found->at_end = !scan->broken && (!reading->torn || reading->at_end);
}

int whole_runs_read(const char *folder, bool allow_older, const struct run_listener *listener,
                    struct whole_runs *found, struct text *why)
{
    struct whole_runs read = {.done = RUN_SET_INIT};
    struct scan scan = {.found = &read, .listener = listener};
    struct table_reading reading = {.reason = TEXT_INIT};
    char *path = xasprintf("%s/rows.csv", folder);
    int failed = table_read(path, allow_older, on_row, &scan, &reading, why);
    free(path);
    if (!failed) {
        if (read.end == 0)
            read.end = reading.header_end;
        tell_damage(&scan, &reading);
    }
    scan_release(&scan);
    text_release(&reading.reason);
    if (failed)
        whole_runs_release(&read);
    else
        *found = read;
    return failed;
}

void whole_runs_release(struct whole_runs *runs)
{
    run_set_release(&runs->done);
    text_release(&runs->damage);
}
