/* forecast: what a plan's points will need on the cards of a study, for `plan` to print.
 *
 * Everything in it is computed by plan_predict or assumed; nothing is observed but the capacity
 * that NVML tells of a real card.
 */
#ifndef HIGHWATER_PLAN_OUTLOOK_H
#define HIGHWATER_PLAN_OUTLOOK_H

#include "harness/plan/plan.h"

/* Ranks whose device gives the same bytes. */
struct card {
    char *ranks;             /* "rank 0", "ranks 0, 2" */
    struct plan_room room; /* capacity missing: no device was there to ask; no fit is judged */
    const char *basis; /* where the capacity comes from, for people */
};

enum { FORECAST_COUNTERS = 6 };
extern const enum column forecast_columns[FORECAST_COUNTERS];

struct forecast_phase {
    char *phase, *pass; /* pass may be NULL */
    int status;         /* enum status */
    uint64_t times;     /* repeats with the same counters are one entry */
    struct reading counters[FORECAST_COUNTERS]; /* of forecast_columns */
};
/* One point on one card. */
struct outlook {
    struct forecast_phase *phases;
    size_t phase_count;
    struct reading allocated_peak, reserved_peak; /* the largest of the phases */
    bool fits;
    char *failed_phase; /* "" when it fits */
};
/* The search for one boundary on one card. */
struct boundary_outlook {
    struct reading last_fit; /* missing: none fits, or not judged */
    bool none;               /* predicted: not even the first value fits */
};
struct forecast {
    struct card *cards;
    size_t card_count;
    size_t *card_of_rank; /* alone: of a place less one */
    uint64_t ranks;       /* devices of the study, each with a rank */
    bool ranks_unknown;   /* there is none to count: it is planned for one */
    size_t *point_of_run; /* of each run of the plan */
    size_t *points;       /* each point's first run in the plan, in launch order */
    size_t point_count;
    struct outlook *outlooks; /* point x card */
    uint64_t duration_ns;     /* assumed, of the plan's runs */
    struct boundary_outlook *boundaries; /* boundary x card */
};

/* The cards of a study, which say how many devices a plan is for. `capacity` replaces theirs
 * when it is known. */
int forecast_open(const struct study *study, struct reading capacity,
                  struct forecast *forecast, struct text *why) MUST_CHECK;
/* Looks at every point of the plan on every card. Release it in either case. */
int forecast_make(const struct study *study, const struct plan *plan,
                  struct forecast *forecast, struct text *why) MUST_CHECK;
void forecast_release(struct forecast *forecast);
const struct outlook *forecast_of(const struct forecast *forecast, size_t point, size_t card);
/* The cards that a run has a rank on: all, or alone its own. NULL: of every run. */
void forecast_cards_of(const struct forecast *forecast, const struct plan_run *run,
                       size_t *first, size_t *end);
/* The most runs that the searches for a boundary make together. */
uint64_t forecast_boundary_runs(const struct forecast *forecast, const struct study *study,
                                const struct study_boundary *boundary);
/* pace.c: how long a run is assumed to take, and the rule behind it in words. */
double pace_assumed_ns(const struct study *study, const struct plan_run *run,
                       const struct outlook *outlook);
const char *pace_rule(const struct study *study);

/* cards.c */
int cards_find(const struct study *study, struct reading capacity, struct forecast *forecast,
               struct text *why) MUST_CHECK;
void cards_release(struct card *cards, size_t count);

#endif
