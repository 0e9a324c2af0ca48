#include "harness/command/describe.h"

#include "harness/base/json.h"
#include "harness/nvml/nvml.h"
#include "kernels/backends.h"

#include <stdlib.h>
#include <string.h>

/* NVML's figures of every device, before one of them was opened. */
struct before {
    struct nvml *nvml; /* NULL: no NVML here */
    struct nvml_device *devices;
    struct reading *used;
    size_t count;
};

static struct reading used_of(struct nvml *nvml, const struct nvml_device *device)
{
    struct nvml_memory memory;
    bool lost;
    int outcome = nvml_read_memory(nvml, device, &memory, &lost, NULL);
    return outcome == 0 ? memory.used : reading_missing();
}

static void look_before(struct before *before)
{
    *before = (struct before){.nvml = NULL};
    if (nvml_open(&before->nvml, NULL) != 0)
        before->nvml = NULL;
    else if (nvml_devices(before->nvml, &before->devices, &before->count, NULL) != 0)
        before->count = 0;
    before->used = xcalloc(before->count + 1, sizeof *before->used);
    for (size_t i = 0; i < before->count; i++)
        before->used[i] = used_of(before->nvml, &before->devices[i]);
}

static struct reading taken_since(const struct before *before, const char *uuid)
{
    for (size_t i = 0; i < before->count; i++) {
        if (strcmp(before->devices[i].uuid, uuid) != 0)
            continue;
        struct reading used = used_of(before->nvml, &before->devices[i]);
        if (used.known && before->used[i].known && used.value >= before->used[i].value)
            return reading_of(used.value - before->used[i].value);
    }
    return reading_missing();
}

static void forget(struct before *before)
{
    free(before->used);
    free(before->devices);
    if (before->nvml)
        nvml_close(before->nvml);
}

static struct json *describe_device(struct device *device, const struct before *before)
{
    struct device_facts facts = {.total_bytes = 0};
    struct json *object = json_make_object();
    uint64_t free_bytes, total;
    bool told = device->ops->usage(device, &free_bytes, &total) == 0;
    device->ops->facts(device, &facts);
    json_set_text(object, "name", facts.name);
    json_set_text(object, "uuid", facts.uuid);
    json_set_text(object, "pci", facts.pci);
    json_set_count(object, "total_bytes", facts.total_bytes);
    json_set_reading(object, "free_bytes", told ? reading_of(free_bytes) : reading_missing());
    json_set_reading(object, "context_bytes", taken_since(before, facts.uuid));
    return object;
}

/* The libraries' workspace is a segment of its own here; it is not part of what they take. */
static struct json *open_and_describe(const struct backend *backend, struct text *why)
{
    struct device device = {.ops = NULL};
    struct device_setting setting = {.ordinal = 0};
    struct math math = {.ops = backend->ops, .device = &device};
    struct json *object = NULL;
    struct before before;
    look_before(&before);
    enum outcome outcome = device_open(&device, backend->device, &setting);
    bool opened = outcome == OUTCOME_OK;
    if (opened && (outcome = backend->ops->open(&math)) == OUTCOME_OK) {
        object = describe_device(&device, &before);
        backend->ops->close(&math);
    } else {
        text_addf(why, "device 0 cannot be opened: %s",
                  outcome == OUTCOME_FAILED ? text_string(&device.error) : "out of memory");
    }
    if (opened)
        device_close(&device);
    text_release(&device.error);
    forget(&before);
    return object;
}

static void add_backends(struct json *object)
{
    struct json *names = json_make_array();
    for (const struct backend *backend = backends; backend->device; backend++)
        json_append_text(names, backend->device->name);
    json_set(object, "backends", names);
}

static void add_libraries(struct json *object, const struct backend *cuda)
{
    struct ops_facts facts = {.backend = ""};
    struct json *architectures = json_make_array();
    if (cuda)
        cuda->ops->facts(&facts);
    const char *dash = strchr(facts.backend, '-');
    json_set_text(object, "cuda_version", cuda ? facts.runtime : NULL);
    json_set_text(object, "cublas_version", dash ? dash + 1 : NULL);
    for (size_t i = 0; i < sizeof facts.built_for / sizeof *facts.built_for; i++)
        if (facts.built_for[i])
            json_append_count(architectures, facts.built_for[i]);
    json_set(object, "built_for", architectures);
}

int describe_build(bool measure, struct text *out, struct text *why)
{
    const struct backend *cuda = backend_find("cuda");
    struct json *object = json_make_object();
    int outcome = 0;
    json_set_text(object, "program_version", HIGHWATER_VERSION);
    add_backends(object);
    add_libraries(object, cuda);
    if (measure && !cuda) {
        text_add(why, "this build has no cuda device");
        outcome = -1;
    } else if (measure) {
        struct json *device = open_and_describe(cuda, why);
        outcome = device ? 0 : -1;
        if (device)
            json_set(object, "device", device);
    }
    if (outcome == 0)
        json_write(object, out);
    json_release(object);
    return outcome;
}
