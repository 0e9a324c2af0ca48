#include "harness/record/results.h"

#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/record/results_files.h"
#include "harness/record/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Appends "cannot VERB FOLDER/NAME: error text"; returns -1. */
static int refuse(struct text *why, const char *verb, const char *folder, const char *name)
{
    text_addf(why, "cannot %s %s/%s: %s", verb, folder, name, strerror(errno));
    return -1;
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
    else if (rows_lock(results->rows_fd, results->folder, why) != RESULTS_OK)
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

/* A half-made folder is never seen under the name of the whole one. */
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
    struct text ignored = TEXT_INIT;
    char *hidden = make_hidden(results->folder, why);
    if (hidden == NULL)
        return RESULTS_FAILED;
    if (create_files(results, hidden, study, environment, why) == 0)
        outcome = appear(hidden, results->folder, why);
    if (outcome != RESULTS_OK && folder_remove(hidden, &ignored) != 0)
        text_addf(why, " (and %s)", text_string(&ignored));
    text_release(&ignored);
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
        struct text ignored = TEXT_INIT;
        int left = folder_remove(results->folder, &ignored);
        text_addf(why, "%s", left ? " (the folder is left behind)" : "");
        text_release(&ignored);
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
        results_drop(&made);
    return outcome;
}

void results_drop(struct results *results)
{
    if (results->rows_fd >= 0)
        close(results->rows_fd);
    if (results->events_fd >= 0)
        close(results->events_fd);
    free(results->folder);
    *results = (struct results){.rows_fd = -1, .events_fd = -1};
}

static int close_one(int *fd, const char *folder, const char *name, struct text *why)
{
    int failed = close(*fd);
    *fd = -1;
    if (failed) {
        text_add(why, why->length > 0 ? "; " : "");
        refuse(why, "close", folder, name);
    }
    return failed;
}

int results_close(struct results *results, struct text *why)
{
    int failed = close_one(&results->events_fd, results->folder, "events.log", why);
    failed |= close_one(&results->rows_fd, results->folder, "rows.csv", why);
    results_drop(results);
    return failed;
}

/* --- adding ------------------------------------------------------------------------------- */

/* Someone else's hands on the file would make every later cut a wrong one. */
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
