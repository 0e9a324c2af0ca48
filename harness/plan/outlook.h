/* outlook: what a plan's points will need on the cards of a study, for `plan` to print.
 *
 * Everything in it is computed by plan_predict or assumed; nothing is observed but the capacity
 * that NVML tells of a real card.
 */
#ifndef HIGHWATER_PLAN_OUTLOOK_H
#define HIGHWATER_PLAN_OUTLOOK_H

#include "harness/plan/placement.h"
#include "harness/plan/plan.h"

/* Ranks whose devices give the same bytes. */
struct seat_group {
    char *ranks;             /* "rank 0", "ranks 0, 2" */
    struct seat seat;        /* of the first of them */
    struct reading capacity; /* for people; missing: there was no device to ask, and whether a
                                point fits is not judged */
    const char *basis;       /* where that comes from, for people */
};

enum { OUTLOOK_COUNTERS = 6 };
extern const enum column outlook_columns[OUTLOOK_COUNTERS];

struct outlook_phase {
    char *phase, *pass; /* pass may be NULL */
    int status;         /* enum status */
    uint64_t times;     /* repeats with the same counters are one entry */
    struct reading counters[OUTLOOK_COUNTERS]; /* of outlook_columns */
};
/* One point in one group. */
struct point_outlook {
    struct outlook_phase *phases;
    size_t phase_count;
    struct reading allocated_peak, reserved_peak; /* the largest of the phases */
    bool fits;
    char *failed_phase; /* "" when it fits */
};
/* The search for one boundary in one group. */
struct boundary_outlook {
    struct reading last_fit; /* missing: none fits, or not judged */
    bool none;               /* predicted: not even the first value fits */
};
struct outlook {
    struct seat_group *groups;
    size_t group_count;
    size_t *group_of_rank; /* alone: of a place less one */
    uint64_t ranks;        /* devices of the study, each with a rank */
    bool ranks_unknown;    /* there is none to count: it is planned for one */
    size_t *point_of_run;  /* of each run of the plan */
    size_t *points;        /* each point's first run in the plan, in launch order */
    size_t point_count;
    struct point_outlook *outlooks;      /* point x group */
    uint64_t duration_ns;                /* assumed, of the plan's runs */
    struct boundary_outlook *boundaries; /* boundary x group */
};

/* The seats of a study, which say how many devices a plan is for. `capacity` replaces theirs
 * when it is known. */
int outlook_open(const struct study *study, struct reading capacity, struct outlook *outlook,
                 struct text *why) MUST_CHECK;
/* Looks at every point of the plan in every group. Release it in either case. */
int outlook_make(const struct study *study, const struct plan *plan, struct outlook *outlook,
                 struct text *why) MUST_CHECK;
void outlook_release(struct outlook *outlook);
const struct point_outlook *outlook_of_point(const struct outlook *outlook, size_t point,
                                             size_t group);
/* The groups that a run has a rank in: all, or alone its own. NULL: of every run. */
void outlook_groups_of(const struct outlook *outlook, const struct plan_run *run, size_t *first,
                       size_t *end);
/* The most runs that the searches for a boundary make together. */
uint64_t outlook_boundary_runs(const struct outlook *outlook, const struct study *study,
                               const struct study_boundary *boundary);

#endif
