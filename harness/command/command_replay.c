#include "harness/command/command.h"

#include "harness/base/json.h"
#include "harness/base/log.h"
#include "harness/base/units.h"
#include "harness/trace/choices.h"
#include "harness/record/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RECORDED_TOTAL "150109880320" /* the H200 of the recordings */

struct replay_options {
    struct output_option to;
    char *segments, *check;
    int allocator, ties;
    struct reading capacity;
    uint64_t device_total;
    struct allocator_setting setting;
    bool fit, settings;
};

enum { TIES_AUTO, TIES_RECORDED, TIES_CHUNK_MODEL, TIES_SEGMENT_ORDER };
static const char *const ties_names[] = {"auto", "recorded", "chunk-model", "segment-order",
                                         NULL};

#define AT(member) .offset = offsetof(struct replay_options, member)
static const struct option replay_options[] = {
    {"segments", OPTION_TEXT, AT(segments), .fallback = "",
     .help = "FILE: what the recorded allocator asked its device, with addresses"},
    {"allocator", OPTION_CHOICE, AT(allocator), .choices = allocator_names,
     .fallback = "caching", .help = "which one plays the recording"},
    {"capacity", OPTION_MAYBE_CAPACITY, AT(capacity), .fallback = "",
     .help = "SIZE: the allocator's limit; none: the whole device"},
    {"device_total", OPTION_CAPACITY, AT(device_total), .maximum = (uint64_t)1 << 60,
     .fallback = RECORDED_TOTAL, .help = "SIZE: what the simulated device has in all"},
    {"ties", OPTION_CHOICE, AT(ties), .choices = ties_names, .fallback = "auto",
     .help = "which of equally large free blocks is taken"},
    {"check", OPTION_TEXT, AT(check), .fallback = "",
     .help = "EXPECTED.csv: print what differs from it, and exit 1"},
    {"fit", OPTION_FLAG, AT(fit), .fallback = "no",
     .help = "find the smallest capacity that refuses nothing; recorded refusals are left out"},
    {.name = "settings",
     .type = OPTION_FLAG,
     AT(settings),
     .fallback = "no",
     .help = "the same for a table of allocator settings, the smallest capacity first"},
    {.name = NULL},
};

static int fail(const char *reason)
{
    log_error("replay: %s", reason);
    return EXIT_FAILURE;
}

/* Why these options do not go together; NULL: they do. */
static const char *conflict(const struct replay_options *o)
{
    const char *allocator = allocator_names[o->allocator];
    const bool segments = o->segments[0] != '\0';
    if (segments && strcmp(allocator, "caching") && strcmp(allocator, "expandable"))
        return "--segments are of a caching allocator: use --allocator caching or expandable";
    if (segments && o->ties != TIES_AUTO && o->ties != TIES_RECORDED)
        return "--segments need --ties recorded";
    if (!segments && o->ties == TIES_RECORDED)
        return "--ties recorded needs --segments";
    if (o->settings && (o->fit || segments || o->check[0] || o->capacity.known))
        return "--settings stands alone: leave --fit, --segments, --check and --capacity out";
    if (o->fit && segments)
        return "--fit replays what was not recorded: leave --segments out";
    if (o->fit && (o->check[0] || o->capacity.known))
        return "--fit goes with neither --check nor --capacity";
    return NULL;
}

static enum replay_ties choose_ties(const struct replay_options *o, const struct trace *trace)
{
    if (o->segments[0])
        return REPLAY_RECORDED;
    if (o->ties == TIES_SEGMENT_ORDER || (o->ties == TIES_AUTO && trace->tagged))
        return REPLAY_SEGMENT_ORDER;
    return REPLAY_CHUNK_MODEL;
}

static const char *ties_text(enum replay_ties ties)
{
    return ties == REPLAY_RECORDED      ? "recorded"
           : ties == REPLAY_CHUNK_MODEL ? "chunk-model"
                                        : "segment-order";
}

static void note_ties(enum replay_ties ties)
{
    if (ties == REPLAY_CHUNK_MODEL)
        log_note("predicted: without --segments, addresses are those of the chunk model "
                 "(it decides only which of equally large free blocks is taken)");
    if (ties == REPLAY_SEGMENT_ORDER)
        log_note("of equally large free blocks the oldest segment's is taken, as in studies");
}

/* --- output --- */

static void add_csv_name(struct text *out, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                "0123456789";
    if (strspn(name, plain) == strlen(name) && !strchr("0123456789", name[0]))
        text_add(out, name);
    else
        csv_add_text(out, name);
}

static void print_csv(const struct replay_result *result, struct text *out)
{
    text_add(out, "phase,status");
    for (int i = 0; i < REPLAY_FIGURE_COUNT; i++)
        text_addf(out, ",%s", replay_figure_names[i]);
    text_add_char(out, '\n');
    for (size_t row = 0; row < result->count; row++) {
        const struct replay_phase *phase = &result->phases[row];
        add_csv_name(out, phase->name);
        text_addf(out, ",%s", replay_status(phase));
        for (int i = 0; i < REPLAY_FIGURE_COUNT; i++) {
            text_add_char(out, ',');
            if (phase->figures[i].known)
                csv_add_count(out, phase->figures[i].value);
        }
        text_add_char(out, '\n');
    }
}

static struct json *document(const struct replay_options *o,
                             const struct replay_setting *setting)
{
    struct json *object = json_make_object(), *settings = json_make_object();
    json_set_text(object, "evidence", "computed");
    json_set_text(object, "allocator", setting->allocator);
    json_set_text(object, "ties", ties_text(setting->ties));
    json_set_count(object, "device_total", setting->device_total);
    json_set_reading(object, "capacity", o->capacity);
    for (const struct option *option = allocator_options; option->name; option++) {
        struct text value = TEXT_INIT;
        option_format(option, &o->setting, &value);
        json_set_text(settings, option->name, text_string(&value));
        text_release(&value);
    }
    json_set(object, "settings", settings);
    return object;
}

static void print_json(const struct replay_options *o, const struct replay_setting *setting,
                       const struct replay_result *result, struct text *out)
{
    struct json *object = document(o, setting), *phases = json_make_array();
    for (size_t row = 0; row < result->count; row++) {
        const struct replay_phase *phase = &result->phases[row];
        struct json *item = json_make_object();
        json_set_text(item, "phase", phase->name);
        json_set_text(item, "status", replay_status(phase));
        for (int i = 0; i < REPLAY_FIGURE_COUNT; i++)
            json_set_reading(item, replay_figure_names[i], phase->figures[i]);
        json_append(phases, item);
    }
    json_set(object, "phases", phases);
    json_set_count(object, "refusals", result->refusals);
    json_write(object, out);
    json_release(object);
}

/* --- work --- */

static void tell_refusals(const struct replay_result *result)
{
    struct text size = TEXT_INIT;
    text_add_size(&size, result->refusal.bytes);
    if (result->refusals)
        log_note("%" PRIu64 " request%s refused that the recording has granted, first at "
                 "line %" PRIu64 ": %s, by the %s; %s left out",
                 result->refusals, result->refusals == 1 ? " was" : "s were",
                 result->first_refusal, text_string(&size), result->refusal.by,
                 result->refusals == 1 ? "its block is" : "their blocks are");
    text_release(&size);
    if (result->served)
        log_note("%" PRIu64
                 " request%s that the recording shows refused found a free block here",
                 result->served, result->served == 1 ? "" : "s");
}

/* The recording's own addresses and segment events, and the expected figures. */
static int compare(const struct replay_options *o, const struct replay_result *result)
{
    struct text differences = TEXT_INIT, why = TEXT_INIT;
    uint64_t count = result->address_differences + result->segment_differences, figures = 0;
    if (count)
        log_at(o->check[0] ? LOG_ERROR : LOG_WARNING,
               "replay: %" PRIu64 " block addresses and %" PRIu64 " segment events differ from "
               "the recording; first: %s",
               result->address_differences, result->segment_differences,
               text_string(&result->first_difference));
    int code = EXIT_SUCCESS;
    if (o->check[0] && replay_check(result, o->check, &differences, &figures, &why))
        code = fail(text_string(&why));
    else if (o->check[0] && count + figures)
        code = EXIT_FAILURE;
    command_log_lines(&differences);
    text_release(&differences);
    text_release(&why);
    return code;
}

static int play(struct command_call *call, const struct trace *trace,
                const struct replay_setting *setting)
{
    const struct replay_options *o = call->options;
    struct replay_result result;
    struct text why = TEXT_INIT;
    int code = EXIT_FAILURE;
    if (replay_run(trace, setting, &result, &why)) {
        fail(text_string(&why));
    } else {
        tell_refusals(&result);
        if (o->to.json)
            print_json(o, setting, &result, &call->out);
        else
            print_csv(&result, &call->out);
        code = compare(o, &result);
        replay_result_release(&result);
    }
    text_release(&why);
    return code;
}

/* What the recorded allocator was refused is not asked for again, but for the last request of a
 * recording that ended there. */
static void tell_left_out(const struct trace *trace)
{
    uint64_t count = 0, first = 0;
    struct text size = TEXT_INIT;
    for (size_t i = trace_last_refusal(trace); i-- > 0;)
        if (trace->events[i].op == TRACE_OOM) {
            first = i;
            count++;
        }
    if (count) {
        text_add_size(&size, trace->events[first].bytes);
        log_note("%" PRIu64 " request%s that the recording shows refused %s left out, first at "
                 "line %" PRIu64 ": %s",
                 count, count == 1 ? "" : "s", count == 1 ? "is" : "are", first + 2,
                 text_string(&size));
    }
    text_release(&size);
}

/* The answer for people; standard output has it as data. */
static void tell_fit(const struct trace *trace, const struct replay_fit *fit)
{
    struct text size = TEXT_INIT, refused = TEXT_INIT;
    text_add_size(&size, fit->fits);
    if (fit->at_least) {
        const size_t last = trace_last_refusal(trace);
        text_add_size(&refused, trace->events[last].bytes);
        log_note(
            "needs at least %s: the recording ended when %s were refused (line %zu), which "
            "is counted; what the program would have asked next is not known",
            text_string(&size), text_string(&refused), last + 2);
    } else {
        log_note("fits in %s, and not in 2 MiB less", text_string(&size));
    }
    text_release(&refused);
    text_release(&size);
}

static int find_fit(struct command_call *call, const struct trace *trace,
                    const struct replay_setting *setting)
{
    const struct replay_options *o = call->options;
    struct replay_fit fit;
    struct text why = TEXT_INIT;
    int code = EXIT_SUCCESS;
    tell_left_out(trace);
    int outcome = replay_find_fit(trace, setting, &fit, &why);
    if (outcome == 0)
        tell_fit(trace, &fit);
    if (outcome != 0) {
        code = fail(text_string(&why));
    } else if (o->to.json) {
        struct json *object = document(o, setting);
        json_set_count(object, "fits_at", fit.fits);
        json_set_count(object, "refuses_at", fit.fits - REPLAY_PAGE);
        json_set_count(object, "allocated_peak", fit.allocated_peak);
        json_set_count(object, "fragmentation", fit.fits - fit.allocated_peak);
        json_set_count(object, "replays", fit.replays);
        json_set_flag(object, "at_least", fit.at_least);
        json_write(object, &call->out);
        json_release(object);
    } else {
        text_addf(&call->out,
                  "fits_at,refuses_at,allocated_peak,fragmentation,replays,at_least\n"
                  "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s\n",
                  fit.fits, fit.fits - REPLAY_PAGE, fit.allocated_peak,
                  fit.fits - fit.allocated_peak, fit.replays, fit.at_least ? "yes" : "no");
    }
    text_release(&why);
    return code;
}

static int compare_settings(struct command_call *call, const struct trace *trace,
                            const struct replay_setting *setting)
{
    const struct replay_options *o = call->options;
    struct choices choices;
    struct text why = TEXT_INIT;
    int code = EXIT_SUCCESS;
    tell_left_out(trace);
    if (choices_compare(trace, setting, &choices, &why)) {
        code = fail(text_string(&why));
    } else {
        if (o->to.json)
            choices_print_json(&choices, &call->out);
        else
            choices_print_csv(&choices, &call->out);
        choices_release(&choices);
    }
    text_release(&why);
    return code;
}

static int run(struct command_call *call)
{
    const struct replay_options *o = call->options;
    struct trace trace = {0};
    struct segment_records segments = {0};
    struct text why = TEXT_INIT;
    const char *reason = conflict(o);
    if (reason)
        return fail(reason);
    int code = EXIT_FAILURE;
    if (trace_read(call->operands[0], &trace, &why) ||
        (o->segments[0] && segments_read(o->segments, &segments, &why))) {
        fail(text_string(&why));
    } else {
        struct replay_setting setting = {
            .allocator = allocator_names[o->allocator],
            .allocator_setting = o->setting,
            .device_total = o->device_total,
            .ties = choose_ties(o, &trace),
            .segments = &segments,
        };
        setting.allocator_setting.limit = o->capacity;
        note_ties(setting.ties);
        if (o->setting.garbage_collection_threshold > 0 && !o->capacity.known && !o->fit &&
            !o->settings)
            log_warning("garbage collection needs a limit: without --capacity it never runs");
        code = (o->settings ? compare_settings
                : o->fit    ? find_fit
                            : play)(call, &trace, &setting);
    }
    trace_release(&trace);
    segments_release(&segments);
    text_release(&why);
    return code;
}

static const struct option_part parts[] = {
    {.table = replay_options},
    {.title = "allocator options",
     .table = allocator_options,
     .offset = offsetof(struct replay_options, setting)},
    {.title = "output", .table = output_options, .offset = offsetof(struct replay_options, to)},
    {.table = NULL},
};
const struct command command_replay = {
    .name = "replay",
    .summary = "an allocation trace through an allocator on a simulated device",
    .operands = "TRACE.csv",
    .operand_min = 1,
    .operand_max = 1,
    .about =
        "  A trace has the columns op,id,bytes,stream,address (alloc, free, oom, empty_cache,\n"
        "  begin and end of a phase). Out come, per phase, the allocator's figures as CSV.\n"
        "  All of it is computed; nothing is observed.",
    .options_size = sizeof(struct replay_options),
    .parts = parts,
    .run = run,
};
