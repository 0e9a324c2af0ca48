/* table_header: the first line of a table, ours or another; for table.c. */
#ifndef HIGHWATER_RECORD_TABLE_HEADER_H
#define HIGHWATER_RECORD_TABLE_HEADER_H

#include "harness/base/text.h"

/* Says where a header that is not ours differs first. */
void header_explain(const char *line, size_t length, struct text *why);
/* The number of columns of a header that is ours or an older one of ours; 0: it is not. */
int header_columns(const char *line, size_t length, bool allow_older) MUST_CHECK;
/* The start of our header without an end: the file was cut before its first row. */
bool header_is_torn(const char *line, size_t length) MUST_CHECK;

#endif
