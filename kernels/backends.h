/* backends: a device together with the arithmetic that runs on it; a row each.
 *
 * Programs that link no CUDA get simulated and host; highwater-workload gets cuda too when it
 * was built with a CUDA toolkit.
 */
#ifndef HIGHWATER_KERNELS_BACKENDS_H
#define HIGHWATER_KERNELS_BACKENDS_H

#include "kernels/ops.h"

struct backend {
    const struct device_ops *device;
    const struct ops *ops; /* NULL on the simulated device: no arithmetic */
};
/* NULL: not in this program (the caller says which program or build has it). */
const struct backend *backend_find(const char *name);
/* The rows, ended by one whose device is NULL. */
extern const struct backend backends[];
/* Names of all backends that any build has, in the order of the contract; NULL-terminated. */
extern const char *const backend_names[];

#endif
