#include "harness/workload/request.h"
#include "harness/workload/fault.h"

#include <stdlib.h>
#include <string.h>

#define ROW(name_, type_, fallback_, help_, ...)                                               \
    {                                                                                          \
        .name = #name_, .type = type_, .offset = offsetof(struct request_words, name_),        \
        .fallback = fallback_, .help = help_, __VA_ARGS__                                      \
    }
static const char *const phases_names[] = {"split", "whole", NULL};

const struct option request_options[] = {
#define DIMENSION(name_, unit_, fallback_, maximum_, asked_, meaning_)                         \
    {.name = #name_,                                                                           \
     .type = OPTION_COUNT,                                                                     \
     .offset = offsetof(struct request_words, dimension[DIMENSION_##name_]),                   \
     .minimum = 1,                                                                             \
     .help = "N: " meaning_},
#include "harness/record/dimension.def"
#undef DIMENSION
    ROW(dtype, OPTION_CHOICE, "bfloat16", "of the computation", .choices = dtype_names),
    ROW(warmup, OPTION_COUNT, "3", "N: executions before the warm phases", .minimum = 0),
    ROW(repeats, OPTION_COUNT, "5", "N: recorded warm executions", .minimum = 1),
    ROW(seed, OPTION_COUNT, "7", "N: of the generated values", .minimum = 0),
    ROW(phases, OPTION_CHOICE, "split", "each phase by itself, or all in one",
        .choices = phases_names),
    ROW(backend, OPTION_CHOICE, NULL, "where it runs", .choices = backend_names),
    ROW(ordinal, OPTION_COUNT, "0", "N: the cuda device among those visible", .maximum = 1023),
    ROW(capacity, OPTION_MAYBE_SIZE, "", "SIZE of a simulated or host device, or cuda's limit",
        .minimum = 0),
    ROW(overhead, OPTION_SIZE, "0", "SIZE of context and libraries, assumed", .minimum = 0),
    ROW(allocator, OPTION_CHOICE, "caching", "who hands out", .choices = allocator_names),
    ROW(empty_cache, OPTION_CHOICE, "never", "when what the allocator keeps is given back",
        .choices = empty_cache_names),
    ROW(trace, OPTION_TEXT, "", "FILE: a new one, for what was asked of the allocator",
        .minimum = 0),
    ROW(fault, OPTION_TEXT, "", "PHASE:KIND: a failure on purpose", .minimum = 0),
    ROW(expect_uuid, OPTION_TEXT, "", "UUID that the cuda device must have", .minimum = 0),
    {.name = NULL},
};

/* The tables of a request with their targets, in the order in which they are searched. */
enum { OWN, ALLOCATOR, WORKLOAD, HOMES };

static void homes_of(struct request *request, struct option_home homes[HOMES + 1])
{
    const struct option *own = request->setting.workload->options;
    homes[OWN] = (struct option_home){request_options, &request->words};
    homes[ALLOCATOR] = (struct option_home){
        allocator_options, &request->setting.memory.allocator_setting};
    homes[WORKLOAD] = (struct option_home){own, request->setting.options};
    homes[HOMES] = (struct option_home){NULL, NULL};
}

static int settle_point(struct request *request, struct text *why)
{
    const struct workload *workload = request->setting.workload;
    for (int i = 0; i < DIMENSIONS; i++) {
        uint64_t value = request->words.dimension[i];
        bool has = workload->dimensions >> i & 1u;
        if (has == (value > 0)) {
            request->setting.point.value[i] = has ? reading_of(value) : reading_missing();
            continue;
        }
        text_addf(why, has ? "--%s=N is missing" : "--%s: %s has no such dimension",
                  dimension_facts[i].name, workload->name);
        return -1;
    }
    return 0;
}

static int settle_backend(struct request *request, struct text *why)
{
    const struct request_words *words = &request->words;
    const char *name = words->backend < 0 ? NULL : backend_names[words->backend];
    if (!name) {
        text_add(why, "--backend=NAME is missing");
        return -1;
    }
    request->backend = backend_find(name);
    if (!request->backend) {
        text_addf(why, "--backend=%s: this program was built without it", name);
        return -1;
    }
    bool observed = request->backend->device->observed;
    if (!observed && !words->capacity.known) {
        text_addf(why, "--capacity=SIZE is missing: a %s device has none of its own", name);
        return -1;
    }
    struct memory_setting *memory = &request->setting.memory;
    memory->device = (struct device_setting){
        .ordinal = words->ordinal, .capacity = words->capacity, .overhead = words->overhead};
    if (observed) {
        memory->device.capacity = reading_missing();
        memory->allocator_setting.limit = words->capacity;
    }
    return 0;
}

static int settle(struct request *request, struct text *why)
{
    const struct request_words *words = &request->words;
    struct setting *setting = &request->setting;
    if (settle_point(request, why) != 0 || settle_backend(request, why) != 0)
        return -1;
    setting->dtype = words->dtype;
    setting->warmup = words->warmup;
    setting->repeats = words->repeats;
    setting->seed = words->seed;
    setting->phases = words->phases;
    setting->empty_cache = words->empty_cache;
    setting->memory.allocator = allocator_names[words->allocator];
    setting->memory.trace = words->trace && words->trace[0] ? words->trace : NULL;
    setting->fault = words->fault && words->fault[0] ? words->fault : NULL;
    setting->expect_uuid =
        words->expect_uuid && words->expect_uuid[0] ? words->expect_uuid : NULL;
    struct fault fault;
    if (fault_parse(setting->fault, setting->workload->phases, &fault, why) != 0)
        return -1;
    return setting->workload->check(&setting->point, setting->options, why);
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
    read.words.backend = -1;
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
    option_help(request_options, out);
    text_add(out, "\nallocator:\n");
    option_help(allocator_options, out);
    for (size_t i = 0; workloads[i]; i++) {
        if (!workloads[i]->options)
            continue;
        text_addf(out, "\n%s:\n", workloads[i]->name);
        option_help(workloads[i]->options, out);
    }
}
