/* dimension: the quantities a study may vary, and a point: one value for each of them. */
#ifndef HIGHWATER_SETTING_DIMENSION_H
#define HIGHWATER_SETTING_DIMENSION_H

#include "harness/base/reading.h"
#include "harness/record/row.h"

enum dimension {
#define DIMENSION(name, ...) DIMENSION_##name,
#include "harness/record/dimension.def"
#undef DIMENSION
    DIMENSIONS
};

struct dimension_fact {
    const char *name, *unit, *meaning;
    enum column column; /* where the value stands in a row */
};
extern const struct dimension_fact dimension_facts[DIMENSIONS];

/* A dimension that the workload does not have is missing, and its cell stays empty. */
struct point {
    struct reading value[DIMENSIONS];
};

/* The dimension of this name, or -1. */
int dimension_find(const char *name);
void point_to_row(const struct point *point, struct row *row);

#endif
