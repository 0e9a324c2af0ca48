/* limit: the largest value that fits on a card. */
#ifndef HIGHWATER_FORECAST_LIMIT_H
#define HIGHWATER_FORECAST_LIMIT_H

#include "harness/forecast/foretell.h"

/* The largest value that fits in every version, and the next one, which does not in some. */
struct foretold_limit {
    uint64_t step; /* values at which all sizes are whole */
    bool none;     /* not even the smallest recorded value fits: it is in `beyond` */
    bool endless;  /* nothing was refused up to the largest value tried, in `fits` */
    struct foretold fits, beyond;
    struct reading most; /* the largest value that fits in some version, where that is more */
    uint64_t tried;
};
/* setting->room is known. By bisection: what lies between is not tried. */
int foretell_limit(const struct script *script, const struct foretell_setting *setting,
                   struct foretold_limit *limit, struct text *why) MUST_CHECK;
void foretold_limit_release(struct foretold_limit *limit);

#endif
