/* workload: real arithmetic on real tensors, the same code on every device.
 *
 * The plan runs it on the simulated device with a listener that keeps the phases; the child
 * runs it on the asked device with a listener that writes phase lines. There is no second
 * formula.
 */
#ifndef HIGHWATER_WORKLOAD_WORKLOAD_H
#define HIGHWATER_WORKLOAD_WORKLOAD_H

#include "harness/base/option.h"
#include "harness/workload/memory.h"

struct session; /* what a running workload holds: memory, ops, phases (session.h) */

struct workload {
    /* A workload has these. */
    const char *name;
    const char *summary;
    uint32_t dimensions;       /* bit per enum dimension that it has and does not ignore */
    const char *const *phases; /* names, in order, at least one; NULL-terminated */
    /* Runs all phases; failures are sticky in the session. */
    void (*run)(struct session *session);
    /* All others may be left out: NULL. */
    const char *caution;          /* printed with every plan and report of it */
    const struct option *options; /* its own section's keys */
    size_t options_size;          /* of the struct that they are for */
    /* Checks the options before any point. -1: `*key` is the name of the one at fault, which
     * the reason does not repeat. */
    int (*check_options)(const void *options, const char **key, struct text *why);
    /* Checks the point and options together; -1: reason. NULL: all points can be run. */
    int (*check)(const struct point *point, const void *options, struct text *why);
    /* Looks at the files that the options name, as a run will find them. Appends to `notes`,
     * a line each, what is good to know beforehand, of what depends on the point that of this
     * one; -1: they cannot be used, `why` has a line for each fault. */
    int (*look)(const struct point *point, const void *options, struct text *notes,
                struct text *why);
    /* A mark of what predictions and estimates take from those files: appends one line, another
     * one when they are others; nothing when the options name none. -1: they cannot be read. */
    int (*fingerprint)(const void *options, struct text *out, struct text *why);
    /* The value that the options give a dimension (a model has a width of its own); missing:
     * the point decides. */
    struct reading (*fixed)(enum dimension dimension, const void *options);
    /* Arithmetic of weights and KV bytes; missing where it has no such notion. */
    void (*estimate)(const struct point *point, int dtype, const void *options,
                     struct reading *weights, struct reading *kv);
    /* Floating-point operations of one execution, a multiplication and an addition being two:
     * products and attention, for an assumption of how long it takes. */
    double (*operations)(const struct point *point, const void *options);
};
extern const struct workload *const workloads[]; /* NULL-terminated; only those that exist */
const struct workload *workload_find(const char *name);
/* Its check of a point, if it has one. */
int workload_check(const struct workload *workload, const struct point *point,
                   const void *options, struct text *why) MUST_CHECK;

#endif
