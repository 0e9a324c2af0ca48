/* devices: which cards a study uses: physical PCI order, cut by the caller's
 * CUDA_VISIBLE_DEVICES (parsed as CUDA parses it) and by `[launch] devices`.
 */
#ifndef HIGHWATER_NVML_DEVICES_H
#define HIGHWATER_NVML_DEVICES_H

#include "harness/nvml/nvml.h"
#include "harness/record/row.h"

struct device_list {
    struct nvml_device *devices; /* one per rank when listed twice; shared[] marks them */
    bool *shared;
    size_t count;
};
/* `all` as nvml_devices gives them. `visible` and `order`: values of CUDA_VISIBLE_DEVICES and
 * CUDA_DEVICE_ORDER, NULL when unset. `wanted`: all, or physical indices and UUIDs (also unique
 * beginnings of them) separated by commas. -1: none is left, or one is not to be had. */
int devices_choose(const struct nvml_device *all, size_t all_count, const char *visible,
                   const char *order, const char *wanted, struct device_list *list,
                   struct text *why) MUST_CHECK;
void device_list_release(struct device_list *list);
/* Name, UUID, PCI address and NVML index into their cells. */
void device_to_row(const struct nvml_device *device, struct row *row);

#endif
