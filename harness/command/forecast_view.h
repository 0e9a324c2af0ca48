/* forecast_view: what `forecast` answers, and the words for it. */
#ifndef HIGHWATER_COMMAND_FORECAST_VIEW_H
#define HIGHWATER_COMMAND_FORECAST_VIEW_H

#include "harness/forecast/limit.h"

/* A card that is asked about, and what was answered. */
struct forecast_card {
    char *name;                       /* "" when it was given as a size */
    struct reading capacity, outside; /* both missing: no card, only what is needed */
    struct foretold *values;          /* as many as were asked for */
    bool limited;                     /* the limit was asked for */
    struct foretold_limit limit;
};
struct forecast_view {
    const char *dimension, *allocator, *outside_basis;
    const struct take *takes; /* borrowed */
    size_t take_count;
    struct script script;
    struct foretold_check *checks; /* take_count of them, or NULL */
    struct forecast_card *cards;
    size_t card_count;
    uint64_t *values; /* asked for */
    size_t value_count;
    uint64_t asked; /* the largest value that is of interest, or 0 */
};

/* "fits", "does not fit", "may not fit"; "" without a card. */
const char *forecast_verdict(const struct forecast_card *card, const struct foretold *foretold);
/* "5.7 times the largest recorded", "between those recorded"; "recorded" itself. */
void forecast_add_reach(const struct forecast_view *view, uint64_t value, struct text *out);
/* "a.trace.csv (2), b.trace.csv (3)" */
void forecast_add_sources(const struct forecast_view *view, struct text *out);
/* A value that would test the forecast, if it were recorded. */
uint64_t forecast_worth_recording(const struct forecast_view *view);
/* The forecast's error as parts of the truth: 0 when it is framed. */
double forecast_error(const struct bounds *range, struct reading truth);

#endif
