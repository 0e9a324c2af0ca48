/* changes: where a table's cards changed between two runs (record/card_facts.h). Runs before
 * and after it are not to be compared: they stand in tables of their own, with limits of their
 * own. Runs of one study are on one set of cards; alone on one for each device.
 */
#ifndef HIGHWATER_REPORTS_CHANGES_H
#define HIGHWATER_REPORTS_CHANGES_H

#include "reports/run_line.h"

#include <stddef.h>

struct changes {
    struct card_set *sets;
    size_t count;
    struct text said; /* a line each: "study s: change 1, seen in r-batch-3-t1, behind …" */
};
/* Lines in the order of the table: when one begins, and its closing row. Each gives the number
 * of changes up to this run on its set of cards, those that this run shows included. Texts of
 * lines are borrowed. */
size_t changes_begin(struct changes *changes, const struct run_line *line);
size_t changes_take(struct changes *changes, const struct run_line *line,
                    const struct row *closing);
void changes_release(struct changes *changes);

#endif
