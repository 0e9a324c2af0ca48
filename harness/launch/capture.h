/* capture: the output of a short program, with a deadline. */
#ifndef HIGHWATER_LAUNCH_CAPTURE_H
#define HIGHWATER_LAUNCH_CAPTURE_H

#include "harness/base/text.h"

#include <stdbool.h>

/* Runs it to its end; `environment` is added to ours, may be NULL. -1: it could not be started,
 * or did not end within 30 s and was killed. *code is its exit code, 128 + signal after one. */
int capture(const char *const *argv, const char *const *environment, struct text *output,
            struct text *error, int *code, struct text *why) MUST_CHECK;

/* True when a program of this name (or path) can be started. */
bool program_exists(const char *name);

#endif
