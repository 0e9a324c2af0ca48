#include "harness/command/command.h"

#include "harness/base/file.h"
#include "harness/base/log.h"
#include "harness/command/folder_view.h"
#include "reports/report_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct report_options {
    struct output_option to;
    int format;
};
static const char *const formats[] = {"text", "csv", "html", "xlsx", NULL};
static const struct option report_options[] = {
    {"format", OPTION_CHOICE, .offset = offsetof(struct report_options, format),
     .choices = formats, .fallback = "text", .help = "how it is written",
     .not_yet = "rows.csv itself opens in a spreadsheet"},
    {.name = NULL},
};

/* What the table is called: inside the folder, or it itself; NULL, with a reason. */
static char *find_table(const char *path, struct text *why)
{
    struct stat facts;
    char *inside = xasprintf("%s/rows.csv", path);
    if (file_exists(inside))
        return inside;
    free(inside);
    if (stat(path, &facts) == 0 && !S_ISDIR(facts.st_mode))
        return xstrdup(path);
    folder_add_missing(path, "rows.csv", why);
    return NULL;
}

/* "2 of about 13 runs made, about 11 left (--resume goes on)" */
static void add_progress(const struct folder_view *view, struct text *out)
{
    size_t made = view->made - view->skipped, total = view->made + view->left;
    const char *about = view->study.boundary_count > 0 && view->left > 0 ? "about " : "";
    text_addf(out, "%zu of %s%zu run%s made", made, about, total, total == 1 ? "" : "s");
    if (view->skipped > 0)
        text_addf(out, ", %zu skipped", view->skipped);
    if (view->left > 0)
        text_addf(out, ", %s%zu left (%s)", about, view->left,
                  view->in_use ? "a sweep is at work" : "--resume goes on");
}

/* A rows.csv alone does not say what was asked for. */
static int report_folder(const char *folder, const char *table, struct text *out,
                         struct text *why)
{
    struct folder_view view;
    struct text progress = TEXT_INIT;
    if (folder_view_open(&view, folder, why) != 0)
        return -1;
    add_progress(&view, &progress);
    const struct report_study study = {text_string(&progress), view.unfinished};
    int outcome = report_text(table, &study, out, why);
    if (outcome == 0 && view.study.boundary_count > 0) {
        text_add(out, "\nFound by runs:\n");
        probes_add_text(&view.probes, out);
    }
    text_release(&progress);
    folder_view_close(&view);
    return outcome;
}

static int run(struct command_call *call)
{
    const char *folder = call->operands[0];
    struct text why = TEXT_INIT;
    char *table = find_table(folder, &why), *study = xasprintf("%s/study.ini", folder);
    int outcome = -1;
    if (table != NULL)
        outcome = file_exists(study) ? report_folder(folder, table, &call->out, &why)
                                     : report_text(table, NULL, &call->out, &why);
    if (outcome != 0)
        log_error("report: %s", text_string(&why));
    free(study);
    free(table);
    text_release(&why);
    return outcome == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const struct option_part parts[] = {
    {.table = report_options},
    {.title = "output",
     .table = output_only_options,
     .offset = offsetof(struct report_options, to)},
    {.table = NULL},
};
const struct command command_report = {
    .name = "report",
    .summary = "a results folder as text: what fits, where it failed, four counters",
    .operands = "FOLDER",
    .operand_min = 1,
    .operand_max = 1,
    .about = "FOLDER is a results folder, or a rows.csv. Computed and observed rows stand in\n"
             "tables of their own; peaks are never summed. Of a run that was made again the\n"
             "last attempt counts; a value at which some runs fit and some do not is\n"
             "unstable. Where a card changed between two runs (capacity, ECC, MIG, driver),\n"
             "those before and after it stand in tables with limits of their own.",
    .options_size = sizeof(struct report_options),
    .parts = parts,
    .run = run,
};
