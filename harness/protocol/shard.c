#include "harness/protocol/shard.h"
#include "harness/base/file.h"
#include "harness/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONGEST (256u << 20) /* bytes; a rank that writes more is broken */

static char *path_of(const char *folder, const char *name, uint64_t rank)
{
    return xasprintf("%s/%s.%llu", folder, name, (unsigned long long)rank);
}

char *shard_path(const char *run_folder, uint64_t rank)
{
    return path_of(run_folder, "shard", rank);
}

char *shard_error_path(const char *run_folder, uint64_t rank)
{
    return path_of(run_folder, "stderr", rank);
}

char *shard_phases_path(const char *live_folder, uint64_t rank)
{
    return path_of(live_folder, "phases", rank);
}

char *shard_trace_path(const char *run_folder, uint64_t rank)
{
    return xasprintf("%s/trace.%llu.csv", run_folder, (unsigned long long)rank);
}

void shard_drop_trace(const char *run_folder, uint64_t rank)
{
    char *trace = shard_trace_path(run_folder, rank);
    char *segments = trace_segments_path(trace);
    unlink(trace);
    unlink(segments);
    free(trace);
    free(segments);
}

char *shard_live_path(const char *live_folder, uint64_t rank)
{
    return path_of(live_folder, "live", rank);
}

int shard_create(const char *path, struct text *why)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        text_addf(why, "%s: %s", path, strerror(errno));
    return fd;
}

int shard_finish(int fd, const struct row *rows, size_t count, struct text *why)
{
    for (size_t i = 0; i < count; i++)
        if (line_append(fd, "row", &rows[i], why) != 0)
            return -1;
    if (line_append(fd, "complete", NULL, why) != 0)
        return -1;
    if (fsync(fd) == 0) /* a network file system may report a failed write only here */
        return 0;
    return text_fail(why, "cannot sync a shard: %s", strerror(errno));
}

static bool rows_have_status(const struct shard *shard)
{
    for (size_t i = 0; i < shard->count; i++)
        if (row_status(&shard->rows[i]) < 0)
            return false;
    return true;
}

/* `complete` is the last line, behind a closing row that is the only one. */
static void on_line(void *user, const char *verb, const struct row *row)
{
    struct shard *shard = user;
    shard->complete = false;
    if (strcmp(verb, "start") == 0 || strcmp(verb, "begin") == 0) {
        shard->started = true;
        shard->begun = shard->begun || strcmp(verb, "begin") == 0;
        row_copy(&shard->about, row);
    } else if (strcmp(verb, "row") == 0) {
        struct row *copy = GROW(shard->rows, shard->count);
        *copy = (struct row)ROW_INIT;
        row_copy(copy, row);
        shard->closed += row_is_closing(row);
    } else if (strcmp(verb, "complete") == 0) {
        shard->complete = shard->closed == 1 && rows_have_status(shard) &&
                          row_is_closing(&shard->rows[shard->count - 1]);
    }
}

int shard_read(const char *path, struct shard *shard, struct text *why)
{
    struct shard read = {.about = ROW_INIT};
    struct text contents = TEXT_INIT;
    if (file_exists(path)) {
        if (file_read(path, LONGEST, &contents, why) != 0)
            return -1;
        if (line_each(&contents, on_line, &read) > 0)
            read.complete = false; /* a damaged line may have been any of these */
    }
    text_release(&contents);
    *shard = read;
    return 0;
}

void shard_release(struct shard *shard)
{
    row_release(&shard->about);
    for (size_t i = 0; i < shard->count; i++)
        row_release(&shard->rows[i]);
    free(shard->rows);
    *shard = (struct shard){.about = ROW_INIT};
}
