/* table: rows as CSV (RFC 4180, UTF-8, LF, header first); table.c alone knows libcsv.
 *
 * Numbers are plain; text is quoted, and a text that a spreadsheet would take for a formula, a
 * number or a time gets one leading apostrophe, which reading takes away again: what highwater
 * wrote it reads back equal.
 */
#ifndef HIGHWATER_RECORD_TABLE_H
#define HIGHWATER_RECORD_TABLE_H

#include "harness/record/row.h"

#include <stdint.h>

void table_add_header(struct text *out);
void table_add_row(struct text *out, const struct row *row);

/* Reads a table strictly. `each` gets every row and the byte offset behind it; return false to
 * stop. The header must be exactly ours, or a prefix of ours (an older file: later columns
 * stay empty) when `allow_older`. Stops at the first row that is torn, has another number of
 * fields, a NUL, an ill-typed cell or an unknown status: good_end is then the offset behind
 * the last good row (0: the header itself is torn), torn is true and 0 is returned. -1: not
 * our table, or unreadable. */
struct table_reading {
    uint64_t header_end, good_end; /* bytes */
    bool torn;
    bool at_end; /* torn because the file ends in the middle of a line */
    uint64_t rows;
    struct text reason; /* of the tear; the caller releases */
};
int table_read(const char *path, bool allow_older,
               bool (*each)(void *user, const struct row *row, uint64_t end_offset), void *user,
               struct table_reading *reading, struct text *why) MUST_CHECK;

/* From byte `from` of such a file on, every row that can be read, whatever lies between. */
int table_pick(const char *path, uint64_t from, void (*each)(void *user, const struct row *row),
               void *user, struct text *why) MUST_CHECK;

/* CSV of anything else (replay, columns): plain quoting helpers over the same library. */
void csv_add_text(struct text *out, const char *value); /* quoted, guarded, nothing hidden */
void csv_add_cell(struct text *out, const char *value); /* the same without the quotes */
void csv_add_count(struct text *out, uint64_t value);
/* Reads any CSV: `each` gets every record; fields are NUL-terminated, valid during the call,
 * the guard's apostrophe still on them. Returning -1 from `each` stops, without a reason of
 * ours. *line (1-based) is where the record of an error begins. */
int csv_read(const char *path,
             int (*each)(void *user, char **fields, size_t count, uint64_t line), void *user,
             uint64_t *line, struct text *why) MUST_CHECK;

#endif
