/* limits: what the runs of one sweep or boundary say together: how far its values fit. */
#ifndef HIGHWATER_REPORTS_LIMITS_H
#define HIGHWATER_REPORTS_LIMITS_H

#include "reports/run_line.h"

/* Lines of one run_line_group, sorted by value. Appends a line: the largest value that fits in
 * every run, the smallest that does not, and what is unstable (a rank had both outcomes at a
 * value, and none had only failures; a value fits above one that does not). Where ranks differ,
 * each has a line of its own below; alone that is devices, under phases = both it is split and
 * whole runs. There are only those lines where some were not run at every value. A run that was
 * not judged counts neither as fitting nor as failing. `so_far`: runs of these are left, and
 * each line says it. */
void limits_add_text(const struct run_line *lines, size_t count, bool so_far, struct text *out);

#endif
