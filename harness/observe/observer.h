/* observer: a rank's work but for MPI: the device before, during and after the child, the child
 * itself, and the shard in which it is all written down.
 */
#ifndef HIGHWATER_OBSERVE_OBSERVER_H
#define HIGHWATER_OBSERVE_OBSERVER_H

#include "harness/observe/card.h"
#include "harness/protocol/rank_setting.h"

/* How ranks of a coupled program tell each other that one has failed. */
struct observer_peers {
    void (*tell)(void *user);                 /* all others: our child failed */
    bool (*told)(void *user, uint64_t *rank); /* did one tell us, and which first? */
    void *user;
};

struct observer {
    const struct observer_peers *peers; /* NULL: each for itself; borrowed, as are the next */
    const struct rank_setting *setting; /* borrowed, as are the next two */
    const struct watch *watch;
    char *const *child;  /* words of the child, NULL-terminated */
    const char *program; /* what to start */
    uint64_t rank;
    int shard;                    /* descriptor */
    char *errors, *phases, *live; /* paths of the child's files */
    char *trace;                  /* NULL: nothing is recorded */
    struct card card;
    struct row about; /* what is known of rank and device, in every row */
    enum card_state state;
    uint64_t told_ns;      /* when a peer's failure was heard of; 0: none failed */
    uint64_t failed_first; /* that peer */
    bool failed;           /* our own child did not end well */
    struct text refusal;   /* why there will be no child; empty: there will */
};
/* Says in the shard that this rank has started. The struct is zeroed but for the borrowed
 * members, the program and the rank. -1: the folders cannot be written. */
int observer_start(struct observer *observer, struct text *why) MUST_CHECK;
/* Finds the device, waits for its baseline, makes the live page. What is wrong with the device
 * is a result of the run, not a failure here. -1: files; 1: a signal ended the wait. */
int observer_prepare(struct observer *observer, struct text *why) MUST_CHECK;
/* Past the start barrier: runs the child to its end and completes the shard. Returns within the
 * timeout and 2 s. -1: the shard cannot be written. */
int observer_run(struct observer *observer, struct text *why) MUST_CHECK;
void observer_close(struct observer *observer);

#endif
