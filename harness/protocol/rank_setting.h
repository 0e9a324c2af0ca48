/* rank_setting: what the driver tells highwater-rank on its command line; one table writes it
 * and reads it.
 *
 *     highwater-rank --run-folder=… … --seat=… [--seat=…] -- CHILD [its words]
 *
 * CHILD is the name of a program beside highwater-rank, or a path. Each rank of the run has a
 * seat, in the order of the ranks.
 */
#ifndef HIGHWATER_PROTOCOL_RANK_SETTING_H
#define HIGHWATER_PROTOCOL_RANK_SETTING_H

#include "harness/nvml/seat.h"

struct rank_setting {
    char *run_folder;   /* shards and standard error, visible to all hosts */
    char *live_folder;  /* live pages and phase files, on this host's memory */
    uint64_t timeout;   /* ns, from the start barrier */
    uint64_t settle;    /* ns, longest wait for the card's baseline */
    uint64_t sample;    /* ns between two samples */
    char *fault;        /* PHASE:KIND[:RANK], or empty */
    bool trace;         /* the child records what it asks of its allocator */
    bool speaks_phases; /* the child is expected to close phases */
    bool stops_others;  /* a rank that fails ends the others' children */
    struct seat *seats; /* one per rank */
    uint64_t ranks;     /* of the run: seats */
};
void rank_setting_add_words(const struct rank_setting *setting, struct words *words);

/* Takes the words up to "--"; *child is the index of the first word behind it. */
int rank_setting_read(int argc, char **argv, struct rank_setting *setting, int *child,
                      struct text *why) MUST_CHECK;
void rank_setting_release(struct rank_setting *setting);

/* PHASE:KIND when the fault concerns this rank (one without :RANK concerns all), else NULL; the
 * caller frees. */
char *rank_fault(const char *fault, uint64_t rank) MUST_CHECK;

#endif
