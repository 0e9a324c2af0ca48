/* devices: which cards a study uses: physical PCI order, cut by the caller's
 * CUDA_VISIBLE_DEVICES (parsed as CUDA parses it) and by `[launch] devices`.
 */
#ifndef HIGHWATER_NVML_DEVICES_H
#define HIGHWATER_NVML_DEVICES_H

#include "harness/nvml/nvml.h"
#include "harness/record/row.h"

/* The devices chosen of `all` (as nvml_devices gives them), one as often as it is listed; the
 * caller frees. `visible` and `order`: values of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER,
 * NULL when unset. `wanted`: all, or physical indices and UUIDs (also unique beginnings of
 * them) separated by commas. -1: none is left, or one is not to be had. */
int devices_choose(const struct nvml_device *all, size_t all_count, const char *visible,
                   const char *order, const char *wanted, struct nvml_device **chosen,
                   size_t *count, struct text *why) MUST_CHECK;
/* The same of all that NVML knows, for the variables of our own environment. */
int devices_find(struct nvml *nvml, const char *wanted, struct nvml_device **chosen,
                 size_t *count, struct text *why) MUST_CHECK;
/* Name, UUID, PCI address and NVML index into their cells. */
void device_to_row(const struct nvml_device *device, struct row *row);

#endif
