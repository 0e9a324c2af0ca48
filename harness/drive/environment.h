/* environment: what a study runs in: devices, driver, libraries, MPI, host, and variables that
 * change what a run does; the same facts for the command `environment` and environment.json.
 */
#ifndef HIGHWATER_DRIVE_ENVIRONMENT_H
#define HIGHWATER_DRIVE_ENVIRONMENT_H

#include "harness/base/json.h"

/* Whatever cannot be told is null in it. `files`: of study_fingerprint, "" none. */
struct json *environment_gather(const char *command_line, const char *files);

#endif
