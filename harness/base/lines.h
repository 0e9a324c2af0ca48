/* lines: a file line by line in bounded memory, NUL bytes and all. */
#ifndef HIGHWATER_BASE_LINES_H
#define HIGHWATER_BASE_LINES_H

#include "harness/base/text.h"

struct lines {
    int fd;
    char *buffer;
    size_t start, end, room; /* unread bytes are buffer[start, end) */
    bool at_end;
};
#define LINE_LONGEST (16u << 20) /* bytes */

enum line_kind {
    LINE_NONE,     /* the end */
    LINE_WHOLE,    /* its newline included */
    LINE_TORN,     /* the last one, without a newline */
    LINE_TOO_LONG, /* longer than LINE_LONGEST; do not go on */
    LINE_ERROR,    /* errno says what; do not go on */
};

int lines_open(struct lines *lines, const char *path, struct text *why) MUST_CHECK;
/* The bytes are valid until the next call. */
enum line_kind lines_next(struct lines *lines, const char **line, size_t *length) MUST_CHECK;
void lines_close(struct lines *lines);

#endif
