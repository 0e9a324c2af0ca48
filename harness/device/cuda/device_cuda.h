/* device_cuda: what the CUDA arithmetic needs to know of the device that it runs on. */
#ifndef HIGHWATER_DEVICE_CUDA_DEVICE_CUDA_H
#define HIGHWATER_DEVICE_CUDA_DEVICE_CUDA_H

#include "harness/device/device.h"

/* The one stream (a cudaStream_t) on which everything of this device is queued. */
void *device_cuda_stream(const struct device *device);
/* The outcome of a runtime call that returned `code` (a cudaError_t); clears a refusal from the
 * runtime's memory. After the first failure that is no refusal the context is broken, and
 * nothing is called a refusal any more. */
enum outcome device_cuda_outcome(struct device *device, int code, const char *call);
/* A failure of a library that has codes of its own. */
enum outcome device_cuda_failed(struct device *device, const char *call, const char *reason);
/* Would the device give this much right now? Tries it. */
bool device_cuda_could_give(struct device *device, uint64_t bytes);

#endif
