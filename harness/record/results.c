#include "harness/record/results.h"

#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/record/results_lock.h"
#include "harness/record/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536             /* bytes copied at a time */
#define EVENTS_READ (64u << 10) /* bytes of the end of events.log */
#define STAMP 20                /* bytes of "YYYY-MM-DD HH:MM:SS " */

/* Appends "cannot VERB FOLDER/NAME: error text"; returns -1. */
static int refuse(struct text *why, const char *verb, const char *folder, const char *name)
{
    return text_fail(why, "cannot %s %s/%s: %s", verb, folder, name, strerror(errno));
}

/* Closes after another failure: errors of closing are not told. */
static void drop(struct results *results)
{
    if (results->rows_fd >= 0)
        close(results->rows_fd);
    if (results->events_fd >= 0)
        close(results->events_fd);
    free(results->folder);
    *results = (struct results){.rows_fd = -1, .events_fd = -1};
}

/* --- creating ----------------------------------------------------------------------------- */

static int create_rows(struct results *results, const char *inside, struct text *why)
{
    char *path = xasprintf("%s/rows.csv", inside);
    struct text header = TEXT_INIT;
    int failed = -1;
    table_add_header(&header);
    results->rows_bytes = header.length;
    results->rows_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (results->rows_fd < 0)
        refuse(why, "create", inside, "rows.csv");
    else if (results_lock(results->rows_fd, results->folder, why) != RESULTS_OK)
        ;
    else if (file_write_all(results->rows_fd, header.data, header.length, path, why) != 0)
        ;
    else if (fsync(results->rows_fd) != 0)
        refuse(why, "sync", inside, "rows.csv");
    else
        failed = 0;
    text_release(&header);
    free(path);
    return failed;
}

static int create_file(const char *inside, const char *name, const struct text *contents,
                       struct text *why)
{
    char *path = xasprintf("%s/%s", inside, name);
    int failed = file_create(path, text_string(contents), contents->length, why);
    free(path);
    return failed;
}

static int create_files(struct results *results, const char *inside, const struct text *study,
                        const struct text *environment, struct text *why)
{
    char *runs = xasprintf("%s/runs", inside);
    char *events = xasprintf("%s/events.log", inside);
    int failed = folder_make(runs, why);
    if (!failed)
        failed = create_file(inside, "study.ini", study, why);
    if (!failed)
        failed = create_file(inside, "environment.json", environment, why);
    if (!failed)
        failed = create_rows(results, inside, why);
    if (!failed) {
        results->events_fd =
            open(events, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (results->events_fd < 0)
            failed = refuse(why, "create", inside, "events.log");
    }
    if (!failed)
        failed = folder_sync(inside, why);
    free(events);
    free(runs);
    return failed;
}

/* The folder is made under another name and renamed when it is complete. */
static enum results_outcome appear(const char *hidden, const char *folder, struct text *why)
{
    int failed = renameat2(AT_FDCWD, hidden, AT_FDCWD, folder, RENAME_NOREPLACE);
    bool unknown = failed && (errno == EINVAL || errno == ENOSYS); /* to the file system */
    if (unknown && !file_exists(folder))
        failed = rename(hidden, folder);
    int error = errno;
    if (!failed)
        return RESULTS_OK;
    if (error == EEXIST || error == ENOTEMPTY || file_exists(folder)) {
        text_addf(why, "%s exists already", folder);
        return RESULTS_EXISTS;
    }
    text_addf(why, "cannot rename %s to %s: %s", hidden, folder, strerror(error));
    return RESULTS_FAILED;
}

/* A new folder beside the one to be; the caller frees. Its name may be taken by a process of
 * another host, or left by one that died in here: then it gets another number. */
static char *make_hidden(const char *folder, struct text *why)
{
    for (int number = 0;; number++) {
        char *hidden = xasprintf("%s.new-%ld-%d", folder, (long)getpid(), number);
        if (mkdir(hidden, 0777) == 0)
            return hidden;
        bool taken = errno == EEXIST && number < 100;
        if (!taken)
            text_addf(why, "cannot make folder %s: %s", hidden, strerror(errno));
        free(hidden);
        if (!taken)
            return NULL;
    }
}

static enum results_outcome create_hidden(struct results *results, const struct text *study,
                                          const struct text *environment, struct text *why)
{
    enum results_outcome outcome = RESULTS_FAILED;
    struct text reason = TEXT_INIT;
    char *hidden = make_hidden(results->folder, why);
    if (hidden == NULL)
        return RESULTS_FAILED;
    if (create_files(results, hidden, study, environment, why) == 0)
        outcome = appear(hidden, results->folder, why);
    if (outcome != RESULTS_OK && folder_remove(hidden, &reason) != 0)
        text_addf(why, " (and %s)", text_string(&reason));
    text_release(&reason);
    free(hidden);
    return outcome;
}

/* Makes `folder` and says which ancestor was the first that had to be made ("" none). */
static int make_parents(const char *folder, struct text *made, struct text *why)
{
    char *path = xstrdup(folder);
    while (!file_exists(path)) {
        text_setf(made, "%s", path);
        char *parent = path_parent(path);
        free(path);
        path = parent;
    }
    free(path);
    return folder_make(folder, why);
}

/* Takes away again what make_parents made; a folder that someone else uses by now stays. */
static void unmake_parents(const char *folder, const struct text *made)
{
    char *path = xstrdup(folder);
    while (made->length > 0 && strlen(path) >= made->length && rmdir(path) == 0) {
        char *parent = path_parent(path);
        free(path);
        path = parent;
    }
    free(path);
}

/* The new names are on the disk, up to the one of the first folder that was made. */
static int sync_parents(const char *folder, const struct text *made, struct text *why)
{
    char *path = xstrdup(folder);
    int failed = folder_sync(path, why);
    for (bool more = made->length > 0; more && !failed;) {
        more = strcmp(path, text_string(made)) != 0;
        char *parent = path_parent(path);
        free(path);
        path = parent;
        failed = folder_sync(path, why);
    }
    free(path);
    return failed;
}

static enum results_outcome create_below(struct results *results, const char *parent,
                                         const struct text *study,
                                         const struct text *environment, struct text *why)
{
    struct text made = TEXT_INIT;
    enum results_outcome outcome = RESULTS_FAILED;
    if (make_parents(parent, &made, why) == 0)
        outcome = create_hidden(results, study, environment, why);
    if (outcome == RESULTS_OK && sync_parents(parent, &made, why) != 0) {
        int left = folder_remove(results->folder, NULL);
        text_addf(why, "%s", left ? " (the folder is left behind)" : "");
        outcome = RESULTS_FAILED;
    }
    if (outcome != RESULTS_OK)
        unmake_parents(parent, &made);
    text_release(&made);
    return outcome;
}

enum results_outcome results_create(struct results *results, const char *folder,
                                    const struct text *study, const struct text *environment,
                                    struct text *why)
{
    struct results made = {.folder = path_plain(folder), .rows_fd = -1, .events_fd = -1};
    enum results_outcome outcome;
    if (results_in_use(made.folder)) {
        results_add_user(made.folder, why);
        outcome = RESULTS_IN_USE;
    } else if (file_exists(made.folder)) {
        text_addf(why, "%s exists already", made.folder);
        outcome = RESULTS_EXISTS;
    } else {
        char *parent = path_parent(made.folder);
        outcome = create_below(&made, parent, study, environment, why);
        free(parent);
    }
    if (outcome == RESULTS_OK)
        *results = made;
    else
        drop(&made);
    return outcome;
}

static int close_one(int *fd, const char *folder, const char *name, struct text *why)
{
    int failed = close(*fd);
    *fd = -1;
    if (failed) {
        text_add(why, why != NULL && why->length > 0 ? "; " : "");
        refuse(why, "close", folder, name);
    }
    return failed;
}

int results_close(struct results *results, struct text *why)
{
    int failed = close_one(&results->events_fd, results->folder, "events.log", why);
    failed |= close_one(&results->rows_fd, results->folder, "rows.csv", why);
    drop(results);
    return failed;
}

/* --- cutting back ------------------------------------------------------------------------- */

/* A new file rows.cut-N.csv beside rows.csv; -1 with the reason. */
static int create_aside(const char *folder, char **path, struct text *why)
{
    for (int number = 1;; number++) {
        char *name = xasprintf("%s/rows.cut-%d.csv", folder, number);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            *path = name;
            return fd;
        }
        int error = errno;
        if (error != EEXIST)
            text_addf(why, "cannot create %s: %s", name, strerror(error));
        free(name);
        if (error != EEXIST)
            return -1;
    }
}

static int copy_tail(const struct results *results, uint64_t offset, int to,
                     const char *to_path, struct text *why)
{
    for (;;) {
        char chunk[CHUNK];
        ssize_t got = pread(results->rows_fd, chunk, sizeof chunk, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            text_addf(why, "cannot read %s/rows.csv: %s", results->folder, strerror(errno));
        if (got <= 0)
            return (int)got;
        if (file_write_all(to, chunk, (size_t)got, to_path, why) != 0)
            return -1;
        offset += (uint64_t)got;
    }
}

/* Nothing is destroyed: the tail is on the disk under another name before it is cut off. */
static int set_aside(struct results *results, uint64_t offset, struct text *said,
                     struct text *why)
{
    char *path = NULL;
    int fd = create_aside(results->folder, &path, why);
    if (fd < 0)
        return -1;
    int failed = copy_tail(results, offset, fd, path, why);
    if (!failed && fsync(fd) != 0) {
        text_addf(why, "cannot sync %s: %s", path, strerror(errno));
        failed = -1;
    }
    if (close(fd) != 0 && !failed) {
        text_addf(why, "cannot close %s: %s", path, strerror(errno));
        failed = -1;
    }
    if (!failed)
        failed = folder_sync(results->folder, why);
    if (failed)
        unlink(path);
    else
        text_addf(said, "; kept as %s", path);
    free(path);
    return failed;
}

static int cut_off(struct results *results, uint64_t good_end, struct text *why)
{
    struct text header = TEXT_INIT;
    char *path = xasprintf("%s/rows.csv", results->folder);
    int failed = ftruncate(results->rows_fd, (off_t)good_end);
    if (failed)
        text_addf(why, "cannot cut back %s: %s", path, strerror(errno));
    if (good_end == 0)
        table_add_header(&header);
    if (!failed && header.length > 0)
        failed = file_write_all(results->rows_fd, header.data, header.length, path, why);
    if (!failed && fsync(results->rows_fd) != 0) {
        text_addf(why, "cannot sync %s: %s", path, strerror(errno));
        failed = -1;
    }
    results->rows_bytes = good_end + header.length;
    text_release(&header);
    free(path);
    return failed;
}

static void take_name(void *user, const struct row *row)
{
    const char *name = row_text(row, COLUMN_run);
    if (name != NULL)
        run_set_put(user, name, 0, 0);
}

/* Of how many runs there are rows; whether all of a run's are, nobody can say. */
static int count_runs(const char *folder, uint64_t from, struct text *said, struct text *why)
{
    struct run_set names = RUN_SET_INIT;
    char *path = xasprintf("%s/rows.csv", folder);
    int failed = table_pick(path, from, take_name, &names, why);
    if (!failed && names.count > 0)
        text_addf(said, ", rows of %zu run%s among them", names.count,
                  names.count == 1 ? "" : "s");
    run_set_release(&names);
    free(path);
    return failed;
}

/* Cuts rows.csv off at byte `end`. `keep`: what lies behind is on the disk before, as a new
 * rows.cut-N.csv; `said` names it, and tells of how many runs there are rows in it. */
static int cut_back(struct results *results, uint64_t end, bool keep, struct text *said,
                    struct text *why)
{
    if (keep && (count_runs(results->folder, end, said, why) != 0 ||
                 set_aside(results, end, said, why) != 0))
        return -1;
    return cut_off(results, end, why);
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
    enum results_outcome locked = results_lock(results->rows_fd, results->folder, why);
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

/* Reads the table and cuts it back to whole runs. */
static int take_stock(struct results *results, const struct run_listener *listener,
                      struct results_reopened *reopened, struct text *why)
{
    struct whole_runs found;
    struct stat status;
    if (whole_runs_read(results->folder, false, listener, &found, why) != 0)
        return -1;
    reopened->done = found.done;
    reopened->rows = found.rows;
    results->rows_bytes = found.end;
    int failed = fstat(results->rows_fd, &status);
    if (failed)
        refuse(why, "look at", results->folder, "rows.csv");
    else
        reopened->cut_bytes = (uint64_t)status.st_size - found.end;
    if (!failed && (reopened->cut_bytes > 0 || found.end == 0)) {
        text_addf(&reopened->said, "%s; %llu bytes behind the last whole run were cut off",
                  text_string(&found.damage), (unsigned long long)reopened->cut_bytes);
        failed = cut_back(results, found.end, reopened->cut_bytes > 0, &reopened->said, why);
    }
    text_release(&found.damage);
    return failed;
}

enum results_outcome results_reopen(struct results *results, const char *folder,
                                    const struct run_listener *listener,
                                    struct results_reopened *reopened, struct text *why)
{
    struct results opened = {.folder = path_plain(folder), .rows_fd = -1, .events_fd = -1};
    struct results_reopened found = {.said = TEXT_INIT};
    enum results_outcome outcome = open_files(&opened, why);
    if (outcome == RESULTS_OK &&
        (take_stock(&opened, listener, &found, why) != 0 || end_last_event(&opened, why) != 0))
        outcome = RESULTS_FAILED;
    if (outcome == RESULTS_OK) {
        *results = opened;
        *reopened = found;
    } else {
        results_reopened_release(&found);
        drop(&opened);
    }
    return outcome;
}

void results_reopened_release(struct results_reopened *reopened)
{
    run_set_release(&reopened->done);
    text_release(&reopened->said);
}

/* --- adding ------------------------------------------------------------------------------- */

/* A file that another program has changed has whole runs at other places than we remember: a
 * later cut would destroy rows. */
static int check_unchanged(const struct results *results, struct text *why)
{
    struct stat status;
    if (fstat(results->rows_fd, &status) != 0)
        return refuse(why, "look at", results->folder, "rows.csv");
    if (status.st_nlink == 0)
        text_addf(why, "%s/rows.csv was removed by someone else", results->folder);
    else if ((uint64_t)status.st_size != results->rows_bytes)
        text_addf(why, "%s/rows.csv was changed by someone else", results->folder);
    else
        return 0;
    return -1;
}

int results_append(struct results *results, const struct row *rows, size_t count,
                   struct text *why)
{
    if (check_unchanged(results, why) != 0)
        return -1;
    struct text out = TEXT_INIT;
    for (size_t i = 0; i < count; i++)
        table_add_row(&out, &rows[i]);
    ssize_t written;
    do
        written = out.length > 0 ? write(results->rows_fd, out.data, out.length) : 0;
    while (written < 0 && errno == EINTR);
    bool whole = written >= 0 && (size_t)written == out.length;
    if (written >= 0 && !whole)
        errno = ENOSPC; /* the only way in which a file takes a part */
    bool synced = whole && fdatasync(results->rows_fd) == 0;
    if (synced)
        results->rows_bytes += out.length;
    else
        refuse(why, whole ? "sync" : "write", results->folder, "rows.csv");
    text_release(&out);
    if (!synced && ftruncate(results->rows_fd, (off_t)results->rows_bytes) != 0)
        text_addf(why, ", and the torn rows cannot be cut off again: %s", strerror(errno));
    return synced ? 0 : -1;
}

int results_event(struct results *results, struct text *why, const char *format, ...)
{
    struct text message = TEXT_INIT, line = TEXT_INIT;
    va_list arguments;
    va_start(arguments, format);
    text_addv(&message, format, arguments);
    va_end(arguments);
    text_add_utc(&line, clock_realtime_ns());
    text_add_char(&line, ' ');
    text_add_escaped(&line, text_string(&message), message.length, 0);
    text_add_char(&line, '\n');
    char *path = xasprintf("%s/events.log", results->folder);
    int failed = file_write_all(results->events_fd, line.data, line.length, path, why);
    if (!failed && fdatasync(results->events_fd) != 0)
        failed = refuse(why, "sync", results->folder, "events.log");
    free(path);
    text_release(&line);
    text_release(&message);
    return failed;
}

char *results_run_folder(struct results *results, const char *run, struct text *why)
{
    char *path = xasprintf("%s/runs/%s", results->folder, run);
    bool fit = run[0] != '\0' && run[0] != '.' && strchr(run, '/') == NULL;
    if (!fit)
        text_addf(why, "%s is no name for a run's folder", path);
    if (fit && folder_remove(path, why) == 0 && folder_make(path, why) == 0)
        return path;
    free(path);
    return NULL;
}

void results_current(const char *folder, struct text *run, struct text *since)
{
    char *path = xasprintf("%s/events.log", folder);
    struct text events = TEXT_INIT;
    may_fail(file_read_tail(path, EVENTS_READ, &events, NULL));
    text_clear(run);
    text_clear(since);
    size_t at = 0, length;
    for (const char *line; (line = text_line(&events, &at, &length)) != NULL;) {
        const char *word = length > STAMP ? line + STAMP : "";
        text_clear(run);
        if (strncmp(word, "begin ", 6) == 0) {
            text_addf(run, "%.*s", (int)length - STAMP - 6, word + 6);
            text_setf(since, "%.*s", STAMP - 1, line);
        }
    }
    text_release(&events);
    free(path);
}
