/* forecast_text: the answers of `forecast` for people. */
#ifndef HIGHWATER_COMMAND_FORECAST_TEXT_H
#define HIGHWATER_COMMAND_FORECAST_TEXT_H

#include "harness/command/forecast_view.h"

void forecast_text_add(const struct forecast_view *view, struct text *out);

#endif
