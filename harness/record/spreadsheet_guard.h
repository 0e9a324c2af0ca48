/* spreadsheet_guard: would a spreadsheet take this text for something else? */
#ifndef HIGHWATER_RECORD_SPREADSHEET_GUARD_H
#define HIGHWATER_RECORD_SPREADSHEET_GUARD_H

#include <stdbool.h>

/* True for what begins like a formula (= + - @ tab carriage return, or the apostrophe that is
 * itself the guard) and for what could be read as a number, a date, a time, a truth value or a
 * missing value in some language's settings. Errs on the side of true. */
bool guard_needed(const char *value);

#endif
