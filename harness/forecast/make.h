/* make: a script's requests at a value, as a trace. */
#ifndef HIGHWATER_FORECAST_MAKE_H
#define HIGHWATER_FORECAST_MAKE_H

#include "harness/forecast/script.h"

enum version {
    VERSION_WITHOUT, /* no doubtful request at all: a lower bound of what is allocated, and no
                      * more than that (whoever frames the bytes reserved leaves it out) */
    VERSION_LEAST,   /* irregular requests: those not in every take left out, the others at two
                      * thirds of the fewest bytes per unit of the dimension that were seen */
    VERSION_FEWEST,  /* the others at the fewest bytes per unit that were seen */
    VERSION_WIDER,   /* as the last, and all doubtful ones a twentieth larger: how much is
                      * reserved hangs on small differences of them */
    VERSION_MOST,    /* all doubtful requests, at the most bytes per unit that were seen */
    VERSIONS,
};

/* Has it requests that differ between versions? */
bool script_is_doubtful(const struct script *script);
/* Values at which all sizes are whole numbers: every `step`-th, the largest take's among them.
 */
uint64_t script_step(const struct script *script);

/* The requests at a value. -1: a size would be negative, no integer or too large. */
int script_make(const struct script *script, uint64_t value, enum version version,
                struct trace *made, struct text *why) MUST_CHECK;

#endif
