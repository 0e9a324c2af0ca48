/* limits: what the runs of one sweep or boundary say together: how far its values fit. */
#ifndef HIGHWATER_REPORTS_LIMITS_H
#define HIGHWATER_REPORTS_LIMITS_H

#include "reports/run_line.h"

/* Lines of one run_line_group, sorted by value. Appends a line: the largest value that fits in
 * every run, the smallest that does not, and the unstable ones (a rank had both outcomes there,
 * and none had only failures). Where ranks differ, each has a line of its own below; alone that
 * is devices, under phases = both it is split and whole runs. A run that was not judged settles
 * nothing. */
void limits_add_text(const struct run_line *lines, size_t count, struct text *out);

#endif
