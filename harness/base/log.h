/* log: messages for people, on standard error. Only commands and mains log; rooms that are
 * libraries return their reasons instead, so that nothing is printed twice. */
#ifndef HIGHWATER_BASE_LOG_H
#define HIGHWATER_BASE_LOG_H

#include "harness/base/text.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_NOTE, LOG_DETAIL };

/* -q keeps errors only, the default shows notes, -v shows details. Every line of a message
 * begins with the program's name. */
void log_open(const char *program, enum log_level most);
void log_at(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);
#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_WARNING, __VA_ARGS__)
#define log_note(...) log_at(LOG_NOTE, __VA_ARGS__)
#define log_detail(...) log_at(LOG_DETAIL, __VA_ARGS__)

#endif
