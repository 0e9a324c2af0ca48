#include "harness/setting/dimension.h"

#include <string.h>

const struct dimension_fact dimension_facts[DIMENSIONS] = {
#define DIMENSION(name, unit, fallback, maximum, asked, meaning)                               \
    {#name, unit, meaning, COLUMN_##name},
#include "harness/record/dimension.def"
#undef DIMENSION
};

int dimension_find(const char *name)
{
    for (int i = 0; i < DIMENSIONS; i++)
        if (strcmp(dimension_facts[i].name, name) == 0)
            return i;
    return -1;
}

void point_to_row(const struct point *point, struct row *row)
{
    for (int i = 0; i < DIMENSIONS; i++)
        row_set_reading(row, dimension_facts[i].column, point->value[i]);
}
