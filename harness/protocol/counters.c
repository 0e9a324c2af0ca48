#include "harness/protocol/counters.h"

const enum column counter_column[COUNTERS] = {
#define COUNTER(column, when) COLUMN_##column,
#include "harness/protocol/counters.def"
#undef COUNTER
};

const enum counter_when counter_when[COUNTERS] = {
#define COUNTER(column, when) COUNTER_WHEN_##when,
#include "harness/protocol/counters.def"
#undef COUNTER
};

void counters_to_row(const struct counters *counters, struct row *row)
{
    for (int i = 0; i < COUNTERS; i++)
        if (counters->value[i].known)
            row_set_count(row, counter_column[i], counters->value[i].value);
}
