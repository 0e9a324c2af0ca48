#include "harness/nvml/nvml.h"
#include "harness/nvml/nvml_abi.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define PROCESS_ROOM 256u

static const struct symbol {
    const char *name;
    size_t offset;
    bool optional;     /* a driver may lack it: what it tells is then missing */
    const char *older; /* the same call with the same layout in older drivers */
} symbols[] = {
#define AT(field) offsetof(struct calls, field)
    {"nvmlInit_v2", AT(init), false, NULL},
    {"nvmlShutdown", AT(shutdown), false, NULL},
    {"nvmlErrorString", AT(error_string), false, NULL},
    {"nvmlSystemGetDriverVersion", AT(driver_version), true, NULL},
    {"nvmlDeviceGetCount_v2", AT(count), false, NULL},
    {"nvmlDeviceGetHandleByIndex_v2", AT(by_index), false, NULL},
    {"nvmlDeviceGetHandleByUUID", AT(by_uuid), false, NULL},
    {"nvmlDeviceGetIndex", AT(index), false, NULL},
    {"nvmlDeviceGetName", AT(name), false, NULL},
    {"nvmlDeviceGetUUID", AT(uuid), false, NULL},
    {"nvmlDeviceGetPciInfo_v3", AT(pci), false, NULL},
    {"nvmlDeviceGetMemoryInfo", AT(memory), false, NULL},
    {"nvmlDeviceGetMemoryInfo_v2", AT(memory_v2), true, NULL},
    {"nvmlDeviceGetComputeRunningProcesses_v3", AT(compute), true,
     "nvmlDeviceGetComputeRunningProcesses_v2"},
    {"nvmlDeviceGetComputeRunningProcesses", AT(compute_v1), true, NULL},
    {"nvmlDeviceGetGraphicsRunningProcesses_v3", AT(graphics), true,
     "nvmlDeviceGetGraphicsRunningProcesses_v2"},
    {"nvmlDeviceGetGraphicsRunningProcesses", AT(graphics_v1), true, NULL},
    {"nvmlDeviceGetEccMode", AT(ecc), true, NULL},
    {"nvmlDeviceGetMigMode", AT(mig), true, NULL},
    {"nvmlDeviceGetMaxMigDeviceCount", AT(mig_most), true, NULL},
    {"nvmlDeviceGetMigDeviceHandleByIndex", AT(mig_by_index), true, NULL},
    {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle", AT(mig_card), true, NULL},
    {"nvmlDeviceGetComputeMode", AT(compute_mode), true, NULL},
#undef AT
};

struct nvml {
    void *library;
    struct calls call;
    char driver_version[96];
};

static int failed(const struct nvml *nvml, const char *what, int code, struct text *why)
{
    const char *said = nvml->call.error_string(code);
    return text_fail(why, "NVML %s: %s (%d)", what, said != NULL ? said : "?", code);
}

static int resolve(struct nvml *nvml, struct text *why)
{
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(nvml->library, symbols[i].name);
        if (address == NULL && symbols[i].older != NULL)
            address = dlsym(nvml->library, symbols[i].older);
        if (address == NULL && !symbols[i].optional)
            return text_fail(why, "libnvidia-ml.so.1 has no %s: the driver is too old",
                             symbols[i].name);
        memcpy((char *)&nvml->call + symbols[i].offset, &address, sizeof address);
    }
    return 0;
}

int nvml_open(struct nvml **out, struct text *why)
{
    struct nvml *nvml = xcalloc(1, sizeof *nvml);
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL) {
        text_add(why, "no NVIDIA driver: libnvidia-ml.so.1 not found");
        free(nvml);
        return -1;
    }
    if (resolve(nvml, why) != 0)
        goto fail;
    int code = nvml->call.init();
    if (code != NVML_OK) {
        (void)failed(nvml, "does not start", code, why);
        goto fail;
    }
    if (nvml->call.driver_version == NULL ||
        nvml->call.driver_version(nvml->driver_version, sizeof nvml->driver_version) != NVML_OK)
        nvml->driver_version[0] = '\0';
    *out = nvml;
    return 0;
fail:
    dlclose(nvml->library);
    free(nvml);
    return -1;
}

void nvml_close(struct nvml *nvml)
{
    if (nvml == NULL)
        return;
    nvml->call.shutdown();
    dlclose(nvml->library);
    free(nvml);
}

/* --- which devices --- */

static int describe(struct nvml *nvml, void *handle, struct nvml_device *device,
                    struct text *why)
{
    struct nvml_device found = {.handle = handle};
    void *card = handle; /* index and address are told for cards only */
    void *parent = NULL;
    if (nvml->call.mig_card != NULL && nvml->call.mig_card(handle, &parent) == NVML_OK &&
        parent != NULL && parent != handle) {
        card = parent;
        if (nvml->call.uuid(parent, found.parent, sizeof found.parent) != NVML_OK)
            found.parent[0] = '\0';
    }
    int code = nvml->call.uuid(handle, found.uuid, sizeof found.uuid);
    if (code != NVML_OK)
        return failed(nvml, "device UUID", code, why);
    unsigned int index = 0;
    code = nvml->call.index(card, &index);
    if (code != NVML_OK)
        return failed(nvml, "device index", code, why);
    found.index = index;
    struct abi_pci pci = {.bus_id = ""};
    code = nvml->call.pci(card, &pci);
    if (code != NVML_OK)
        return failed(nvml, "PCI address", code, why);
    memcpy(found.pci, pci.bus_id, sizeof found.pci);
    found.pci[sizeof found.pci - 1] = '\0';
    if (nvml->call.name(handle, found.name, sizeof found.name) != NVML_OK &&
        nvml->call.name(card, found.name, sizeof found.name) != NVML_OK)
        found.name[0] = '\0';
    *device = found;
    return 0;
}

static void append(struct nvml_device **devices, size_t *count, const struct nvml_device *one)
{
    *GROW(*devices, *count) = *one;
}

static void append_instances(struct nvml *nvml, struct nvml_device **devices, size_t *count)
{
    struct nvml_device *card = &(*devices)[*count - 1];
    unsigned int most = 0;
    if (strcmp(nvml_mig(nvml, card), "on") != 0)
        return;
    card->partitioned = true;
    void *handle = card->handle;
    if (nvml->call.mig_most == NULL || nvml->call.mig_by_index == NULL ||
        nvml->call.mig_most(handle, &most) != NVML_OK)
        return;
    for (unsigned int i = 0; i < most; i++) {
        struct nvml_device instance;
        void *part = NULL;
        if (nvml->call.mig_by_index(handle, i, &part) == NVML_OK &&
            describe(nvml, part, &instance, NULL) == 0) /* else it has vanished */
            append(devices, count, &instance);
    }
}

static int by_address(const void *a, const void *b)
{
    const struct nvml_device *left = a, *right = b;
    int order = strcmp(left->pci, right->pci);
    if (order == 0) /* a card, then its instances as NVML numbers them */
        order = (left->parent[0] != '\0') - (right->parent[0] != '\0');
    return order != 0 ? order : strcmp(left->uuid, right->uuid);
}

int nvml_devices(struct nvml *nvml, struct nvml_device **devices, size_t *count,
                 struct text *why)
{
    unsigned int cards = 0;
    int code = nvml->call.count(&cards);
    if (code != NVML_OK)
        return failed(nvml, "device count", code, why);
    struct nvml_device *all = NULL;
    size_t found = 0;
    for (unsigned int i = 0; i < cards; i++) {
        void *handle = NULL;
        struct nvml_device device;
        code = nvml->call.by_index(i, &handle);
        if (code != NVML_OK || describe(nvml, handle, &device, why) != 0) {
            if (code != NVML_OK)
                (void)failed(nvml, "device by index", code, why);
            free(all);
            return -1;
        }
        append(&all, &found, &device);
        append_instances(nvml, &all, &found);
    }
    if (found > 1)
        qsort(all, found, sizeof *all, by_address);
    *devices = all;
    *count = found;
    return 0;
}

int nvml_by_uuid(struct nvml *nvml, const char *uuid, struct nvml_device *device,
                 struct text *why)
{
    void *handle = NULL;
    int code = nvml->call.by_uuid(uuid, &handle);
    if (code != NVML_OK) {
        text_addf(why, "%s: ", uuid);
        return failed(nvml, "device by UUID", code, why);
    }
    return describe(nvml, handle, device, why);
}

/* --- what a device says --- */

static bool is_gone(int code)
{
    return code == NVML_GPU_IS_LOST || code == NVML_RESET_REQUIRED ||
           code == NVML_GPU_NOT_FOUND || code == NVML_UNKNOWN || code == NVML_UNINITIALIZED;
}

int nvml_read_memory(struct nvml *nvml, const struct nvml_device *device,
                     struct nvml_memory *memory, bool *lost, struct text *why)
{
    struct abi_memory_v2 second = {.version = MEMORY_V2};
    if (nvml->call.memory_v2 != NULL &&
        nvml->call.memory_v2(device->handle, &second) == NVML_OK) {
        /* Drivers differ in whether `used` holds the reserve; the other three agree. */
        bool sane =
            second.reserved <= second.total && second.free <= second.total - second.reserved;
        memory->total = reading_of(second.total);
        memory->reserved = sane ? reading_of(second.reserved) : reading_missing();
        memory->free = reading_of(second.free);
        memory->used =
            reading_of(sane ? second.total - second.reserved - second.free : second.used);
        return 0;
    }
    struct abi_memory first = {.total = 0};
    int code = nvml->call.memory(device->handle, &first);
    if (code != NVML_OK) {
        *lost = is_gone(code);
        return failed(nvml, "memory of the device", code, why);
    }
    memory->total = reading_of(first.total);
    memory->free = reading_of(first.free);
    memory->used = reading_of(first.used);
    memory->reserved = reading_missing();
    return 0;
}

struct process_call {
    int (*newest)(void *, unsigned int *, struct abi_process *);
    int (*old)(void *, unsigned int *, struct abi_process_v1 *);
};

static int list_processes(const struct process_call *call, void *handle,
                          struct abi_process *found, unsigned int *count)
{
    *count = PROCESS_ROOM;
    if (call->newest != NULL)
        return call->newest(handle, count, found);
    if (call->old == NULL)
        return NVML_NOT_SUPPORTED;
    struct abi_process_v1 old[PROCESS_ROOM];
    int code = call->old(handle, count, old);
    for (unsigned int i = 0; code == NVML_OK && i < *count && i < PROCESS_ROOM; i++)
        found[i] = (struct abi_process){.pid = old[i].pid, .used = old[i].used};
    return code;
}

static void add_process(struct nvml_process *processes, size_t room, size_t *count,
                        const struct abi_process *one)
{
    struct reading used =
        one->used == USED_NOT_AVAILABLE ? reading_missing() : reading_of(one->used);
    for (size_t i = 0; i < *count; i++)
        if (processes[i].pid == one->pid) { /* compute and graphics: one figure, told twice */
            processes[i].used = reading_max(processes[i].used, used);
            return;
        }
    if (*count < room)
        processes[(*count)++] = (struct nvml_process){.pid = one->pid, .used = used};
}

int nvml_processes(struct nvml *nvml, const struct nvml_device *device,
                   struct nvml_process *processes, size_t room, size_t *count, bool *known)
{
    const struct calls *c = &nvml->call;
    const struct process_call kinds[] = {{c->compute, c->compute_v1},
                                         {c->graphics, c->graphics_v1}};
    size_t found = 0;
    bool told = false;
    for (size_t kind = 0; kind < 2; kind++) {
        struct abi_process raw[PROCESS_ROOM];
        unsigned int listed = 0;
        int code = list_processes(&kinds[kind], device->handle, raw, &listed);
        if (is_gone(code))
            return -1;
        if (code != NVML_OK) {
            if (kind == 0) /* without the compute list nothing is known */
                break;
            continue;
        }
        told = true;
        for (unsigned int i = 0; i < listed && i < PROCESS_ROOM; i++)
            add_process(processes, room, &found, &raw[i]);
    }
    *count = told ? found : 0;
    *known = told;
    return 0;
}

const char *nvml_driver_version(struct nvml *nvml)
{
    return nvml->driver_version;
}

static const char *mode(int (*call)(void *, unsigned int *, unsigned int *), void *handle)
{
    unsigned int current = 0, pending = 0;
    if (call == NULL || call(handle, &current, &pending) != NVML_OK)
        return "";
    return current != 0 ? "on" : "off";
}

const char *nvml_ecc(struct nvml *nvml, const struct nvml_device *device)
{
    return mode(nvml->call.ecc, device->handle);
}

const char *nvml_mig(struct nvml *nvml, const struct nvml_device *device)
{
    return device->parent[0] != '\0' ? "on" : mode(nvml->call.mig, device->handle);
}

const char *nvml_compute_mode(struct nvml *nvml, const struct nvml_device *device)
{
    static const char *const names[] = {"default", "exclusive-thread", "prohibited",
                                        "exclusive-process"};
    unsigned int now = 0;
    if (nvml->call.compute_mode == NULL ||
        nvml->call.compute_mode(device->handle, &now) != NVML_OK || now > 3)
        return "";
    return names[now];
}
