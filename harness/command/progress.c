#include "harness/command/progress.h"

#include "harness/base/log.h"
#include "harness/base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ENOUGH 3 /* runs before their durations tell anything about the rest */

/* A terminal on which a line can be written again. */
static bool can_move(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

void progress_open(struct progress_view *view, const char *backend, bool quiet)
{
    *view = (struct progress_view){
        .backend = backend, .quiet = quiet, .terminal = !quiet && can_move()};
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

/* All our characters are one column wide. */
static size_t columns_of(const struct text *text)
{
    size_t columns = 0;
    for (size_t i = 0; i < text->length; i++)
        columns += ((unsigned char)text->data[i] & 0xc0) != 0x80;
    return columns;
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

/* --- its words --- */

static void add_counts(struct text *line, const struct sweep_progress *progress)
{
    text_addf(line, "%zu fitted, %zu failed", progress->fitted, progress->failed);
    if (progress->skipped > 0)
        text_addf(line, ", %zu skipped", progress->skipped);
}

static void add_remaining(struct text *line, const struct sweep_progress *progress)
{
    if (progress->made < ENOUGH || progress->done >= progress->total)
        return;
    text_add(line, "about ");
    text_add_duration(line, progress->elapsed_ns / progress->made *
                                (progress->total - progress->done));
    text_add(line, " to go");
}

static void describe_run(struct text *line, const struct sweep_progress *progress)
{
    const struct row *closing = progress->closing;
    const char *status = closing ? row_text(closing, COLUMN_status) : NULL;
    const char *phase = closing ? row_text(closing, COLUMN_failed_phase) : NULL;
    text_addf(line, "%s: %s", progress->run->name, status ? status : "—");
    if (phase)
        text_addf(line, " in %s", phase);
}

/* In the order of the line; those that there is room for are shown whole, others not at all. */
enum field { DONE, COUNTS, ELAPSED, REMAINING, POINT, FIELDS };

static void join(const struct text *fields, const bool *shown, struct text *line)
{
    text_clear(line);
    for (size_t i = 0; i < FIELDS; i++)
        if (shown[i] && fields[i].length > 0) {
            const char *between = i == REMAINING && shown[ELAPSED] ? ", " : "; ";
            text_addf(line, "%s%s", line->length > 0 ? between : "", text_string(&fields[i]));
        }
}

void progress_add_line(const char *backend, const struct sweep_progress *progress,
                       size_t columns, struct text *out)
{
    static const enum field by_weight[] = {DONE, REMAINING, POINT, COUNTS, ELAPSED};
    struct text fields[FIELDS] = {TEXT_INIT}, run = TEXT_INIT, line = TEXT_INIT;
    bool shown[FIELDS] = {false};
    text_addf(&fields[DONE], "%s %zu/%zu", backend, progress->done, progress->total);
    bool named = columns_of(&fields[DONE]) <= columns;
    if (!named)
        text_setf(&fields[DONE], "%zu/%zu", progress->done, progress->total);
    add_counts(&fields[COUNTS], progress);
    text_add_duration(&fields[ELAPSED], progress->elapsed_ns);
    add_remaining(&fields[REMAINING], progress);
    if (progress->run)
        describe_run(&run, progress);
    text_add_shown(&fields[POINT], text_string(&run), run.length);
    for (size_t i = 0; i < FIELDS && (i == 0 || named); i++) {
        shown[by_weight[i]] = true;
        join(fields, shown, &line);
        shown[by_weight[i]] = columns_of(&line) <= columns;
    }
    join(fields, shown, &line);
    text_add(out, text_string(&line));
    for (size_t i = 0; i < FIELDS; i++)
        text_release(&fields[i]);
    text_release(&run);
    text_release(&line);
}

/* The last column stays free: some terminals wrap when it is written. */
static void draw(struct progress_view *view, const struct sweep_progress *progress)
{
    struct text line = TEXT_INIT;
    progress_add_line(view->backend, progress, terminal_columns() - 1, &line);
    wipe(view);
    fputs(text_string(&line), stderr);
    fflush(stderr);
    view->shown = columns_of(&line);
    text_release(&line);
}

void progress_show(void *user, const struct sweep_progress *progress)
{
    struct progress_view *view = user;
    view->last = *progress;
    if (view->quiet)
        return;
    if (view->terminal) {
        draw(view, progress);
    } else if (progress->run) {
        struct text line = TEXT_INIT;
        describe_run(&line, progress);
        log_note("%s %zu/%zu %s", view->backend, progress->done, progress->total,
                 text_string(&line));
        text_release(&line);
    }
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
        log_note("%s: %zu of %zu run%s made, %s", view->backend, last->done - last->skipped,
                 last->total, last->total == 1 ? "" : "s", text_string(&line));
    } else if (progress_is_signal(outcome)) {
        log_note("%s: interrupted before the first run", view->backend);
    }
    text_release(&line);
}
