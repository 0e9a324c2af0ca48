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

/* Overrides "section.key=value", and what was typed for each: "--key=value"; all owned. */
struct overrides {
    char **items, **typed;
    size_t count;
};

static void add_override(struct overrides *overrides, char *item, char *typed)
{
    overrides->typed = xgrow(overrides->typed, overrides->count, sizeof *overrides->typed);
    overrides->typed[overrides->count] = typed;
    *GROW(overrides->items, overrides->count) = item;
}

static void override_as(struct overrides *overrides, const char *section, const char *key,
                        const char *value, const char *option, const char *given)
{
    struct text typed = TEXT_INIT;
    command_add_flag(&typed, option);
    text_add_char(&typed, '=');
    text_add_escaped(&typed, given, strlen(given), 120);
    add_override(overrides, xasprintf("%s.%s=%s", section, key, value), text_detach(&typed));
}

static void override(struct overrides *overrides, const char *section, const char *key,
                     const char *value)
{
    override_as(overrides, section, key, value, key, value);
}

static void overrides_release(struct overrides *overrides)
{
    for (size_t i = 0; i < overrides->count; i++) {
        free(overrides->items[i]);
        free(overrides->typed[i]);
    }
    free(overrides->items);
    free(overrides->typed);
}

/* A line of study_parse's errors, "--set OVERRIDE: reason" or "measure:LINE: reason", in terms
 * of what was typed: nobody wrote that study. */
static void add_error(const struct overrides *overrides, const char *line, size_t length,
                      struct text *why)
{
    struct text prefix = TEXT_INIT;
    const char *typed = NULL;
    const size_t name = strlen("measure:");
    bool of_study = text_starts_with(line, "measure:");
    size_t behind = of_study ? name + strspn(line + name, "0123456789") : 0;
    for (size_t i = 0; i < overrides->count && typed == NULL && !of_study; i++) {
        const char *item = overrides->items[i];
        text_setf(&prefix, "--set ");
        text_add_escaped(&prefix, item, strlen(item), 120);
        text_add(&prefix, ": ");
        if (text_starts_with(line, text_string(&prefix)))
            typed = overrides->typed[i];
    }
    size_t cut = of_study ? behind : typed ? prefix.length - strlen(": ") : 0;
    text_addf(why, "%s%s%.*s", why->length ? "\n" : "",
              of_study ? "measure" : typed ? typed : "", (int)(length - cut), line + cut);
    text_release(&prefix);
}

static void add_errors(const struct overrides *overrides, const struct text *errors,
                       struct text *why)
{
    size_t at = 0, length;
    for (const char *line; (line = text_line(errors, &at, &length)) != NULL;)
        add_error(overrides, line, length, why);
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

static int override_device(const struct one_point *options, struct overrides *overrides,
                           struct text *why)
{
    const char *index = one_point_cuda_index(options), *device = options->device;
    if (index) {
        override_as(overrides, "device", "backend", "cuda", "device", device);
        override_as(overrides, "launch", "devices", index, "device", device);
    } else if (device && (strcmp(device, "simulated") == 0 || strcmp(device, "host") == 0)) {
        override_as(overrides, "device", "backend", device, "device", device);
    } else if (device) {
        bool card = strcmp(device, "cuda") == 0 || strcmp(device, "gpu") == 0;
        text_add(why, "measure: --device=");
        text_add_escaped(why, device, strlen(device), 60);
        text_add(why, " is none of cuda:N, simulated, host");
        text_add(why, card ? "; did you mean cuda:0, the first card?" : "");
        return -1;
    } else {
        text_add(why, "measure: --device must be given: cuda:N, simulated or host");
        return -1;
    }
    if (options->capacity[0])
        override(overrides, "device", "capacity", options->capacity);
    if (options->allow_root)
        override(overrides, "launch", "allow_root", "yes");
    return 0;
}

static int override_point(const struct command_call *call, const struct workload *workload,
                          struct overrides *overrides, struct text *why)
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
        override(overrides, section, option->name, call->given[i].value);
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
                   struct overrides *overrides, struct text *why)
{
    const struct one_point *options = call->options;
    const struct workload *workload =
        options->workload ? workload_find(options->workload) : NULL;
    if (override_device(options, overrides, why) != 0 ||
        check_capacity(call, set, count, why) != 0)
        return -1;
    if (!options->workload) {
        text_add(why, "measure: --workload must be given");
        return -1;
    }
    override(overrides, "study", "workload", options->workload);
    if (workload && override_point(call, workload, overrides, why) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        add_override(overrides, xstrdup(set[i]), xasprintf("--set %s", set[i]));
    return 0;
}

int one_point_study(const struct command_call *call, struct study *study, struct text *why)
{
    struct overrides overrides = {.items = NULL};
    struct text bytes = TEXT_INIT, errors = TEXT_INIT;
    text_add(&bytes, "[study]\nname = measure\nquestion = What does this one point need?\n"
                     "[input point]\n");
    const char **set = xcalloc(call->given_count + 1, sizeof *set);
    size_t count = command_overrides(call, set);
    int outcome = collect(call, set, count, &overrides, why);
    if (outcome == 0)
        outcome = study_parse("measure", &bytes, (const char *const *)overrides.items,
                              overrides.count, study, &errors);
    if (outcome != 0)
        add_errors(&overrides, &errors, why);
    if (outcome == 0 && study->trace != TRACE_NEVER) {
        text_add(why, "measure: device.trace: no files of a run are kept here; use sweep");
        study_release(study);
        outcome = -1;
    }
    overrides_release(&overrides);
    free(set);
    text_release(&bytes);
    text_release(&errors);
    return outcome;
}
