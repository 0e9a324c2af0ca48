#include "harness/drive/environment.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/capture.h"
#include "harness/nvml/nvml.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Settings from outside that change what a run does or what it needs. */
static const char *const variables[] = {"CUDA_VISIBLE_DEVICES",
                                        "CUDA_DEVICE_ORDER",
                                        "CUDA_MODULE_LOADING",
                                        "CUDA_LAUNCH_BLOCKING",
                                        "CUBLAS_WORKSPACE_CONFIG",
                                        "NVIDIA_VISIBLE_DEVICES",
                                        "NVIDIA_TF32_OVERRIDE",
                                        "PYTORCH_CUDA_ALLOC_CONF",
                                        "PYTORCH_ALLOC_CONF",
                                        "OMPI_MCA_pml",
                                        "OMPI_MCA_btl",
                                        "LD_PRELOAD",
                                        "LD_LIBRARY_PATH",
                                        "OMP_NUM_THREADS",
                                        NULL};

static void set_owned(struct json *object, const char *key, const char *value)
{
    json_set_text(object, key, value != NULL && *value != '\0' ? value : NULL);
}

static struct json *gather_variables(void)
{
    struct json *object = json_make_object();
    for (size_t i = 0; variables[i] != NULL; i++)
        json_set_text(object, variables[i], getenv(variables[i]));
    return object;
}

/* Of a file of lines "NAME=VALUE" or "NAME: VALUE". */
static char *find_in_file(const char *path, const char *name)
{
    struct text contents = TEXT_INIT;
    char *found = NULL;
    if (file_read(path, 1u << 20, &contents, NULL) == 0) {
        size_t at = 0, length;
        const char *line;
        while (found == NULL && (line = text_line(&contents, &at, &length)) != NULL)
            if (text_starts_with(line, name)) {
                const char *value = line + strlen(name);
                value += strspn(value, " \t\"");
                found = xstrndup(value, strcspn(value, "\"\n"));
            }
    }
    text_release(&contents);
    return found;
}

static struct json *gather_host(void)
{
    struct json *object = json_make_object();
    struct utsname about;
    char *system = find_in_file("/etc/os-release", "PRETTY_NAME=");
    char *cpu = find_in_file("/proc/cpuinfo", "model name\t:");
    long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    if (uname(&about) == 0) {
        json_set_text(object, "name", about.nodename);
        json_set_text(object, "kernel", about.release);
        json_set_text(object, "machine", about.machine);
        /* There the driver spills to host memory instead of failing. */
        json_set_flag(object, "wsl", strstr(about.release, "icrosoft") != NULL);
    }
    set_owned(object, "system", system);
    set_owned(object, "cpu", cpu);
    json_set_reading(object, "cpus", cpus > 0 ? reading_of((uint64_t)cpus) : reading_missing());
    json_set_reading(object, "memory_bytes",
                     pages > 0 && page > 0 ? reading_of((uint64_t)pages * (uint64_t)page)
                                           : reading_missing());
    free(system);
    free(cpu);
    return object;
}

static struct json *describe_device(struct nvml *nvml, const struct nvml_device *device)
{
    struct json *object = json_make_object();
    struct nvml_memory memory;
    struct text reason = TEXT_INIT;
    bool lost = false;
    json_set_text(object, "name", device->name);
    json_set_text(object, "uuid", device->uuid);
    json_set_text(object, "pci", device->pci);
    json_set_count(object, "nvml_index", device->index);
    set_owned(object, "ecc", nvml_ecc(nvml, device));
    set_owned(object, "mig", nvml_mig(nvml, device));
    set_owned(object, "compute_mode", nvml_compute_mode(nvml, device));
    if (nvml_read_memory(nvml, device, &memory, &lost, &reason) == 0) {
        json_set_reading(object, "total_bytes", memory.total);
        json_set_reading(object, "reserved_bytes", memory.reserved);
        json_set_reading(object, "used_bytes", memory.used);
    } else {
        json_set_text(object, "error", text_string(&reason));
    }
    text_release(&reason);
    return object;
}

static void gather_devices(struct json *document)
{
    struct json *list = json_make_array();
    struct nvml *nvml = NULL;
    struct nvml_device *devices = NULL;
    struct text reason = TEXT_INIT;
    size_t count = 0;
    bool opened = nvml_open(&nvml, &reason) == 0;
    if (opened && nvml_devices(nvml, &devices, &count, &reason) == 0)
        for (size_t i = 0; i < count; i++)
            json_append(list, describe_device(nvml, &devices[i]));
    json_set_text(document, "driver_version", opened ? nvml_driver_version(nvml) : NULL);
    json_set(document, "devices", list);
    json_set_text(document, "devices_reason", reason.length > 0 ? text_string(&reason) : NULL);
    free(devices);
    if (opened)
        nvml_close(nvml);
    text_release(&reason);
}

/* The first line of a program's answer; NULL when it does not answer. The caller frees. */
static char *first_line(const char *const *argv)
{
    struct text output = TEXT_INIT;
    char *line = NULL;
    int code = 0;
    if (capture_answer(argv, &output, &code, NULL) == 0 && code == 0)
        line = xstrndup(text_string(&output), strcspn(text_string(&output), "\n"));
    text_release(&output);
    return line;
}

/* A hash of our programs' bytes: two builds of one version are told apart. "" when one cannot
 * be read. */
static void add_build(struct text *out)
{
    static const char *const programs[] = {"highwater", "highwater-rank", "highwater-workload"};
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        char *path = file_beside_me(programs[i]);
        int result = file_hash(path, &hash, NULL);
        free(path);
        if (result != 0)
            return;
    }
    text_addf(out, "b-%016llx", (unsigned long long)hash);
}

/* What the workload program is made of: asked of itself, since only it links CUDA. */
static void gather_workload(struct json *document)
{
    char *program = file_beside_me("highwater-workload");
    const char *const argv[] = {program, "--describe", NULL};
    struct text output = TEXT_INIT;
    struct json *about = NULL;
    int code = 0;
    if (capture_answer(argv, &output, &code, NULL) == 0 && code == 0 &&
        json_parse(text_string(&output), output.length, &about, NULL) == 0)
        json_set(document, "workload", about);
    else
        json_set_text(document, "workload", NULL);
    text_release(&output);
    free(program);
}

struct json *environment_gather(const char *command_line, const char *files)
{
    static const char *const mpirun[] = {"mpirun", "--version", NULL};
    struct json *document = json_make_object();
    struct text now = TEXT_INIT, build = TEXT_INIT;
    char *mpi = first_line(mpirun);
    text_add_utc(&now, clock_realtime_ns());
    add_build(&build);
    json_set_text(document, "program_version", HIGHWATER_VERSION);
    set_owned(document, "program_build", text_string(&build));
    json_set_text(document, "gathered_utc", text_string(&now));
    json_set_text(document, "command_line", command_line);
    if (*files != '\0')
        json_set_text(document, "files", files);
    json_set(document, "host", gather_host());
    set_owned(document, "mpi", mpi);
    gather_devices(document);
    gather_workload(document);
    json_set(document, "variables", gather_variables());
    free(mpi);
    text_release(&now);
    text_release(&build);
    return document;
}
