/* line: a verb and a row's non-empty cells as one line of text.
 *
 *     verb <TAB> column=value <TAB> column=value … <LF>
 *
 * The language of phase files and shards: one write(2) a line, so that a line is whole or torn,
 * never mixed; a reader ignores a last line without its newline. Values are escaped (tab,
 * newline, backslash, control bytes), columns are those of columns.def, unknown columns are
 * skipped so that a newer speaker can be read. A text of several lines or of no valid UTF-8
 * becomes its escaped form, of at most 500 bytes.
 */
#ifndef HIGHWATER_RECORD_LINE_H
#define HIGHWATER_RECORD_LINE_H

#include "harness/record/row.h"

void line_format(struct text *out, const char *verb, const struct row *row);
/* One write(2) to a descriptor opened with O_APPEND; row may be NULL. -1: reason in why. */
int line_append(int fd, const char *verb, const struct row *row, struct text *why) MUST_CHECK;
/* Parses one line (without its newline). The verb is at most 15 bytes of a-z and _. `row` must
 * be initialised; its cells are replaced. -1: not such a line. */
int line_parse(const char *line, size_t length, char verb[16], struct row *row) MUST_CHECK;
/* Calls `each` for every complete, parseable line of a file's contents, in order; lines that
 * are not such lines are counted in the result. `row` lives during the call only. */
size_t line_each(const struct text *contents,
                 void (*each)(void *user, const char *verb, const struct row *row), void *user);

#endif
