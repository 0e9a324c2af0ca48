/* setting: one run, as a child is told it on its command line and as a plan varies it. */
#ifndef HIGHWATER_SETTING_SETTING_H
#define HIGHWATER_SETTING_SETTING_H

#include "harness/allocator/allocator.h"
#include "harness/base/argv.h"
#include "harness/setting/dimension.h"
#include "kernels/backends.h"
#include "kernels/dtype.h"

/* Each phase by itself; or all behind context and libraries are one, `cycle` (session.h). A
 * study may ask for both: a run of each. */
enum phases { PHASES_SPLIT, PHASES_WHOLE, PHASES_BOTH };

/* When the allocator gives back what it keeps, always outside the timed parts of phases:
 * between repeats before each warm repeat but the first, between phases before every phase.
 * With PHASES_WHOLE the repeats lie inside the cycle, and so does what is done between them. */
enum empty_cache {
    EMPTY_CACHE_NEVER,
    EMPTY_CACHE_BETWEEN_REPEATS,
    EMPTY_CACHE_BETWEEN_PHASES,
};
extern const char *const empty_cache_names[]; /* NULL-terminated */

/* As backend_names of kernels/backends.h. */
enum backend_name { BACKEND_CUDA, BACKEND_SIMULATED, BACKEND_HOST };

/* [device] as one child sees it (its own capacity, its own file). */
struct memory_setting {
    struct device_setting device;
    const char *allocator; /* of allocator_names */
    struct allocator_setting allocator_setting;
    const char *trace; /* file to record allocations in (a new one), for `replay`; NULL: none */
};

struct workload; /* harness/workload/workload.h */

/* Owns nothing by itself: who fills it says what is whose. */
struct setting {
    const struct workload *workload;
    struct point point;
    int dtype; /* enum dtype */
    uint64_t warmup, repeats, seed;
    int phases;              /* PHASES_SPLIT or PHASES_WHOLE */
    int empty_cache;         /* enum empty_cache */
    void *options;           /* of workload->options_size, by its option table; may be NULL */
    const char *fault;       /* PHASE:KIND or NULL; PHASE as in split runs */
    const char *expect_uuid; /* the device must be this one, or NULL */
    int backend;             /* enum backend_name */
    struct memory_setting memory;
};

/* What a key means for the record. */
enum key_role {
    KEY_OF_RUN,      /* changes what a run is, and has no column: stands in `options` */
    KEY_IN_COLUMN,   /* changes what a run is, and has a column (or several) of its own */
    KEY_OF_SCHEDULE, /* which runs, when, how long to wait: no run becomes another by it */
    KEY_COUNTS_RUNS, /* more of it is more runs, less would leave rows of no run */
    KEY_PERMISSION,  /* nobody's result depends on it: not part of the hash either */
};

/* Who says a setting on a child's command line, in the order of its words. */
enum setting_teller {
    TOLD_OF_WORK,   /* the driver, to all ranks alike: what is computed */
    TOLD_OF_DEVICE, /* the same: on what */
    TOLD_OF_RANK,   /* the rank: what is its own */
};

/* What settings.def says beyond the fields of an option: `about` of its rows. */
struct setting_about {
    enum key_role role;
    enum column column; /* that hello and rows say it in; COLUMNS: none */
    enum setting_teller teller;
};

/* The dimensions as keys of [point] and [input …]; for struct point. */
extern const struct option point_options[];
/* Every option of a child but the allocator's and the workload's own; for struct setting. */
extern const struct option setting_options[];

/* Appends "--name=value" of what all ranks have in common. */
void setting_add_words(const struct setting *setting, struct words *words);
/* The cells of those settings that have a column. */
void setting_to_row(const struct setting *setting, struct row *row);
/* The cell of an option that has a column of its name, and nothing without one. */
void setting_to_cell(const struct option *option, const void *target, int column,
                     struct row *row);

#endif
