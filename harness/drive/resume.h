/* resume: may this study go on in that folder, and which of its runs are made already?
 *
 * The frozen study, environment.json and the rows are the truth. Rows of two devices, drivers,
 * programs or studies never stand in one table.
 */
#ifndef HIGHWATER_DRIVE_RESUME_H
#define HIGHWATER_DRIVE_RESUME_H

#include "harness/plan/placement.h"
#include "harness/record/results.h"

struct json;
struct resume {
    struct run_set done; /* of the table; whoever runs adds to it */
    uint32_t retry;      /* bit per status: such runs are made again */
    bool changed;        /* the study has grown: it is to be frozen anew */
    struct text changes; /* the difference, a line each; "" none */
    struct row ours;     /* what all rows of the study say */
};
/* Statuses of --retry, separated by commas, into bits; "" none. */
int resume_retry_words(const char *words, uint32_t *statuses, struct text *why) MUST_CHECK;
/* Compares with the frozen study. -1: another study; the difference is in `why`. `retry`: what
 * is asked for beside what is always made again. Release it in either case. */
int resume_open(struct resume *resume, const char *folder, const struct study *study,
                uint32_t retry, struct text *why) MUST_CHECK;
void resume_close(struct resume *resume);
/* Driver, libraries and program against environment.json. -1: others. */
int resume_check_machine(const char *folder, const struct json *environment,
                         struct text *why) MUST_CHECK;
/* The closing rows of one run against what the study writes for the run that they say they are
 * of, its name included. -1: they say something else, or the study has no such run. */
int resume_check_rows(const struct resume *resume, const struct study *study,
                      const struct row *closing, size_t ranks, struct text *why) MUST_CHECK;
/* Kinds of devices against the closing rows of one run. -1: others. */
int resume_check_devices(const struct placement *all, const struct row *closing, size_t ranks,
                         struct text *why) MUST_CHECK;
/* Is it in the table, with an end that stays? */
bool resume_is_done(const struct resume *resume, const char *run);

#endif
