/* observe: everything that is known of one rank's run, as rows: one per begun phase, then the
 * closing row. The rank does this for itself; the driver does it for a rank that was lost.
 */
#ifndef HIGHWATER_OBSERVE_CHILD_ROWS_H
#define HIGHWATER_OBSERVE_CHILD_ROWS_H

#include "harness/verdict/classify.h"
#include "harness/observe/sampler.h"

struct observation {
    const struct row *about;           /* of the rank and its device: fills every row */
    const struct phase_record *record; /* what the child said */
    const struct sampler *sampler;     /* NULL: nothing was sampled */
    const struct ending *ending;       /* NULL: there was no child, or nobody saw it end */
    const struct verdict *verdict;
    struct reading wall_ns;
    struct reading card_bytes; /* of the whole card, as seen from outside */
};
/* The caller releases each row and frees the array. */
void observe(const struct observation *observation, struct row **rows, size_t *count);
void rows_release(struct row *rows, size_t count);

#endif
