#include "harness/command/command.h"

#include "harness/base/file.h"
#include "harness/base/log.h"
#include "harness/command/progress.h"
#include "harness/drive/resume.h"
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
    {"results", OPTION_TEXT, AT(results), .fallback = "",
     .help = "the results folder itself, new; default results/NAME", .letter = 'o'},
    {"set", OPTION_TEXT, AT(set), .fallback = "",
     .help = "section.key=value over the study's own; may be given again"},
    {"keep_runs", OPTION_FLAG, AT(keep_runs), .fallback = "no",
     .help = "keep runs/RUN of runs that ended well, too"},
    {"resume", OPTION_FLAG, AT(resume), .fallback = "no",
     .help = "run what is missing in an existing folder"},
    {"retry", OPTION_TEXT, AT(retry), .fallback = "",
     .help = "STATUS,…: with --resume, runs that ended so are made again, too"},
    {"stop_on_failure", OPTION_FLAG, AT(stop_on_failure), .fallback = "no",
     .help = "end the study at the first run that fails, exit code 1"},
    {.name = NULL},
};

/* The folder of a study when none is given: it says when nothing in it was observed. */
static char *default_folder(const struct study *study)
{
    const char *backend = backend_names[study->setting.backend];
    bool observed = study->setting.backend == BACKEND_CUDA;
    return xasprintf("results/%s%s%s", study->name, observed ? "" : ".",
                     observed ? "" : backend);
}

/* Without slashes at its end; NULL: it was given without a name. The caller frees. */
static char *folder_of(const struct command_call *call, const struct study *study)
{
    const char *given = command_given(call, "results");
    if (given == NULL)
        return default_folder(study);
    return given[0] != '\0' ? path_plain(given) : NULL;
}

static int sweep_into(const struct command_call *call, const struct study *study,
                      const char *folder)
{
    const struct sweep_options *options = call->options;
    bool quiet = command_given(call, "quiet");
    struct progress_view view;
    progress_open(&view, backend_names[study->setting.backend], quiet);
    struct sweep_request request = {.study = study,
                                    .folder = folder,
                                    .command_line = call->command_line,
                                    .keep_runs = options->keep_runs,
                                    .resume = options->resume,
                                    .stop_on_failure = options->stop_on_failure,
                                    .say = progress_say,
                                    .progress = progress_show,
                                    .user = &view};
    struct text why = TEXT_INIT, notes = TEXT_INIT;
    enum sweep_outcome outcome = SWEEP_FAILED;
    bool good = study_look(study, &notes, &why) == 0;
    if (notes.length)
        log_note("%s", text_string(&notes));
    if (good && options->retry[0] && !options->resume)
        text_add(&why, "--retry is for --resume");
    else if (good && resume_retry_words(options->retry, &request.retry, &why) == 0)
        outcome = sweep_run(&request, &why);
    progress_end(&view, folder, outcome);
    if (why.length)
        log_error("sweep: %s", text_string(&why));
    text_release(&notes);
    text_release(&why);
    return (int)outcome;
}

static int run(struct command_call *call)
{
    const char **overrides = xcalloc(call->given_count + 1, sizeof *overrides);
    size_t count = command_overrides(call, overrides);
    struct text errors = TEXT_INIT;
    struct study study;
    int code = EXIT_FAILURE;
    if (study_read(call->operands[0], overrides, count, &study, &errors) == 0) {
        char *folder = folder_of(call, &study);
        if (folder != NULL)
            code = sweep_into(call, &study, folder);
        else
            log_error("sweep: --results: the folder's name is empty");
        if (code == SWEEP_DONE || code == SWEEP_ALL_FAILED)
            text_addf(&call->out, "%s/rows.csv\n", folder);
        free(folder);
        study_release(&study);
    } else {
        command_log_lines(&errors);
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
        "results/NAME.simulated or .host otherwise; an existing one is refused, unless with\n"
        "--resume. Runs that were interrupted, found the card dirty, lost it or were not\n"
        "launched are always made again on resuming, timeouts when the limit was raised.\n"
        "The keys of a study file: highwater plan --help.",
    .repeated = "set",
    .options_size = sizeof(struct sweep_options),
    .parts = parts,
    .run = run,
};
