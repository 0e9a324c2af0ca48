/* lines: the bytes of a study file as lines, with what is wrong about their form. Internal to
 * the study room.
 *
 * Form of a line, after blanks at both ends:
 *   nothing, or a comment that starts with ; or #
 *   [name]        blanks inside count as one space; only a comment may follow
 *   key = value   key of letters, digits, _ and -; the first = separates (: does not);
 *                 a blank followed by ; anywhere after the = begins a comment
 *
 * Everything is UTF-8 without control bytes; a byte-order mark may stand first; LF or CRLF.
 */
#ifndef HIGHWATER_STUDY_LINES_H
#define HIGHWATER_STUDY_LINES_H

#include "harness/base/text.h"

#define STUDY_FILE_LIMIT ((size_t)1 << 20) /* bytes of a study file */
#define STUDY_LINE_LIMIT ((size_t)65536)   /* bytes of a line without its end */
#define STUDY_NAME_LIMIT ((size_t)48)      /* bytes of a section's name, or a key */

enum line_kind { LINE_BLANK, LINE_SECTION, LINE_KEY, LINE_BAD };
struct line {
    enum line_kind kind;
    bool opens;           /* BAD: meant as a section, so that the keys below belong nowhere */
    size_t start, length; /* in the bytes, without the line's end */
    size_t value_start, value_length; /* KEY: the value, in the bytes */
    char *text;                       /* SECTION: name, KEY: key, BAD: reason; else NULL */
};
struct study_lines {
    struct line *line;
    size_t count;
};
void lines_scan(const struct text *bytes, struct study_lines *lines);
void lines_release(struct study_lines *lines);
/* A name as it stands in a [section]: outer blanks dropped, inner ones one space each. */
char *section_name(const char *bytes, size_t length) MUST_CHECK;

#endif
