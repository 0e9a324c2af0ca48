/* capture: the output of a short program, with a deadline. */
#ifndef HIGHWATER_BASE_CAPTURE_H
#define HIGHWATER_BASE_CAPTURE_H

#include "harness/base/text.h"

/* Runs it to its end; `environment`, which is added to ours, and `error` may be NULL. -1: it
 * could not be started, or did not end within 30 s and was killed. *code is its exit code,
 * 128 + signal after one. */
int capture(const char *const *argv, const char *const *environment, struct text *output,
            struct text *error, int *code, struct text *why) MUST_CHECK;

/* The output of a program that is asked a question: once more when it fails, which may have a
 * passing reason. Otherwise as capture. */
int capture_answer(const char *const *argv, struct text *output, int *code,
                   struct text *why) MUST_CHECK;

/* The path of a program as a shell would find it, so that later starts need not search; NULL
 * when it is not there or cannot be started. The caller frees. */
char *program_find(const char *name) MUST_CHECK;

#endif
