/* counters: what a child measures in one phase; one list expands into struct, page and row. */
#ifndef HIGHWATER_PROTOCOL_COUNTERS_H
#define HIGHWATER_PROTOCOL_COUNTERS_H

#include "harness/base/reading.h"
#include "harness/record/row.h"

enum counter {
#define COUNTER(column, when) COUNTER_##column,
#include "harness/protocol/counters.def"
#undef COUNTER
    COUNTERS
};

struct counters {
    struct reading value[COUNTERS];
};

extern const enum column counter_column[COUNTERS];
enum counter_when { COUNTER_WHEN_ANY_TIME, COUNTER_WHEN_AT_END };
extern const enum counter_when counter_when[COUNTERS];
/* Sets the cells of all known counters. */
void counters_to_row(const struct counters *counters, struct row *row);

#endif
