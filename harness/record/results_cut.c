#include "harness/record/results.h"

#include "harness/base/file.h"
#include "harness/record/results_files.h"
#include "harness/record/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536

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

static int cut(struct results *results, uint64_t good_end, struct text *why)
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

int results_cut(struct results *results, uint64_t end, bool keep, struct text *said,
                struct text *why)
{
    if (keep && (count_runs(results->folder, end, said, why) != 0 ||
                 set_aside(results, end, said, why) != 0))
        return -1;
    return cut(results, end, why);
}
