/* runs: which runs a table already holds; a name, an order and statuses each. */
#ifndef HIGHWATER_RECORD_RUNS_H
#define HIGHWATER_RECORD_RUNS_H

#include "harness/record/row.h"

#include <stddef.h>
#include <stdint.h>

struct run_record {
    char *name;        /* owned by the set */
    uint64_t order;    /* launch sequence; 0: the rows do not say */
    uint32_t statuses; /* bit per enum status of its closing rows */
};

struct run_set {
    struct run_record *runs; /* in the order of the table */
    size_t count, room;
    size_t *index; /* open addressing: place in runs + 1, 0 free */
    size_t index_room;
};
#define RUN_SET_INIT                                                                           \
    {                                                                                          \
        NULL, 0, 0, NULL, 0                                                                    \
    }

/* A run of the same name is replaced: it was run again. */
void run_set_put(struct run_set *set, const char *name, uint64_t order, uint32_t statuses);
/* NULL: not in the set. Valid until the next put. */
const struct run_record *run_set_find(const struct run_set *set, const char *name);
/* The largest order of all runs, 0 when there is none. */
uint64_t run_set_last_order(const struct run_set *set);
void run_set_release(struct run_set *set);

#endif
