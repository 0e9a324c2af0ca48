/* speaker: where the phases of a child go: to its rank (the phase file of HIGHWATER_PHASES),
 * or, without one, to a table for people. */
#ifndef HIGHWATER_WORKLOAD_SPEAKER_H
#define HIGHWATER_WORKLOAD_SPEAKER_H

#include "harness/workload/workload.h"

struct speaker {
    int phases;        /* descriptor of the phase file, -1: none */
    struct text table; /* for people, when there is no phase file */
    struct text error; /* of the experiment: what the fail line said, "" when none was said */
    struct text why;   /* a phase line could not be written: its reason; "" when all were */
};

/* -1: the phase file cannot be opened. */
int speaker_open(struct speaker *speaker, const char *phases_path, struct text *why) MUST_CHECK;
/* As phase_listener.line; after a line could not be written nothing more is. */
void speaker_line(void *speaker, const char *verb, const struct row *row);
/* The last line of a run that ended well. */
void speaker_bye(struct speaker *speaker);
void speaker_close(struct speaker *speaker);

#endif
