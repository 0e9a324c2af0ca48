/* sizes: how many bytes every request of a script asks for, and how often its loops run; for
 * harness/forecast only. */
#ifndef HIGHWATER_FORECAST_SIZES_H
#define HIGHWATER_FORECAST_SIZES_H

#include "harness/forecast/layout.h"

int sizes_find(struct script *script, const struct layout *layout, struct text *why) MUST_CHECK;

#endif
