/* boundary: the search for the largest value that fits, found by runs. Pure: it is fed outcomes
 * and says which value to run next; it runs nothing and knows no device.
 *
 *     boundary_open(&search, &boundary, guess);
 *     while (boundary_next(&search, &value, &trial))
 *         boundary_feed(&search, value, run it);
 *     boundary_answer(&search, &answer);
 *
 * It starts at the guess, gallops away from it while outcomes stay the same, bisects between a
 * fit and a failure, and then runs the last fit and the first failure again until `confirm`
 * fresh processes agree on each. A value with both outcomes is unstable: it is neither, and the
 * search goes on below it for the last fit and above it for the first failure. A noiseless
 * search takes at most 2 + 2 confirm runs when the guess is right; no search takes more than 2
 * log2(number of values) + 2 confirm.
 *
 * What to run next depends on the guess and on what was seen, so that a search is resumed by
 * feeding it the rows that there are, in order; what is said depends on what was seen alone.
 * With several devices each has a search of its own; a run that one of them asks for is fed to
 * all, and counts against the bound of one, the first that it is of use to.
 */
#ifndef HIGHWATER_PLAN_BOUNDARY_H
#define HIGHWATER_PLAN_BOUNDARY_H

#include "harness/study/study.h"

enum boundary_outcome {
    BOUNDARY_FITS,
    BOUNDARY_FAILS,      /* out of memory, refused by the device: nothing else moves it */
    BOUNDARY_NOT_JUDGED, /* any other end */
    BOUNDARY_AGAIN,      /* likewise, and whoever resumes the study makes such runs again */
};

/* What was seen at one value. */
struct boundary_seen {
    uint64_t value;
    uint64_t fits, fails, not_judged; /* runs */
    uint64_t in_vain;                 /* not judged, one after the other since one was */
    uint64_t again_in_vain;           /* likewise, of BOUNDARY_AGAIN */
};

struct boundary_search {
    struct study_boundary boundary;
    uint64_t count;             /* of values: from, from + step, … up to `to` */
    struct reading guess;       /* number of a value, from 0 */
    struct boundary_seen *seen; /* ascending; values that were not run are not there */
    size_t seen_count;
    uint64_t spent, most; /* runs that it asked for, and may ask for */
    uint64_t spent_again; /* likewise, of BOUNDARY_AGAIN: they end this search, not the next */
};

/* `guess`: the largest value predicted to fit, `from` when none is; missing: no prediction. */
void boundary_open(struct boundary_search *search, const struct study_boundary *boundary,
                   struct reading guess);
void boundary_close(struct boundary_search *search);
/* The value to run next, and the number of that run among those at this value, from 1. False:
 * the search has ended. */
bool boundary_next(const struct boundary_search *search, uint64_t *value,
                   uint64_t *trial) MUST_CHECK;
/* The outcome of a run at a value of the boundary, asked for or not; others are ignored. True:
 * it is of use, and counts against the bound if `counts` (no other search has counted it). */
bool boundary_feed(struct boundary_search *search, uint64_t value,
                   enum boundary_outcome outcome, bool counts);
/* What was fed up to now is of an earlier driver: runs to be made again have not been tried. */
void boundary_resume(struct boundary_search *search);

enum boundary_end {
    /* Both were seen `confirm` times, and are neighbours or have unstable ones between them
     * (the first and the last of that stretch were run, not all inside). An end of the range
     * stands for what is not there. */
    BOUNDARY_CONFIRMED,
    BOUNDARY_UNDECIDED, /* a value in between was never judged, however often it was run */
    BOUNDARY_SPENT,     /* the bound on runs was reached first */
    BOUNDARY_RUNNING,   /* or left, after runs that are made again, for who resumes it */
};
extern const char *const boundary_end_names[]; /* "confirmed", …; by enum boundary_end */
struct boundary_answer {
    enum boundary_end end;
    struct reading fits;  /* the largest value that only fitted; missing: none that was run */
    struct reading fails; /* the smallest value above it that only failed; missing likewise */
    uint64_t fits_runs, fails_runs;
    bool none, all; /* confirmed: even `from` fails; even the last value fits */
};
void boundary_answer(const struct boundary_search *search, struct boundary_answer *answer);
/* Is what was seen at this value at odds with the answer: both outcomes, or a fit above the
 * first failure? */
bool boundary_is_unstable(const struct boundary_answer *answer,
                          const struct boundary_seen *seen);
/* Appends "fits 40 (2 of 2 runs), fails 42 (2 of 2), unstable at 41 (1 of 3 fitted)". */
void boundary_add_text(const struct boundary_search *search, struct text *out);

#endif
