#include "harness/record/results.h"

#include "harness/base/file.h"
#include "harness/record/results_files.h"
#include "harness/record/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- which runs are whole ----------------------------------------------------------------- */

struct scan {
    struct run_set *done;
    const struct results_listener *listener;
    struct row *closing; /* of the run being read, when there is a listener */
    uint64_t *closers;   /* the ranks whose closing rows were read; `closed` in both */
    uint64_t room;
    struct text run; /* the one whose rows are being read, "" before the first */
    uint64_t closed, ranks, order;
    uint32_t statuses;
    uint64_t rows, rows_of_run;
    uint64_t good_end; /* behind the last whole run */
    bool broken;       /* reading stopped at a row that does not go on with the run */
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
    if (scan->closed == scan->room) {
        scan->room = scan->room * 2 + 1;
        scan->closing = xrealloc(scan->closing, scan->room * sizeof *scan->closing);
        scan->closers = xrealloc(scan->closers, scan->room * sizeof *scan->closers);
    }
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
        run_set_put(scan->done, name, scan->order, scan->statuses);
        scan->rows += scan->rows_of_run;
        scan->good_end = end_offset;
        if (scan->listener != NULL)
            scan->listener->run(scan->listener->user, scan->closing, scan->closed);
    }
    return true;
}

/* --- opening ------------------------------------------------------------------------------ */

/* One of the folder's files, to go on in; -1 with the reason. What is none of ours (a pipe, a
 * device) is not waited for and not written to. */
static int open_ours(const char *folder, const char *name, int create, struct text *why)
{
    struct stat status;
    char *path = xasprintf("%s/%s", folder, name);
    int fd = open(path, O_RDWR | create | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
    bool regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    if (!regular)
        text_addf(why, "cannot open %s: %s", path,
                  fd < 0 ? strerror(errno) : "it is no regular file");
    if (!regular && fd >= 0)
        close(fd);
    free(path);
    return regular ? fd : -1;
}

static int check_runs(const char *folder, struct text *why)
{
    char *path = xasprintf("%s/runs", folder);
    int failed = folder_make(path, why);
    free(path);
    return failed;
}

static enum results_outcome open_files(struct results *results, struct text *why)
{
    results->rows_fd = open_ours(results->folder, "rows.csv", 0, why);
    if (results->rows_fd < 0)
        return RESULTS_FAILED;
    enum results_outcome locked = rows_lock(results->rows_fd, results->folder, why);
    if (locked != RESULTS_OK)
        return locked;
    results->events_fd = open_ours(results->folder, "events.log", O_CREAT, why);
    bool good = results->events_fd >= 0 && check_runs(results->folder, why) == 0;
    return good ? RESULTS_OK : RESULTS_FAILED;
}

/* A last event without its newline must not run into the next one. */
static int end_last_event(struct results *results, struct text *why)
{
    char *path = xasprintf("%s/events.log", results->folder);
    int fd = results->events_fd;
    off_t length = lseek(fd, 0, SEEK_END);
    char last = '\n';
    int failed = length < 0 || (length > 0 && pread(fd, &last, 1, length - 1) < 0);
    if (failed)
        text_addf(why, "cannot read %s: %s", path, strerror(errno));
    else if (last != '\n')
        failed = file_write_all(fd, "\n", 1, path, why);
    free(path);
    return failed ? -1 : 0;
}

/* Where the last whole run ends; the header's end when there is none, 0 without a header. */
static uint64_t whole_end(const struct scan *scan, const struct table_reading *reading)
{
    return scan->good_end > 0 ? scan->good_end : reading->header_end;
}

static void explain(const struct scan *scan, const struct table_reading *reading,
                    struct text *said)
{
    text_add(said, "rows.csv: ");
    if (reading->torn)
        text_add(said, text_string(&reading->reason));
    else
        text_addf(said, "run %s has not one closing row of each rank", text_string(&scan->run));
}

static void explain_cut(const struct scan *scan, const struct table_reading *reading,
                        uint64_t cut_bytes, struct text *said)
{
    explain(scan, reading, said);
    text_addf(said, "; %llu bytes behind the last whole run were cut off",
              (unsigned long long)cut_bytes);
}

/* Reads the table and cuts it back to whole runs. */
static int take_stock(struct results *results, struct scan *scan,
                      struct results_reopened *reopened, struct text *why)
{
    struct table_reading reading;
    struct stat status;
    char *path = xasprintf("%s/rows.csv", results->folder);
    int failed = table_read(path, false, on_row, scan, &reading, why);
    if (failed) {
        free(path);
        return -1;
    }
    uint64_t end = whole_end(scan, &reading);
    if (fstat(results->rows_fd, &status) != 0) {
        text_addf(why, "cannot look at %s: %s", path, strerror(errno));
        failed = -1;
    }
    free(path);
    uint64_t cut_bytes = failed ? 0 : (uint64_t)status.st_size - end;
    results->rows_bytes = end;
    if (!failed && (cut_bytes > 0 || end == 0)) {
        explain_cut(scan, &reading, cut_bytes, &reopened->said);
        failed = results_cut(results, end, cut_bytes > 0, &reopened->said, why);
    }
    reopened->cut_bytes = cut_bytes;
    reopened->rows = scan->rows;
    text_release(&reading.reason);
    return failed;
}

enum results_outcome results_reopen(struct results *results, const char *folder,
                                    const struct results_listener *listener,
                                    struct results_reopened *reopened, struct text *why)
{
    struct results opened = {.folder = path_plain(folder), .rows_fd = -1, .events_fd = -1};
    struct results_reopened found = {.said = TEXT_INIT};
    struct scan scan = {.done = &found.done, .listener = listener};
    enum results_outcome outcome = open_files(&opened, why);
    if (outcome == RESULTS_OK &&
        (take_stock(&opened, &scan, &found, why) != 0 || end_last_event(&opened, why) != 0))
        outcome = RESULTS_FAILED;
    scan_release(&scan);
    if (outcome == RESULTS_OK) {
        *results = opened;
        *reopened = found;
    } else {
        results_reopened_release(&found);
        results_drop(&opened);
    }
    return outcome;
}

static struct results_damage damage_of(const struct scan *scan,
                                       const struct table_reading *reading)
{
    struct results_damage damage = {.reason = TEXT_INIT};
    bool open = scan->run.length > 0 && !is_whole(scan);
    if (!reading->torn && !scan->broken && !open)
        return damage;
    explain(scan, reading, &damage.reason);
    damage.byte = whole_end(scan, reading);
    damage.at_end = !scan->broken && (!reading->torn || reading->at_end);
    return damage;
}

int results_look(const char *folder, const struct results_listener *listener,
                 struct run_set *done, struct results_damage *damage, struct text *why)
{
    struct run_set found = RUN_SET_INIT;
    struct scan scan = {.done = &found, .listener = listener};
    struct table_reading reading = {.reason = TEXT_INIT};
    char *path = xasprintf("%s/rows.csv", folder);
    int failed = table_read(path, true, on_row, &scan, &reading, why);
    free(path);
    if (failed) {
        scan_release(&scan);
        run_set_release(&found);
        return -1;
    }
    if (damage != NULL)
        *damage = damage_of(&scan, &reading);
    scan_release(&scan);
    text_release(&reading.reason);
    *done = found;
    return 0;
}

void results_reopened_release(struct results_reopened *reopened)
{
    run_set_release(&reopened->done);
    text_release(&reopened->said);
}
