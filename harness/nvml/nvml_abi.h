/* nvml_abi: the part of NVML's binary interface that nvml.c uses.
 *
 * Layouts are those of nvml.h since driver 470: devices are opaque pointers, structs that grew
 * carry their version.
 */
#ifndef HIGHWATER_NVML_NVML_ABI_H
#define HIGHWATER_NVML_NVML_ABI_H

enum {
    NVML_OK = 0,
    NVML_UNINITIALIZED = 1,
    NVML_NOT_SUPPORTED = 3,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_GPU_NOT_FOUND = 28,
    NVML_UNKNOWN = 999,
};
struct abi_memory {
    unsigned long long total, free, used;
};
struct abi_memory_v2 {
    unsigned int version;
    unsigned long long total, reserved, free, used;
};
#define MEMORY_V2 ((unsigned int)(sizeof(struct abi_memory_v2) | (2u << 24)))
struct abi_pci {
    char legacy[16];
    unsigned int domain, bus, device, pci_device, pci_subsystem;
    char bus_id[32];
};
struct abi_process_v1 {
    unsigned int pid;
    unsigned long long used;
};
struct abi_process {
    unsigned int pid;
    unsigned long long used;
    unsigned int gpu_instance, compute_instance;
};
#define USED_NOT_AVAILABLE (~0ull)

struct calls {
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int);
    int (*driver_version)(char *, unsigned int);
    int (*count)(unsigned int *);
    int (*by_index)(unsigned int, void **);
    int (*by_uuid)(const char *, void **);
    int (*index)(void *, unsigned int *);
    int (*name)(void *, char *, unsigned int);
    int (*uuid)(void *, char *, unsigned int);
    int (*pci)(void *, struct abi_pci *);
    int (*memory)(void *, struct abi_memory *);
    int (*memory_v2)(void *, struct abi_memory_v2 *);
    int (*compute)(void *, unsigned int *, struct abi_process *);
    int (*compute_v1)(void *, unsigned int *, struct abi_process_v1 *);
    int (*graphics)(void *, unsigned int *, struct abi_process *);
    int (*graphics_v1)(void *, unsigned int *, struct abi_process_v1 *);
    int (*ecc)(void *, unsigned int *, unsigned int *);
    int (*mig)(void *, unsigned int *, unsigned int *);
    int (*mig_most)(void *, unsigned int *);
    int (*mig_by_index)(void *, unsigned int, void **);
    int (*mig_card)(void *, void **);
    int (*compute_mode)(void *, unsigned int *);
};

#endif
