#include "harness/base/lines.h"

#include "harness/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536

int lines_open(struct lines *lines, const char *path, struct text *why)
{
    *lines = (struct lines){.fd = file_open(path, why)};
    return lines->fd >= 0 ? 0 : -1;
}

void lines_close(struct lines *lines)
{
    close(lines->fd);
    free(lines->buffer);
}

/* More bytes behind those that are there; false on an error. */
static bool lines_fill(struct lines *lines)
{
    if (lines->start > 0) {
        memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->start = 0;
    }
    if (lines->room - lines->end < CHUNK) {
        lines->room += CHUNK + lines->room;
        lines->buffer = xrealloc(lines->buffer, lines->room);
    }
    ssize_t got;
    do
        got = read(lines->fd, lines->buffer + lines->end, CHUNK);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return false;
    lines->at_end = got == 0;
    lines->end += (size_t)got;
    return true;
}

enum line_kind lines_next(struct lines *lines, const char **line, size_t *length)
{
    size_t looked = 0;
    for (;;) {
        size_t have = lines->end - lines->start;
        const char *from = have > 0 ? lines->buffer + lines->start : "";
        const char *newline = have > looked ? memchr(from + looked, '\n', have - looked) : NULL;
        bool whole = newline != NULL;
        *line = from;
        *length = whole ? (size_t)(newline - from) + 1 : have;
        if (*length > LINE_LONGEST)
            return LINE_TOO_LONG;
        if (whole) {
            lines->start += *length;
            return LINE_WHOLE;
        }
        if (lines->at_end) {
            lines->start = lines->end;
            return have > 0 ? LINE_TORN : LINE_NONE;
        }
        looked = have;
        if (!lines_fill(lines))
            return LINE_ERROR;
    }
}
