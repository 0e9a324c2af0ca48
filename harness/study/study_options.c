#include "harness/study/study_options.h"

#include <string.h>

#define HOURS(n) ((uint64_t)(n)*3600 * 1000000000u)
#define LONGEST HOURS(720)
#define MANY UINT64_C(1000000000000)

/* The rows of settings.def as keys of struct study. */
#define KEY(name_, member_, type_, role_, help_, ...)                                          \
    {.name = #name_,                                                                           \
     .type = OPTION_##type_,                                                                   \
     .offset = offsetof(struct study, member_),                                                \
     .help = help_,                                                                            \
     .about = &(const struct setting_about){.role = KEY_##role_, .column = COLUMNS},           \
     __VA_ARGS__},
#define SETTING(name_, member_, type_, role_, teller_, help_, ...)                             \
    KEY(name_, setting.member_, type_, role_, help_, __VA_ARGS__)
#define CHILD(...)
#define END {.name = NULL}

static const struct option study_options[] = {
#define KEYS_OF_STUDY
#include "harness/setting/settings.def"
    END};

static const struct option identity_options[] = {
#define KEYS_OF_IDENTITY
#include "harness/setting/settings.def"
    END};

static const struct option launch_options[] = {
#define KEYS_OF_LAUNCH
#include "harness/setting/settings.def"
    END};

static const struct option device_options[] = {
#define KEYS_OF_DEVICE
#include "harness/setting/settings.def"
    END};

const struct option protocol_options[] = {
#define KEYS_OF_POINT
#include "harness/setting/settings.def"
    END};

const struct option sweep_options[] = {
    {.name = "values",
     .type = OPTION_TEXT,
     .offset = offsetof(struct sweep_text, values),
     .help = "LIST: values and ranges a:b:+step, a:b:xfactor, b included when it is reached"},
    END};

#define LIMIT(name_, ...)                                                                      \
    {                                                                                          \
        .name = #name_, .type = OPTION_COUNT,                                                  \
        .offset = offsetof(struct study_boundary, name_), .minimum = 1, __VA_ARGS__            \
    }
const struct option boundary_options[] = {
    LIMIT(from, .maximum = MANY, .fallback = "1", .help = "N: the smallest value tried"),
    LIMIT(to, .maximum = MANY, .help = "N: the largest value tried"),
    LIMIT(step, .maximum = MANY, .fallback = "1", .help = "N: values are from, from + step, …"),
    LIMIT(confirm, .maximum = 100, .fallback = "2",
          .help = "N: fresh processes that must agree on each side"),
    END};

const struct study_kind study_kinds[] = {
    {"input", "NAME", point_options, "one point, run as it is: [point] but for these"},
    {"sweep", "DIMENSION", sweep_options, "varies one dimension, the rest as in [point]"},
    {"boundary", "DIMENSION", boundary_options, "searches for the largest value that fits"},
    {NULL, NULL, NULL, NULL}};

const struct study_table study_tables[] = {
    {"study", study_options, 0},
    {"identity", identity_options, 0},
    {"launch", launch_options, 0},
    {"device", device_options, 0},
    {"device", allocator_options, offsetof(struct study, setting.memory.allocator_setting)},
    {"point", point_options, offsetof(struct study, setting.point)},
    {"point", protocol_options, 0},
    {NULL, NULL, 0}};

const char *const later_workloads[] = {"decoder", "train", "vision", "command", NULL};

/* Allocator settings share a column; a workload's own key may have one of its name. */
static enum key_role role_of(const struct option *option, bool own)
{
    const struct setting_about *about = option->about;
    if (about)
        return about->role;
    return !own || column_find(option->name) >= 0 ? KEY_IN_COLUMN : KEY_OF_RUN;
}

void study_each_key(const struct study *study,
                    void (*each)(void *user, const struct study_key *key), void *user)
{
    const struct workload *workload = study->setting.workload;
    for (const struct study_table *table = study_tables; table->section; table++)
        for (const struct option *option = table->options; option->name; option++)
            each(user, &(struct study_key){table->section, option,
                                           (const char *)study + table->offset,
                                           role_of(option, false)});
    const struct option *own = workload ? workload->options : NULL;
    for (; own && own->name; own++)
        each(user, &(struct study_key){workload->name, own, study->setting.options,
                                       role_of(own, true)});
}
