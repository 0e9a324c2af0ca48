/* progress: what a person sees of a sweep on standard error: one line that is written again on
 * a terminal, however narrow and whenever resized; a line for each run elsewhere.
 */
#ifndef HIGHWATER_COMMAND_PROGRESS_H
#define HIGHWATER_COMMAND_PROGRESS_H

#include "harness/drive/sweep.h"

struct progress_view {
    const char *backend;
    bool terminal, quiet;
    size_t shown; /* columns of the line on the terminal, 0: none */
    struct sweep_progress last;
};
void progress_open(struct progress_view *view, const char *backend, bool quiet);
/* For struct sweep_request, with the view as user. */
void progress_show(void *view, const struct sweep_progress *progress);
/* The line on a terminal, in at most so many columns. What there is no room for is left out
 * whole, in this order: the elapsed time, counts, the run that ended, the remaining time, the
 * backend's name, all. */
void progress_add_line(const char *backend, const struct sweep_progress *progress,
                       size_t columns, struct text *out);
void progress_say(void *view, const char *message);
/* The last line: what was made, where it is, and after a signal what is left. */
void progress_end(struct progress_view *view, const char *folder, enum sweep_outcome outcome);
bool progress_is_signal(enum sweep_outcome outcome);

#endif
