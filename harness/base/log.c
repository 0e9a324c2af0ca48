#include "harness/base/log.h"

#include <string.h>
#include <unistd.h>

/* The only mutable globals of the house: who speaks, and how much. */
static const char *log_program = "highwater";
static enum log_level log_most = LOG_NOTE;

void log_open(const char *program, enum log_level most)
{
    log_program = program;
    log_most = most;
}

/* Every line of a message carries the program's name, and a message is one write: the lines of
 * several ranks on one terminal stay whole. */
void log_at(enum log_level level, const char *format, ...)
{
    if (level > log_most)
        return;
    struct text given = TEXT_INIT, message = TEXT_INIT, out = TEXT_INIT;
    va_list arguments;
    va_start(arguments, format);
    text_addv(&given, format, arguments);
    va_end(arguments);
    text_add_shown(&message, text_string(&given), given.length);

    const char *at = text_string(&message);
    do {
        size_t length = strcspn(at, "\n");
        text_addf(&out, "%s: %s%.*s\n", log_program, level == LOG_WARNING ? "warning: " : "",
                  (int)length, at);
        at += length;
    } while (*at != '\0' && *++at != '\0');

    ssize_t ignored = write(STDERR_FILENO, out.data, out.length);
    (void)ignored; /* there is nowhere left to complain */
    text_release(&out);
    text_release(&message);
    text_release(&given);
}
