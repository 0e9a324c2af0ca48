#include "harness/command/command.h"

#include "harness/base/log.h"
#include "harness/base/units.h"
#include "harness/launch/sweep.h"
#include "kernels/backends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sweep_options {
    char *results, *set, *retry;
    bool keep_runs, resume, stop_on_failure;
};
#define AT(field) .offset = offsetof(struct sweep_options, field)
static const struct option sweep_options[] = {
    {.name = "results",
     .type = OPTION_TEXT,
     AT(results),
     .fallback = "",
     .help = "the results folder itself, new (-o); default results/NAME"},
    {.name = "set",
     .type = OPTION_TEXT,
     AT(set),
     .fallback = "",
     .help = "section.key=value over the study's own; may be given again"},
    {.name = "keep_runs",
     .type = OPTION_FLAG,
     AT(keep_runs),
     .fallback = "no",
     .help = "keep runs/RUN of runs that ended well, too"},
    {.name = "resume",
     .type = OPTION_FLAG,
     AT(resume),
     .fallback = "no",
     .help = "run what is missing in an existing folder",
     .not_yet = "start again in another folder with --results"},
    {.name = "retry",
     .type = OPTION_TEXT,
     AT(retry),
     .fallback = "",
     .help = "statuses to run again",
     .not_yet = "start again in another folder"},
    {.name = "stop_on_failure",
     .type = OPTION_FLAG,
     AT(stop_on_failure),
     .fallback = "no",
     .help = "end the study at the first run that fails",
     .not_yet = "every run is made and every failure is a row"},
    {.name = NULL},
};

/* The folder of a study when none is given: it says when nothing in it was observed. */
static char *default_folder(const struct study *study)
{
    const char *backend = backend_names[study->backend];
    bool observed = study->backend == BACKEND_CUDA;
    return xasprintf("results/%s%s%s", study->name, observed ? "" : ".",
                     observed ? "" : backend);
}

struct progress_view {
    const char *backend;
    bool terminal, quiet;
    struct sweep_progress last;
};

static void add_remaining(struct text *line, const struct sweep_progress *progress)
{
    text_add(line, ", ");
    text_add_duration(line, progress->elapsed_ns);
    if (progress->done == 0 || progress->done == progress->total)
        return;
    text_add(line, " so far, about ");
    text_add_duration(line, progress->elapsed_ns / progress->done *
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

static void show_progress(void *user, const struct sweep_progress *progress)
{
    struct progress_view *view = user;
    struct text line = TEXT_INIT;
    view->last = *progress;
    text_addf(&line, "%s %zu/%zu", view->backend, progress->done, progress->total);
    if (progress->run)
        describe_run(&line, progress);
    if (view->terminal) {
        text_addf(&line, "; %zu fitted, %zu failed", progress->fitted, progress->failed);
        add_remaining(&line, progress);
        fprintf(stderr, "\r\033[K%s", text_string(&line));
    } else if (progress->run) {
        log_note("%s", text_string(&line));
    }
    text_release(&line);
}

static void show_end(const struct progress_view *view, const char *folder)
{
    const struct sweep_progress *last = &view->last;
    if (view->terminal)
        fputc('\n', stderr);
    log_note("%s: %zu of %zu runs made, %zu fitted, %zu failed; %s", view->backend, last->done,
             last->total, last->fitted, last->failed, folder);
}

static int sweep_into(const struct command_call *call, const struct study *study,
                      const char *folder)
{
    const struct sweep_options *options = call->options;
    bool quiet = command_given(call, "quiet");
    struct progress_view view = {.backend = backend_names[study->backend],
                                 .terminal = !quiet && isatty(STDERR_FILENO)};
    struct sweep_request request = {.study = study,
                                    .folder = folder,
                                    .command_line = call->command_line,
                                    .keep_runs = options->keep_runs,
                                    .progress = quiet ? NULL : show_progress,
                                    .user = &view};
    struct text why = TEXT_INIT;
    if (study->workload->caution)
        log_note("%s", study->workload->caution);
    enum sweep_outcome outcome = sweep_run(&request, &why);
    if (view.last.total)
        show_end(&view, folder);
    if (why.length)
        log_error("sweep: %s", text_string(&why));
    text_release(&why);
    return (int)outcome;
}

static int run(struct command_call *call)
{
    const struct sweep_options *options = call->options;
    const char **overrides = xcalloc(call->given_count + 1, sizeof *overrides);
    size_t count = command_overrides(call, overrides);
    struct text errors = TEXT_INIT;
    struct study study;
    int code = EXIT_FAILURE;
    if (study_read(call->operands[0], overrides, count, &study, &errors) == 0) {
        char *folder = options->results[0] ? xstrdup(options->results) : default_folder(&study);
        code = sweep_into(call, &study, folder);
        if (code == SWEEP_DONE || code == SWEEP_ALL_FAILED)
            text_addf(&call->out, "%s/rows.csv\n", folder);
        free(folder);
        study_release(&study);
    } else {
        command_log_lines(text_string(&errors));
    }
    text_release(&errors);
    free(overrides);
    return code;
}

static const struct option_part parts[] = {{.table = sweep_options}, {.table = NULL}};
const struct command command_sweep = {
    .name = "sweep",
    .summary = "run a study, append rows",
    .operands = "STUDY.ini",
    .operand_min = 1,
    .operand_max = 1,
    .about =
        "Prints the path of rows.csv. The default folder is results/NAME for a cuda study,\n"
        "results/NAME.simulated or .host otherwise; an existing one is refused.",
    .output = "results",
    .repeated = "set",
    .options_size = sizeof(struct sweep_options),
    .parts = parts,
    .run = run,
};
