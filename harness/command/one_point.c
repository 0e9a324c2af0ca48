#include "harness/command/one_point.h"

#include "harness/base/units.h"
#include "harness/study/study_options.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) .offset = offsetof(struct one_point, field)
const struct option one_point_options[] = {
    {"device", OPTION_TEXT, AT(device),
     .help = "cuda:N, simulated or host; never chosen silently"},
    {"workload", OPTION_TEXT, AT(workload), .help = "what is run"},
    {"capacity", OPTION_TEXT, AT(capacity), .fallback = "",
     .help = "SIZE of the simulated or host device; on cuda a limit on the allocator"},
    {"allow_root", OPTION_FLAG, AT(allow_root), .fallback = "no",
     .help = "lets mpirun run as root"},
    {"set", OPTION_TEXT, AT(set), .fallback = "",
     .help = "section.key=value of a study, for what has no option here; may be given again"},
    {"output", OPTION_TEXT, AT(output), .fallback = "",
     .help = "new file for the result, instead of standard output", .letter = 'o'},
    {.name = NULL},
};

/* Tables whose options stand for a key of one section. */
static const struct {
    const char *title, *section;
    const struct option *table;
} handed_on[] = {
    {"the point", "point", point_options},
    {"the protocol", "point", protocol_options},
    {"the allocator", "device", allocator_options},
};
#define HANDED_ON (sizeof handed_on / sizeof handed_on[0])

bool one_point_more(size_t index, struct option_part *part)
{
    if (index < HANDED_ON) {
        *part = (struct option_part){.title = handed_on[index].title,
                                     .table = handed_on[index].table};
        return true;
    }
    index -= HANDED_ON;
    for (size_t i = 0; workloads[i]; i++)
        if (workloads[i]->options && index-- == 0) {
            *part = (struct option_part){.title = workloads[i]->name,
                                         .table = workloads[i]->options};
            return true;
        }
    return false;
}

const char *one_point_cuda_index(const struct one_point *options)
{
    uint64_t number;
    const char *index = NULL;
    if (options->device && text_starts_with(options->device, "cuda:") &&
        parse_count(options->device + strlen("cuda:"), &number, NULL) == 0)
        index = options->device + strlen("cuda:");
    return index;
}

/* The study's settings; `typed` is owned, all else borrowed. */
struct givens {
    struct study_given *list;
    size_t count;
};

static void give_as(struct givens *givens, const char *section, const char *key,
                    const char *value, const char *option, const char *given)
{
    struct text typed = TEXT_INIT;
    command_add_flag(&typed, option);
    text_addf(&typed, "=%s", given);
    *GROW(givens->list, givens->count) =
        (struct study_given){section, key, value, text_detach(&typed)};
}

static void give(struct givens *givens, const char *section, const char *key, const char *value)
{
    give_as(givens, section, key, value, key, value);
}

static void givens_release(struct givens *givens)
{
    for (size_t i = 0; i < givens->count; i++)
        free((char *)(uintptr_t)givens->list[i].typed);
    free(givens->list);
}

/* The section of an option that is handed on: the workload's own comes first, since a workload
 * may have an option that is a dimension of others. NULL: it is not handed on. */
static const char *section_of(const struct workload *workload, const char *name)
{
    if (workload->options && option_find(workload->options, name))
        return workload->name;
    for (size_t i = 0; i < HANDED_ON; i++)
        if (option_find(handed_on[i].table, name))
            return handed_on[i].section;
    return NULL;
}

static int give_device(const struct one_point *options, struct givens *givens,
                           struct text *why)
{
    const char *index = one_point_cuda_index(options), *device = options->device;
    if (index) {
        give_as(givens, "device", "backend", "cuda", "device", device);
        give_as(givens, "launch", "devices", index, "device", device);
    } else if (device && (strcmp(device, "simulated") == 0 || strcmp(device, "host") == 0)) {
        give_as(givens, "device", "backend", device, "device", device);
    } else if (device) {
        bool card = strcmp(device, "cuda") == 0 || strcmp(device, "gpu") == 0;
        text_add(why, "measure: --device=");
        text_add_escaped(why, device, strlen(device), 60);
        text_add(why, " is none of cuda:N, simulated, host");
        return text_fail(why, "%s", card ? "; did you mean cuda:0, the first card?" : "");
    } else {
        return text_fail(why, "measure: --device must be given: cuda:N, simulated or host");
    }
    if (options->capacity[0])
        give(givens, "device", "capacity", options->capacity);
    if (options->allow_root)
        give(givens, "launch", "allow_root", "yes");
    return 0;
}

static int give_point(const struct command_call *call, const struct workload *workload,
                          struct givens *givens, struct text *why)
{
    for (size_t i = 0; i < call->given_count; i++) {
        const struct option *option = call->given[i].option;
        bool handed = false;
        struct option_part part;
        for (size_t j = 0; !handed && one_point_more(j, &part); j++)
            handed = option_find(part.table, option->name) == option;
        if (!handed)
            continue;
        const char *section = section_of(workload, option->name);
        if (!section) {
            text_addf(why, "measure: %s has no option ", workload->name);
            command_add_flag(why, option->name);
            return -1;
        }
        give(givens, section, option->name, call->given[i].value);
    }
    return 0;
}

/* The simulated and the host device need a capacity, from --capacity or from --set. */
static int check_capacity(const struct command_call *call, const char *const *set, size_t count,
                          struct text *why)
{
    const struct one_point *options = call->options;
    bool given = options->capacity[0] || one_point_cuda_index(options);
    for (size_t i = 0; i < count && !given; i++)
        given = text_starts_with(set[i], "device.capacity");
    if (!given)
        text_addf(why, "measure: --capacity must be given: the size of the %s device",
                  options->device);
    return given ? 0 : -1;
}

static int collect(const struct command_call *call, const char *const *set, size_t count,
                   struct givens *givens, struct text *why)
{
    const struct one_point *options = call->options;
    const struct workload *workload =
        options->workload ? workload_find(options->workload) : NULL;
    if (give_device(options, givens, why) != 0 ||
        check_capacity(call, set, count, why) != 0)
        return -1;
    if (!options->workload)
        return text_fail(why, "measure: --workload must be given");
    give(givens, "study", "workload", options->workload);
    if (workload && give_point(call, workload, givens, why) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        *GROW(givens->list, givens->count) =
            (struct study_given){.value = set[i], .typed = xasprintf("--set %s", set[i])};
    return 0;
}

int one_point_study(const struct command_call *call, struct study *study, struct text *why)
{
    static const struct study_given about[] = {
        {"study", "name", "measure", "measure"},
        {"study", "question", "What does this one point need?", "measure"},
        {"input point", NULL, NULL, "measure"}};
    struct givens givens = {.list = NULL};
    for (size_t i = 0; i < sizeof about / sizeof *about; i++) {
        *GROW(givens.list, givens.count) = about[i];
        givens.list[i].typed = xstrdup(about[i].typed);
    }
    const char **set = xcalloc(call->given_count + 1, sizeof *set);
    size_t count = command_overrides(call, set);
    int outcome = collect(call, set, count, &givens, why);
    if (outcome == 0)
        outcome = study_make("measure", givens.list, givens.count, study, why);
    if (outcome == 0 && study->trace != TRACE_NEVER) {
        text_add(why, "measure: device.trace: no files of a run are kept here; use sweep");
        study_release(study);
        outcome = -1;
    }
    givens_release(&givens);
    free(set);
    return outcome;
}
