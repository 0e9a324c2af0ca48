/* frees: where a script frees its blocks; for
 * harness/forecast only. */
#ifndef HIGHWATER_FORECAST_FREES_H
#define HIGHWATER_FORECAST_FREES_H

#include "harness/forecast/layout.h"

int frees_find(struct script *script, const struct layout *layout, struct text *why) MUST_CHECK;

#endif
