/* neighbour: did others take or give back memory of the card while the child ran? Three
 * witnesses, each enough by itself:
 *
 *   the card before the child and after it: its use, and that of the processes it lists;
 *   the samples: what others held while the child ran (where the driver tells processes);
 *   the child: a built-in workload takes at most a few GiB until its libraries are loaded;
 *   then what the device has in use beside the child's own reserved bytes stays as it was
 *   at the end of its phase `libraries`. At a refusal too, where reserved is not more than its
 *   peak: what is in use beyond both was taken by others, however short a time they had it.
 */
#ifndef HIGHWATER_OBSERVE_NEIGHBOUR_H
#define HIGHWATER_OBSERVE_NEIGHBOUR_H

#include "harness/observe/sampler.h"
#include "harness/protocol/phases.h"

/* True when a witness says so; appends what it says, in bytes. Never of a card that ranks of
 * this run share. */
bool neighbour_moved(const struct card *card, const struct sampler *sampler,
                     const struct phase_record *record, struct text *what);

#endif
