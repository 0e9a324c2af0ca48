/* ranksetting: what the driver tells highwater-rank on its command line; one table writes it
 * and reads it.
 *
 *     highwater-rank --run-folder=… … -- CHILD [its words]
 *
 * CHILD is the name of a program beside highwater-rank, or a path. Lists hold one entry per
 * rank, separated by commas; an empty entry is missing.
 */
#ifndef HIGHWATER_PROTOCOL_RANK_SETTING_H
#define HIGHWATER_PROTOCOL_RANK_SETTING_H

#include "harness/base/reading.h"
#include "harness/base/argv.h"

struct rank_setting {
    char *run_folder;   /* shards and standard error, visible to all hosts */
    char *live_folder;  /* live pages and phase files, on this host's memory */
    uint64_t ranks;     /* expected size of the world */
    uint64_t timeout;   /* ns, from the start barrier */
    uint64_t settle;    /* ns, longest wait for the card's baseline */
    uint64_t sample;    /* ns between two samples */
    int backend;        /* enum study_backend */
    char *devices;      /* UUIDs; cuda only */
    char *shared;       /* yes or empty: the device is another rank's too */
    char *baselines;    /* bytes in use on each device before the study */
    char *capacities;   /* bytes of simulated and host devices; cuda: limits on allocators */
    uint64_t overhead;  /* bytes; simulated */
    char *fault;        /* PHASE:KIND[:RANK], or empty */
    bool trace;         /* the child records what it asks of its allocator */
    bool speaks_phases; /* the child is expected to close phases */
    bool stops_others;  /* a rank that fails ends the others' children */
};
extern const struct option rank_options[];

/* Takes the words up to "--"; *child is the index of the first word behind it. */
int rank_setting_read(int argc, char **argv, struct rank_setting *setting, int *child,
                      struct text *why) MUST_CHECK;
void rank_setting_release(struct rank_setting *setting);

/* Entry `rank` of a list: NULL when the list is shorter or the entry empty; the caller frees.
 */
char *rank_entry(const char *list, uint64_t rank) MUST_CHECK;
/* The same as bytes; missing when there is none. */
struct reading rank_bytes(const char *list, uint64_t rank);
/* PHASE:KIND when the fault concerns this rank (one without :RANK concerns all), else NULL; the
 * caller frees. */
char *rank_fault(const char *fault, uint64_t rank) MUST_CHECK;

#endif
