#include "kernels/backends.h"

#include <string.h>

const char *const backend_names[] = {"cuda", "simulated", "host", NULL};

const struct backend backends[] = {
#ifdef HIGHWATER_WITH_CUDA
    {.device = &device_cuda, .ops = &ops_cuda},
#endif
    {.device = &device_simulated},
    {.device = &device_host, .ops = &ops_host},
    {.device = NULL},
};

const struct backend *backend_find(const char *name)
{
    for (const struct backend *backend = backends; backend->device; backend++)
        if (strcmp(backend->device->name, name) == 0)
            return backend;
    return NULL;
}
