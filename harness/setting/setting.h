/* setting: one run, as a child is told it on its command line and as a plan varies it. */
#ifndef HIGHWATER_SETTING_SETTING_H
#define HIGHWATER_SETTING_SETTING_H

#include "harness/allocator/allocator.h"
#include "harness/setting/dimension.h"
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

#endif
