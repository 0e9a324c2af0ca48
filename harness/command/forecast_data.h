/* forecast_data: the answers of `forecast` as CSV and JSON. */
#ifndef HIGHWATER_COMMAND_FORECAST_DATA_H
#define HIGHWATER_COMMAND_FORECAST_DATA_H

#include "harness/command/forecast_view.h"

void forecast_data_add_csv(const struct forecast_view *view, struct text *out);
void forecast_data_add_json(const struct forecast_view *view, struct text *out);

#endif
