#include "harness/workload/workload.h"

#include <string.h>

const struct workload *workload_find(const char *name)
{
    for (size_t i = 0; workloads[i]; i++)
        if (strcmp(workloads[i]->name, name) == 0)
            return workloads[i];
    return NULL;
}

int workload_check(const struct workload *workload, const struct point *point,
                   const void *options, struct text *why)
{
    return workload->check ? workload->check(point, options, why) : 0;
}
