/* forecast_folder: what a results folder gives a forecast: recordings of runs that ended well,
 * their values, and the settings that they were made with. */
#ifndef HIGHWATER_COMMAND_FORECAST_FOLDER_H
#define HIGHWATER_COMMAND_FORECAST_FOLDER_H

#include "harness/command/forecast_from.h"

/* As forecast_find. */
int forecast_folder_read(const struct forecast_source *source, struct forecast_found *found,
                         struct text *why) MUST_CHECK;

#endif
