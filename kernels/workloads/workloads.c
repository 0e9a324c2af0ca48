#include "harness/workload/workload.h"

#include <string.h>

extern const struct workload workload_decoder, workload_dense;

const struct workload *const workloads[] = {&workload_dense, &workload_decoder, NULL};

const struct workload *workload_find(const char *name)
{
    for (size_t i = 0; workloads[i]; i++)
        if (strcmp(workloads[i]->name, name) == 0)
            return workloads[i];
    return NULL;
}
