#include "harness/study/study_options.h"

#include "kernels/backends.h"

#include <string.h>

#define HOURS(n) ((uint64_t)(n)*3600 * 1000000000u)
#define LONGEST HOURS(720)

/* A key of struct study. */
#define KEY(name_, type_, ...)                                                                 \
    {                                                                                          \
        .name = #name_, .type = type_, .offset = offsetof(struct study, name_), __VA_ARGS__    \
    }
#define KEY_AS(name_, member_, type_, ...)                                                     \
    {                                                                                          \
        .name = name_, .type = type_, .offset = offsetof(struct study, member_), __VA_ARGS__   \
    }
#define CHOICES(...)                                                                           \
    .choices = (const char *const[])                                                           \
    {                                                                                          \
        __VA_ARGS__, NULL                                                                      \
    }
#define END                                                                                    \
    {                                                                                          \
        .name = NULL                                                                           \
    }

static const struct option study_options[] = {
    KEY(name, OPTION_TEXT, .help = "NAME: names the results folder"),
    KEY(question, OPTION_TEXT, .help = "TEXT: what the study is to answer"),
    KEY_AS("workload", workload_name, OPTION_TEXT,
           .help = "NAME: what is run; its own keys stand in a section of its name"),
    KEY(trials, OPTION_COUNT, .minimum = 1, .maximum = 1000000, .fallback = "1",
        .help = "N: the same point again, each time in a fresh process"),
    KEY(order, OPTION_CHOICE, CHOICES("listed", "shuffled"), .fallback = "listed",
        .help = "order of the runs"),
    KEY_AS("seed", setting.seed, OPTION_COUNT, .fallback = "7",
           .help = "N: of generated values and of shuffling"),
    KEY_AS("timeout", timeout_ns, OPTION_DURATION, .minimum = 1000000, .maximum = LONGEST,
           .fallback = "600s", .help = "DURATION: of each run, from the ranks' start barrier"),
    KEY(until, OPTION_TEXT, .fallback = "",
        .help =
            "22:30 (the next time that the local clock shows it) or 8h (from the start): no "
            "run is started after it"),
    KEY(phases, OPTION_CHOICE, CHOICES("split", "whole", "both"), .fallback = "split",
        .help = "synchronise at each phase; one phase \"cycle\"; or one run of each"),
    KEY(after_oom, OPTION_CHOICE, CHOICES("run-all", "skip-larger"), .fallback = "run-all",
        .help = "what becomes of larger values of a sweep"),
    END};

static const struct option identity_options[] = {
    KEY(model_revision, OPTION_TEXT, .fallback = "", .help = "TEXT: copied into every row"),
    KEY(input_set, OPTION_TEXT, .fallback = "", .help = "TEXT: copied into every row"), END};

static const struct option launch_options[] = {
    KEY(launcher, OPTION_CHOICE, CHOICES("mpirun", "srun"), .fallback = "mpirun",
        .help = "what starts the ranks", .not_yet = ""),
    KEY_AS("ranks", ranks_text, OPTION_TEXT, .fallback = "1",
           .help = "N or per-device: processes of a run, one per device"),
    KEY(placement, OPTION_CHOICE, CHOICES("together", "alone"), .fallback = "together",
        .help = "all ranks in one run, or a run for each device"),
    KEY(devices, OPTION_TEXT, .fallback = "all",
        .help = "all, or a list of physical indices and UUIDs"),
    KEY(hostfile, OPTION_TEXT, .fallback = "", .help = "PATH: hosts of the ranks",
        .not_yet = ""),
    KEY(allow_root, OPTION_FLAG, .fallback = "no", .help = "lets mpirun run as root"),
    KEY(on_rank_failure, OPTION_CHOICE, CHOICES("finish", "stop"), .fallback = "finish",
        .help = "what the other ranks do when one fails"),
    KEY_AS("settle", settle_ns, OPTION_DURATION, .maximum = LONGEST, .fallback = "30s",
           .help = "DURATION: longest wait for the card's baseline before a run"),
    END};

static const struct option device_options[] = {
    KEY_AS("backend", setting.backend, OPTION_CHOICE, .choices = backend_names,
           .help = "what gives memory and computes"),
    KEY_AS("capacity", capacity_text, OPTION_TEXT, .fallback = "",
           .help =
               "SIZE,…: bytes of the device (cuda: a limit on the allocator), one for all or "
               "one per rank"),
    KEY_AS("overhead", setting.memory.device.overhead, OPTION_SIZE, .fallback = "0",
           .help = "SIZE: simulated: taken by context and libraries"),
    KEY(fault, OPTION_TEXT, .fallback = "", .help = "PHASE:KIND[:RANK]: a failure on purpose"),
    KEY_AS("allocator", setting.memory.allocator, OPTION_NAME, .choices = allocator_names,
           .fallback = "caching", .help = "who cuts segments"),
    KEY_AS("empty_cache", setting.empty_cache, OPTION_CHOICE, .choices = empty_cache_names,
           .fallback = "never", .help = "when the allocator gives back what it keeps"),
    KEY(trace, OPTION_CHOICE, CHOICES("never", "on-failure", "always"), .fallback = "never",
        .help = "which runs keep runs/RUN/trace.RANK.csv, for replay; recording costs time"),
    END};

#define MANY UINT64_C(1000000000000)
#define THINGS UINT64_C(1000000)
const struct option point_options[] = {
#define DIMENSION(name_, unit_, fallback_, maximum_, asked_, meaning_)                         \
    {.name = #name_,                                                                           \
     .type = OPTION_COUNT,                                                                     \
     .offset =                                                                                 \
         offsetof(struct point, value[DIMENSION_##name_]) + offsetof(struct reading, value),   \
     .minimum = 1,                                                                             \
     .maximum = maximum_,                                                                      \
     .fallback = fallback_,                                                                    \
     .help = "N: " meaning_},
#include "harness/record/dimension.def"
#undef DIMENSION
    END};

const struct option protocol_options[] = {
    KEY_AS("dtype", setting.dtype, OPTION_CHOICE, .choices = dtype_names,
           .fallback = "bfloat16", .help = "of the computation"),
    KEY_AS("warmup", setting.warmup, OPTION_COUNT, .maximum = 1000000, .fallback = "3",
           .help = "N: unrecorded executions before the warm phases"),
    KEY_AS("repeats", setting.repeats, OPTION_COUNT, .minimum = 1, .maximum = 10000,
           .fallback = "5", .help = "N: recorded warm executions in the same process"),
    END};

const struct option sweep_options[] = {
    {.name = "values",
     .type = OPTION_TEXT,
     .offset = offsetof(struct sweep_text, values),
     .help = "LIST: values and ranges a:b:+step, a:b:xfactor"},
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

static const struct {
    const char *section, *key; /* key NULL: all of the section's others */
    enum key_role role;
} roles[] = {
    {"study", "trials", KEY_OF_SCHEDULE},     {"study", "order", KEY_OF_SCHEDULE},
    {"study", "timeout", KEY_OF_SCHEDULE},    {"study", "until", KEY_OF_SCHEDULE},
    {"study", "after_oom", KEY_OF_SCHEDULE},  {"study", "question", KEY_OF_SCHEDULE},
    {"study", NULL, KEY_IN_COLUMN},           {"identity", NULL, KEY_IN_COLUMN},
    {"launch", "allow_root", KEY_PERMISSION}, {"launch", "settle", KEY_OF_SCHEDULE},
    {"launch", "devices", KEY_OF_SCHEDULE},   {"launch", "hostfile", KEY_OF_SCHEDULE},
    {"launch", "ranks", KEY_IN_COLUMN},       {"device", "overhead", KEY_OF_RUN},
    {"device", "fault", KEY_OF_RUN},          {"device", "trace", KEY_OF_RUN},
    {"device", NULL, KEY_IN_COLUMN},          {"point", NULL, KEY_IN_COLUMN},
};

enum key_role key_role(const char *section, const char *key)
{
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(roles[i].section, section) == 0 &&
            (!roles[i].key || strcmp(roles[i].key, key) == 0))
            return roles[i].role;
    return column_find(key) >= 0 ? KEY_IN_COLUMN : KEY_OF_RUN;
}

void study_each_key(const struct study *study,
                    void (*each)(void *user, const char *section, const struct option *option,
                                 const void *target),
                    void *user)
{
    for (const struct study_table *table = study_tables; table->section; table++)
        for (const struct option *option = table->options; option->name; option++)
            each(user, table->section, option, (const char *)study + table->offset);
    const struct option *own =
        study->setting.workload ? study->setting.workload->options : NULL;
    for (; own && own->name; own++)
        each(user, study->setting.workload->name, own, study->setting.options);
}
