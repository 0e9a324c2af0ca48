/* live: the page where a child's counters outlive it.
 *
 * A small file on a memory file system (path in HIGHWATER_LIVE), created and sized by the
 * rank before the child starts, mapped by both. A slot per process and device: the child
 * claims one, updates it under a sequence lock at every block, and the rank copies it out
 * whenever it wants, also after the child was killed in the middle of a phase.
 */
#ifndef HIGHWATER_PROTOCOL_LIVE_H
#define HIGHWATER_PROTOCOL_LIVE_H

#include "harness/protocol/counters.h"

#define LIVE_VARIABLE "HIGHWATER_LIVE"
#define LIVE_LAYOUT 1u
#define LIVE_SLOTS 8
#define LIVE_NAME 48

struct live_state {
    uint64_t pid;
    char phase[LIVE_NAME]; /* "" before the first */
    char pass[8];
    struct reading repeat;
    char refused_by[8]; /* "" or who refused last: device, limit, host */
    struct counters counters;
};

struct live_page; /* mapped */

/* Rank: creates and allocates the file (never sparse), so that a full disk fails here. */
int live_create(const char *path, struct text *why) MUST_CHECK;
/* Child and rank: maps it; refuses another layout. */
int live_open(const char *path, struct live_page **page, struct text *why) MUST_CHECK;
void live_close(struct live_page *page);

/* Child: claims a slot (-1: none free), then publishes whole states. */
int live_claim(struct live_page *page, uint64_t pid) MUST_CHECK;
void live_publish(struct live_page *page, int slot, const struct live_state *state);

/* Rank: a consistent copy; false when the slot was never claimed. After the writer's death in
 * the middle of an update the last complete state is given (two copies are kept). */
bool live_read(const struct live_page *page, int slot, struct live_state *state);
/* Are both in one phase, pass and repeat? */
bool live_same_phase(const struct live_state *a, const struct live_state *b);

#endif
