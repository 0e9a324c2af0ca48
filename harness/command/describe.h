/* describe: what this build of highwater-workload is made of, as JSON. */
#ifndef HIGHWATER_COMMAND_DESCRIBE_H
#define HIGHWATER_COMMAND_DESCRIBE_H

#include "harness/base/text.h"

#include <stdbool.h>

/* {"program_version", "backends": [names], "cuda_version", "cublas_version", "built_for":
 * [arch]}, null where there is no CUDA. Touches no device, unless `measure`: then cuda device 0
 * and its libraries are opened and "device" is {"name", "uuid", "pci", "total_bytes",
 * "free_bytes" (with both opened), "context_bytes" (what both took, by NVML; null where it does
 * not tell)}. -1: there is no such device, or it could not be opened. */
int describe_build(bool measure, struct text *out, struct text *why) MUST_CHECK;

#endif
