#include "harness/trace/recorder.h"
#include "harness/base/file.h"
#include "harness/allocator/rounding.h"
#include "harness/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER 65536u

/* A file that is written now and then. */
struct sheet {
    int fd; /* -1 after a write that failed: it ends there */
    char *path;
    struct text pending;
};

struct recorder {
    struct sheet trace, segments;
    uint64_t next_id, lines; /* the latter: of the trace, its header not counted */
};

static int sheet_open(struct sheet *sheet, char *path, const char *header, struct text *why)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        text_addf(why, "cannot record to %s: %s", path, strerror(errno));
        free(path);
        return -1;
    }
    *sheet = (struct sheet){.fd = fd, .path = path};
    text_add(&sheet->pending, header);
    return 0;
}

/* A recording is a help, not the measurement: when the disk is full it ends, the run does
 * not. */
static void sheet_flush(struct sheet *sheet)
{
    if (sheet->fd >= 0 && file_write_all(sheet->fd, sheet->pending.data, sheet->pending.length,
                                         sheet->path, NULL)) {
        close(sheet->fd);
        sheet->fd = -1;
    }
    text_clear(&sheet->pending);
}

static void sheet_close(struct sheet *sheet)
{
    sheet_flush(sheet);
    if (sheet->fd >= 0)
        close(sheet->fd);
    text_release(&sheet->pending);
    free(sheet->path);
}

int recorder_open(struct recorder **recorder, const char *path, struct text *why)
{
    struct recorder *r = xcalloc(1, sizeof(*r));
    if (sheet_open(&r->trace, xstrdup(path), "op,id,bytes,stream,address,tag\n", why)) {
        free(r);
        return -1;
    }
    if (sheet_open(&r->segments, trace_segments_path(path),
                   "after_trace_line,action,bytes,stream,address\n", why)) {
        unlink(path);
        sheet_close(&r->trace);
        free(r);
        return -1;
    }
    *recorder = r;
    return 0;
}

static void flush(struct recorder *r)
{
    sheet_flush(&r->segments); /* first: a trace that was cut off has all its segments */
    sheet_flush(&r->trace);
}

static void end_line(struct recorder *r)
{
    r->lines++;
    if (r->trace.pending.length >= BUFFER)
        flush(r);
}

void recorder_alloc(struct recorder *r, struct block *block, const char *tag)
{
    block->id = ++r->next_id;
    text_addf(&r->trace.pending, "alloc,%" PRIu64 ",%" PRIu64 ",0,%" PRIu64 ",%s\n", block->id,
              block->requested, block->address, tag);
    end_line(r);
}

void recorder_free(struct recorder *r, const struct block *block)
{
    text_addf(&r->trace.pending, "free,%" PRIu64 ",,,,\n", block->id);
    end_line(r);
}

void recorder_hear(void *recorder, const struct segment_event *event)
{
    struct recorder *r = recorder;
    text_addf(&r->segments.pending, "%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
              r->lines, segment_action_names[event->action], event->bytes, event->stream,
              event->address);
}

void recorder_refused(struct recorder *r, uint64_t bytes)
{
    text_addf(&r->trace.pending, "oom,,%" PRIu64 ",0,,\n", round_up(bytes, ROUNDING_MINIMUM));
    end_line(r);
    flush(r);
}

void recorder_mark(struct recorder *r, const char *op, const char *name)
{
    text_addf(&r->trace.pending, "%s,%s,,,,\n", op, name ? name : "");
    end_line(r);
    flush(r);
}

void recorder_close(struct recorder *r)
{
    sheet_close(&r->segments);
    sheet_close(&r->trace);
    free(r);
}
