#include "harness/memory/recorder.h"
#include "harness/base/file.h"
#include "harness/memory/rounding.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER 65536u

struct recorder {
    int fd; /* -1 after a write that failed: the recording ends there */
    char *path;
    uint64_t next_id;
    struct text pending;
};

int recorder_open(struct recorder **recorder, const char *path, struct text *why)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        text_addf(why, "cannot record to %s: %s", path, strerror(errno));
        return -1;
    }
    struct recorder *r = xcalloc(1, sizeof(*r));
    r->fd = fd;
    r->path = xstrdup(path);
    text_add(&r->pending, "op,id,bytes,stream,address,tag\n");
    *recorder = r;
    return 0;
}

/* A recording is a help, not the measurement: when the disk is full it ends, the run does not. */
static void flush(struct recorder *r)
{
    struct text ignored = TEXT_INIT;
    if (r->fd >= 0 &&
        file_write_all(r->fd, r->pending.data, r->pending.length, r->path, &ignored)) {
        close(r->fd);
        r->fd = -1;
    }
    text_release(&ignored);
    text_clear(&r->pending);
}

static void flush_when_full(struct recorder *r)
{
    if (r->pending.length >= BUFFER)
        flush(r);
}

void recorder_alloc(struct recorder *r, struct block *block, const char *tag)
{
    block->id = ++r->next_id;
    text_addf(&r->pending, "alloc,%" PRIu64 ",%" PRIu64 ",0,%" PRIu64 ",%s\n", block->id,
              block->requested, block->address, tag);
    flush_when_full(r);
}

void recorder_free(struct recorder *r, const struct block *block)
{
    text_addf(&r->pending, "free,%" PRIu64 ",,,,\n", block->id);
    flush_when_full(r);
}

void recorder_refused(struct recorder *r, uint64_t bytes)
{
    text_addf(&r->pending, "oom,,%" PRIu64 ",0,,\n", round_up(bytes, ROUNDING_MINIMUM));
    flush(r);
}

void recorder_mark(struct recorder *r, const char *op, const char *name)
{
    text_addf(&r->pending, "%s,%s,,,,\n", op, name ? name : "");
    flush(r);
}

void recorder_close(struct recorder *r)
{
    flush(r);
    if (r->fd >= 0)
        close(r->fd);
    text_release(&r->pending);
    free(r->path);
    free(r);
}
