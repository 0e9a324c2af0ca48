/* probes: the boundary searches of a study, one for each [boundary X] and rank, fed with rows.
 *
 * A run is asked for by the first search that wants one, and told to all of its boundary; with
 * placement = alone "rank" is the place of a device in the list, from 0, and a run is told to
 * the search of its device. Only an out-of-memory refused by the device moves a boundary; under
 * phases = both each probe is a split and a whole run, and the whole one decides. When a rank's
 * card is another than before (record/card_facts.h), its searches begin again. What is said of
 * the searches, and how many runs are left, depends on the rows alone: with or without guesses,
 * while they are made or when they are read back.
 */
#ifndef HIGHWATER_PLAN_SEARCHES_H
#define HIGHWATER_PLAN_SEARCHES_H

#include "harness/record/card_facts.h"
#include "harness/record/runs.h"
#include "harness/plan/boundary.h"
#include "harness/plan/plan.h"

struct probe_card {
    struct card_facts facts;
    uint64_t changes;
};
struct probes {
    const struct study *study;
    uint64_t ranks;
    struct boundary_search *searches; /* of boundary b and rank r: [b * ranks + r] */
    struct reading *guesses;          /* likewise */
    struct probe_card *cards;         /* per rank */
};
/* `guesses`, one for each search, is copied; NULL: no predictions. The study is borrowed. */
void probes_open(struct probes *probes, const struct study *study, uint64_t ranks,
                 const struct reading *guesses);
void probes_close(struct probes *probes);
/* The closing rows of one run, of any role. Appends a line for each card that changed. */
void probes_feed(struct probes *probes, const struct row *closing, size_t count,
                 struct text *said);
/* What was fed up to now was read back: boundary_resume. */
void probes_resume(struct probes *probes);
/* The run to make next, under a name that is not in `done`. False: all searches have ended. */
bool probes_next(const struct probes *probes, const struct run_set *done,
                 struct plan_run *run) MUST_CHECK;
/* How many runs are still to come, if nothing surprises. */
uint64_t probes_left(const struct probes *probes);
/* The search of boundary b of the study for a rank, or alone for a device, from 0. */
const struct boundary_search *probes_search(const struct probes *probes, size_t boundary,
                                            uint64_t rank);
/* A line for each search: "boundary batch: fits 40 …", with several ranks each by name. */
void probes_add_text(const struct probes *probes, struct text *out);

#endif
