/* runs: which runs a table already holds; a name and statuses each, in the least room. */
#ifndef HIGHWATER_RECORD_RUNS_H
#define HIGHWATER_RECORD_RUNS_H

#include "harness/record/row.h"

#include <stddef.h>
#include <stdint.h>

struct run_record {
    size_t name;       /* where it begins in `names` */
    uint32_t statuses; /* bit per enum status of its closing rows */
};

struct run_set {
    struct text names;       /* one behind the other, each with its NUL */
    struct run_record *runs; /* in the order of the table */
    size_t count;
    uint32_t *index; /* open addressing: place in runs + 1, 0 free */
    size_t index_room;
    uint64_t last_order; /* the largest launch sequence of all runs, 0: none says */
};
#define RUN_SET_INIT {.count = 0}

/* What a run counts as, by the statuses of all its ranks. */
enum run_count { COUNTS_AS_FITTED, COUNTS_AS_FAILED, COUNTS_AS_SKIPPED };
enum run_count run_counts_as(uint32_t statuses);

/* A run of the same name is replaced: it was run again. */
void run_set_put(struct run_set *set, const char *name, uint64_t order, uint32_t statuses);
/* NULL: not in the set. Valid until the next put. */
const struct run_record *run_set_find(const struct run_set *set, const char *name);
const char *run_set_name(const struct run_set *set, size_t place);
void run_set_release(struct run_set *set);

#endif
