/* child_rows: everything that is known of one rank, as rows: one per begun phase, then the
 * closing row. The rank does this for its own child; the driver for that of a lost rank.
 */
#ifndef HIGHWATER_VERDICT_CHILD_ROWS_H
#define HIGHWATER_VERDICT_CHILD_ROWS_H

#include "harness/verdict/classify.h"

struct child_rows {
    struct row *rows;
    size_t count;
    bool failed; /* a reason to end its peers */
};
/* Judges a child whose end was seen. */
void child_rows_make(const struct child_facts *facts, struct child_rows *rows);
/* Beside a verdict that was given: only a spill changes it. */
void child_rows_of(const struct child_facts *facts, const struct verdict *verdict,
                   struct child_rows *rows);
void child_rows_release(struct child_rows *rows);

#endif
