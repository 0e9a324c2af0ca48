/* request: a run as the words of highwater-workload's command line:
 *
 *     WORKLOAD --batch=N … --dtype=NAME --warmup=N --repeats=N --seed=N --phases=split|whole
 *     --backend=NAME --ordinal=N --capacity=SIZE --overhead=SIZE --allocator=NAME
 *     --empty-cache=NAME --trace=FILE --fault=PHASE:KIND --expect-uuid=UUID, allocator options,
 * options of the workload's own section
 */
#ifndef HIGHWATER_WORKLOAD_REQUEST_H
#define HIGHWATER_WORKLOAD_REQUEST_H

#include "kernels/backends.h"
#include "harness/workload/workload.h"

struct request {
    struct setting setting; /* owned, its texts too */
    const struct backend *backend;
};

/* argv[0] is the workload's name. -1: the reason names the word. */
int request_read(int argc, char **argv, struct request *request, struct text *why) MUST_CHECK;
void request_release(struct request *request);
/* Usage and every option, those of all workloads included. */
void request_help(struct text *out);

#endif
