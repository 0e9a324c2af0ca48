/* forecast_from: what `forecast` starts from: recordings, cards. */
#ifndef HIGHWATER_COMMAND_FORECAST_FROM_H
#define HIGHWATER_COMMAND_FORECAST_FROM_H

#include "harness/command/forecast_view.h"

struct forecast_source {
    const char **operands; /* VALUE=TRACE.csv, or one results folder */
    size_t count;
    const char *dimension, *device; /* of a folder: which; "" when it has only one */
};
struct forecast_found {
    struct take *takes; /* rising by value */
    size_t take_count;
    /* Of a folder, as its rows have it; else NULL or missing. */
    const char *dimension;
    char *allocator, *settings; /* the latter: "key=value;…" */
    struct reading capacity, outside, limit;
};
/* Release it in either case. */
int forecast_find(const struct forecast_source *source, struct forecast_found *found,
                  struct text *why) MUST_CHECK;
void forecast_found_release(struct forecast_found *found);
bool forecast_is_folder(const char *operand); /* and not VALUE=TRACE.csv */

/* Of an INI file, a section [NAME] each with `capacity`, and maybe `outside` and `reserve`
 * (what the driver keeps of the capacity). `outside` stands for those that do not say it. */
int forecast_cards_read(const char *path, struct reading outside, struct forecast_card **cards,
                        size_t *count, struct text *why) MUST_CHECK;

#endif
