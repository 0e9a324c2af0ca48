#include "harness/command/plan_view.h"

#include "harness/command/command.h"
#include "harness/base/log.h"

#include <stdlib.h>

struct plan_options {
    struct output_option to;
    struct reading capacity;
    char *set;
};
static const struct option plan_options[] = {
    {"capacity", OPTION_MAYBE_CAPACITY, .offset = offsetof(struct plan_options, capacity),
     .fallback = "",
     .help = "bytes of every rank's card, instead of the real or configured"},
    {"set", OPTION_TEXT, .offset = offsetof(struct plan_options, set), .fallback = "",
     .help = "section.key=value over the study's own; may be given again"},
    {.name = NULL},
};

static int plan_study(struct command_call *call, const struct study *study)
{
    const struct plan_options *options = call->options;
    struct plan_view view = {.study = study};
    struct text why = TEXT_INIT;
    int code = EXIT_FAILURE;
    if (study_look(study, &view.notes, &why) == 0 &&
        outlook_open(study, options->capacity, &view.outlook, &why) == 0 &&
        plan_make(study, view.outlook.ranks, &view.plan, &why) == 0 &&
        outlook_make(study, &view.plan, &view.outlook, &why) == 0) {
        if (options->to.json)
            plan_view_json(&view, &call->out);
        else
            plan_view_text(&view, &call->out);
        code = EXIT_SUCCESS;
    }
    text_release(&view.notes);
    outlook_release(&view.outlook);
    plan_release(&view.plan);
    if (code != EXIT_SUCCESS)
        log_error("plan: %s", text_string(&why));
    text_release(&why);
    return code;
}

static int run(struct command_call *call)
{
    const char **overrides = xcalloc(call->given_count + 1, sizeof *overrides);
    size_t count = command_overrides(call, overrides);
    struct text errors = TEXT_INIT;
    struct study study;
    int code = EXIT_FAILURE;
    if (study_read(call->operands[0], overrides, count, &study, &errors) == 0) {
        code = plan_study(call, &study);
        study_release(&study);
    } else {
        command_log_lines(&errors);
    }
    text_release(&errors);
    free(overrides);
    return code;
}

static const struct option_part parts[] = {
    {.table = plan_options},
    {.title = "output", .table = output_options, .offset = offsetof(struct plan_options, to)},
    {.table = NULL},
};
const struct command command_plan = {
    .name = "plan",
    .summary = "a study's points with predicted counters; runs nothing",
    .operands = "STUDY.ini",
    .operand_min = 1,
    .operand_max = 1,
    .about =
        "The counters are computed: the workload's own code runs on a simulated device.\n"
        "A model's files are looked at first: what contradicts itself is refused.\n"
        "The capacity of a real card is NVML's total less its reserve, less " SEAT_ASSUMED_WORDS
        "\n"
        "for context and libraries. A boundary's runs are decided while they are made: shown\n"
        "are its range, the last value predicted to fit on each card, and the most runs that\n"
        "it may take.",
    .keys =
        "keys of a study file by section; in parentheses what holds when a key is not there,\n"
        "and what a number may be:",
    .repeated = "set",
    .options_size = sizeof(struct plan_options),
    .parts = parts,
    .run = run,
};
