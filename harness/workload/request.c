#include "harness/workload/request.h"
#include "harness/workload/fault.h"

#include <stdlib.h>
#include <string.h>

/* The tables of a request with their targets, in the order in which they are searched. */
enum { OWN, ALLOCATOR, WORKLOAD, HOMES };

static void homes_of(struct request *request, struct option_home homes[HOMES + 1])
{
    const struct option *own = request->setting.workload->options;
    homes[OWN] = (struct option_home){setting_options, &request->setting};
    homes[ALLOCATOR] =
        (struct option_home){allocator_options, &request->setting.memory.allocator_setting};
    homes[WORKLOAD] = (struct option_home){own, request->setting.options};
    homes[HOMES] = (struct option_home){NULL, NULL};
}

static int settle_point(const struct setting *setting, struct text *why)
{
    const struct workload *workload = setting->workload;
    for (int i = 0; i < DIMENSIONS; i++) {
        bool has = workload->dimensions >> i & 1u;
        if (has == setting->point.value[i].known)
            continue;
        return text_fail(why, has ? "--%s=N is missing" : "--%s: %s has no such dimension",
                         dimension_facts[i].name, workload->name);
    }
    return 0;
}

static int settle_backend(struct request *request, struct text *why)
{
    struct setting *setting = &request->setting;
    const char *name = setting->backend < 0 ? NULL : backend_names[setting->backend];
    if (!name)
        return text_fail(why, "--backend=NAME is missing");
    request->backend = backend_find(name);
    if (!request->backend)
        return text_fail(why, "--backend=%s: this program was built without it", name);
    struct memory_setting *memory = &setting->memory;
    bool observed = request->backend->device->observed;
    if (!observed && !memory->device.capacity.known)
        return text_fail(why, "--capacity=SIZE is missing: a %s device has none of its own",
                         name);
    if (observed) {
        memory->allocator_setting.limit = memory->device.capacity;
        memory->device.capacity = reading_missing();
    }
    return 0;
}

/* An option with an empty value is one that was not given. */
static void drop_empty(const char **value)
{
    if (*value == NULL || **value != '\0')
        return;
    free((void *)(uintptr_t)*value);
    *value = NULL;
}

static int settle(struct request *request, struct text *why)
{
    struct setting *setting = &request->setting;
    struct fault fault;
    drop_empty(&setting->fault);
    drop_empty(&setting->expect_uuid);
    drop_empty(&setting->memory.trace);
    if (settle_point(setting, why) != 0 || settle_backend(request, why) != 0 ||
        fault_parse(setting->fault, setting->workload->phases, &fault, why) != 0)
        return -1;
    return workload_check(setting->workload, &setting->point, setting->options, why);
}

static int choose_workload(const char *name, struct request *request, struct text *why)
{
    request->setting.workload = workload_find(name);
    if (request->setting.workload)
        return 0;
    text_addf(why, "%s: unknown workload; known are", name);
    for (size_t i = 0; workloads[i]; i++)
        text_addf(why, " %s", workloads[i]->name);
    return -1;
}

int request_read(int argc, char **argv, struct request *request, struct text *why)
{
    struct request read = {.backend = NULL};
    struct option_home homes[HOMES + 1];
    if (choose_workload(argv[0], &read, why) != 0)
        return -1;
    read.setting.options = xcalloc(1, read.setting.workload->options_size + 1);
    homes_of(&read, homes);
    for (int i = 0; homes[i].table; i++)
        option_defaults(homes[i].table, homes[i].target);
    read.setting.backend = -1;
    for (int i = 1; i < argc; i++)
        if (option_take(homes, argv[i], why) != 0)
            goto fail;
    if (settle(&read, why) != 0)
        goto fail;
    *request = read;
    return 0;
fail:
    request_release(&read);
    return -1;
}

void request_release(struct request *request)
{
    struct option_home homes[HOMES + 1];
    homes_of(request, homes);
    for (int i = 0; homes[i].table; i++)
        option_release(homes[i].table, homes[i].target);
    free(request->setting.options);
}

void request_help(struct text *out)
{
    text_add(out, "usage: highwater-workload WORKLOAD --backend=NAME [--option=value …]\n"
                  "       highwater-workload --describe [--measure]\n\nworkloads:\n");
    for (size_t i = 0; workloads[i]; i++)
        text_addf(out, "  %-10s %s\n", workloads[i]->name, workloads[i]->summary);
    text_add(out, "\noptions:\n");
    option_help(setting_options, out);
    text_add(out, "\nallocator:\n");
    option_help(allocator_options, out);
    for (size_t i = 0; workloads[i]; i++) {
        if (!workloads[i]->options)
            continue;
        text_addf(out, "\n%s:\n", workloads[i]->name);
        option_help(workloads[i]->options, out);
    }
}
