/* nvml: the card from outside, through libnvidia-ml.so.1 opened at run time (nvml.c alone knows
 * its ABI). Puts nothing on a card. Everything it cannot tell is missing.
 */
#ifndef HIGHWATER_NVML_NVML_H
#define HIGHWATER_NVML_NVML_H

#include "harness/base/reading.h"
#include "harness/base/text.h"

#include <stddef.h>

struct nvml; /* the opened library */

struct nvml_device {
    void *handle;
    uint64_t index; /* NVML's; of a MIG instance: its card's */
    char name[96];
    char uuid[96];    /* GPU-… or MIG-… */
    char pci[32];     /* 00000000:3B:00.0; of a MIG instance: its card's */
    char parent[96];  /* of a MIG instance: the card's UUID; else "" */
    bool partitioned; /* a card cut into MIG instances: programs get those, not the card */
};
struct nvml_memory {
    /* total = reserved + used + free: what driver and firmware keep for themselves is not used.
     * Old drivers do not tell `reserved`; it is missing then, and part of `used`. */
    struct reading total, used, free, reserved;
};
struct nvml_process {
    uint64_t pid;
    struct reading used;
};

/* -1: there is no library or driver; the reason says which. */
int nvml_open(struct nvml **nvml, struct text *why) MUST_CHECK;
void nvml_close(struct nvml *nvml);
/* All devices in PCI bus order, MIG instances behind their card; the caller frees. */
int nvml_devices(struct nvml *nvml, struct nvml_device **devices, size_t *count,
                 struct text *why) MUST_CHECK;
int nvml_by_uuid(struct nvml *nvml, const char *uuid, struct nvml_device *device,
                 struct text *why) MUST_CHECK;
/* -1: the device does not answer; *lost when it is gone for good. */
int nvml_read_memory(struct nvml *nvml, const struct nvml_device *device,
                     struct nvml_memory *memory, bool *lost, struct text *why) MUST_CHECK;
/* Compute and graphics processes, at most `room`; *known false when the driver does not tell.
 * -1: the device does not answer. */
int nvml_processes(struct nvml *nvml, const struct nvml_device *device,
                   struct nvml_process *processes, size_t room, size_t *count,
                   bool *known) MUST_CHECK;
const char *nvml_driver_version(struct nvml *nvml); /* "" unknown */
/* "on", "off" or "" */
const char *nvml_ecc(struct nvml *nvml, const struct nvml_device *device);
const char *nvml_mig(struct nvml *nvml, const struct nvml_device *device);
/* "default", "prohibited", "exclusive-process" or "" */
const char *nvml_compute_mode(struct nvml *nvml, const struct nvml_device *device);

#endif
