#include "harness/command/progress.h"

#include "harness/base/log.h"
#include "harness/base/units.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ENOUGH 3 /* runs before their durations tell anything about the rest */

void progress_open(struct progress_view *view, const char *backend, bool quiet)
{
    *view = (struct progress_view){.backend = backend,
                                   .quiet = quiet,
                                   .terminal = !quiet && isatty(STDERR_FILENO)};
}

/* --- a line on a terminal --- */

/* Asked each time: a resize needs no signal then. */
static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

/* Bytes of the first `columns` characters; all ours are one column wide. */
static size_t cut_at(const char *line, size_t columns, size_t *shown)
{
    size_t bytes = 0;
    *shown = 0;
    while (line[bytes] != '\0' && *shown < columns) {
        bytes++;
        while (((unsigned char)line[bytes] & 0xc0) == 0x80)
            bytes++;
        ++*shown;
    }
    return bytes;
}

/* A line that was made when the terminal was wider stands on several rows now. */
static void wipe(struct progress_view *view)
{
    size_t columns = terminal_columns();
    size_t above = view->shown > 0 ? (view->shown - 1) / columns : 0;
    if (view->shown > 0 && above > 0)
        fprintf(stderr, "\r\033[%zuA\033[J", above);
    else if (view->shown > 0)
        fputs("\r\033[K", stderr);
    view->shown = 0;
}

/* The last column stays free: some terminals wrap when it is written. */
static void draw(struct progress_view *view, const struct text *line)
{
    size_t columns = terminal_columns(), shown = 0;
    struct text safe = TEXT_INIT;
    text_add_shown(&safe, text_string(line), line->length);
    wipe(view);
    size_t bytes = cut_at(text_string(&safe), columns > 1 ? columns - 1 : 1, &shown);
    fprintf(stderr, "%.*s", (int)bytes, text_string(&safe));
    fflush(stderr);
    text_release(&safe);
    view->shown = shown;
}

/* --- its words --- */

static void add_counts(struct text *line, const struct sweep_progress *progress)
{
    text_addf(line, "%zu fitted, %zu failed", progress->fitted, progress->failed);
    if (progress->skipped > 0)
        text_addf(line, ", %zu skipped", progress->skipped);
}

static void add_remaining(struct text *line, const struct sweep_progress *progress)
{
    text_add(line, "; ");
    text_add_duration(line, progress->elapsed_ns);
    if (progress->made < ENOUGH || progress->done >= progress->total)
        return;
    text_add(line, ", about ");
    text_add_duration(line, progress->elapsed_ns / progress->made *
                                (progress->total - progress->done));
    text_add(line, " to go");
}

static void describe_run(struct text *line, const struct sweep_progress *progress)
{
    const struct row *closing = progress->closing;
    const char *status = closing ? row_text(closing, COLUMN_status) : NULL;
    const char *phase = closing ? row_text(closing, COLUMN_failed_phase) : NULL;
    text_addf(line, " %s: %s", progress->run->name, status ? status : "—");
    if (phase)
        text_addf(line, " in %s", phase);
}

void progress_show(void *user, const struct sweep_progress *progress)
{
    struct progress_view *view = user;
    struct text line = TEXT_INIT;
    view->last = *progress;
    if (view->quiet)
        return;
    text_addf(&line, "%s %zu/%zu", view->backend, progress->done, progress->total);
    if (view->terminal) {
        /* What matters most comes first: a narrow terminal cuts the rest. */
        text_add(&line, "; ");
        add_counts(&line, progress);
        add_remaining(&line, progress);
        if (progress->run) {
            text_add_char(&line, ';');
            describe_run(&line, progress);
        }
        draw(view, &line);
    } else if (progress->run) {
        describe_run(&line, progress);
        log_note("%s", text_string(&line));
    }
    text_release(&line);
}

void progress_say(void *user, const char *message)
{
    struct progress_view *view = user;
    wipe(view);
    log_note("%s", message);
}

bool progress_is_signal(enum sweep_outcome outcome)
{
    return outcome == SWEEP_SIGHUP || outcome == SWEEP_SIGINT || outcome == SWEEP_SIGTERM;
}

static void add_left(struct text *line, const struct sweep_progress *last)
{
    size_t left = last->total > last->done ? last->total - last->done : 0;
    text_addf(line, "; interrupted: %s%zu run%s left, the same command with --resume goes on",
              left > last->planned_left ? "about " : "", left, left == 1 ? " is" : "s are");
}

void progress_end(struct progress_view *view, const char *folder, enum sweep_outcome outcome)
{
    const struct sweep_progress *last = &view->last;
    struct text line = TEXT_INIT;
    wipe(view);
    if (last->total) {
        add_counts(&line, last);
        text_addf(&line, "; %s", folder);
        if (progress_is_signal(outcome))
            add_left(&line, last);
        log_note("%s: %zu of %zu runs made, %s", view->backend, last->done, last->total,
                 text_string(&line));
    } else if (progress_is_signal(outcome)) {
        log_note("%s: interrupted before the first run", view->backend);
    }
    text_release(&line);
}
