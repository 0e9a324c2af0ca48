#include "harness/command/command.h"

#include "harness/base/log.h"
#include "harness/base/units.h"
#include "harness/command/forecast_data.h"
#include "harness/command/forecast_from.h"
#include "harness/command/forecast_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct forecast_options {
    struct output_option to;
    char *dimension, *at, *cards, *write, *device;
    int allocator;
    struct reading capacity, outside;
    struct allocator_setting setting;
    bool limit, csv;
};

#define AT(member) .offset = offsetof(struct forecast_options, member)
static const struct option forecast_options[] = {
    {.name = "dimension",
     .type = OPTION_TEXT,
     AT(dimension),
     .fallback = "",
     .help = "NAME: what varies from one recording to the next"},
    {.name = "at",
     .type = OPTION_TEXT,
     AT(at),
     .fallback = "",
     .help = "N[,N...]: the values to forecast"},
    {.name = "limit",
     .type = OPTION_FLAG,
     AT(limit),
     .fallback = "no",
     .help = "find the largest value that fits, and the first that does not"},
    {.name = "capacity",
     .type = OPTION_MAYBE_SIZE,
     AT(capacity),
     .fallback = "",
     .help = "SIZE: of the card; none: only what is needed is said"},
    {.name = "cards",
     .type = OPTION_TEXT,
     AT(cards),
     .fallback = "",
     .help = "FILE: cards, a section [NAME] each, with capacity, outside and reserve"},
    {.name = "outside",
     .type = OPTION_MAYBE_SIZE,
     AT(outside),
     .fallback = "",
     .help = "SIZE: of the card's, not the allocator's (context, libraries); of a folder: what "
             "was observed"},
    {.name = "device",
     .type = OPTION_TEXT,
     AT(device),
     .fallback = "",
     .help = "UUID: of a folder with several devices, whose recordings"},
    {.name = "allocator",
     .type = OPTION_CHOICE,
     AT(allocator),
     .choices = allocator_names,
     .fallback = "caching",
     .help = "which one plays what is forecast"},
    {.name = "write",
     .type = OPTION_TEXT,
     AT(write),
     .fallback = "",
     .help = "FILE: keep the made recording of the one value of --at"},
    {.name = "csv", .type = OPTION_FLAG, AT(csv), .fallback = "no", .help = "CSV"},
    {.name = NULL},
};

static int fail(const struct text *why)
{
    log_error("forecast: %s", text_string(why));
    return EXIT_FAILURE;
}

static int parse_values(struct forecast_view *view, const char *list, struct text *why)
{
    char *copy = xstrdup(list), *rest = copy, *word;
    int result = 0;
    while (!result && list[0] && (word = strsep(&rest, ",")) != NULL) {
        uint64_t value = 0;
        struct text reason = TEXT_INIT;
        result = parse_count(word, &value, &reason);
        if (!result && value == 0) {
            text_add(&reason, "0 is no value of a dimension");
            result = -1;
        }
        if (result)
            text_addf(why, "--at: %s", text_string(&reason));
        text_release(&reason);
        view->values = xrealloc(view->values, (view->value_count + 1) * sizeof(*view->values));
        view->values[view->value_count++] = value;
        if (value > view->asked)
            view->asked = value;
    }
    free(copy);
    return result;
}

/* A folder's own card, allocator and settings stand where nothing was given. */
static int adopt(const struct command_call *call, const struct forecast_found *found,
                 struct text *why)
{
    struct forecast_options *o = call->options;
    if (!found->allocator)
        return 0;
    for (int i = 0; allocator_names[i] && !command_given(call, "allocator"); i++) {
        if (strcmp(allocator_names[i], found->allocator) == 0)
            o->allocator = i;
    }
    if (!o->capacity.known && !o->cards[0])
        o->capacity = found->capacity;
    o->setting.limit = found->limit;
    char *copy = xstrdup(found->settings), *rest = copy, *pair;
    int result = 0;
    while (!result && (pair = strsep(&rest, ";")) != NULL) {
        char *value = strchr(pair, '=');
        if (!value)
            continue;
        *value++ = '\0';
        const struct option *option = option_find(allocator_options, pair);
        if (option && !command_given(call, option->name))
            result = option_set(option, &o->setting, value, why);
    }
    free(copy);
    return result;
}

static int add_cards(const struct forecast_options *o, const struct forecast_found *found,
                     struct forecast_view *view, struct text *why)
{
    const struct reading outside = o->outside.known ? o->outside : found->outside;
    view->outside_basis = o->outside.known       ? "as given"
                          : found->outside.known ? "the most that a phase end showed, observed"
                                                 : "nothing known of it: taken as 0";
    if (o->cards[0])
        return forecast_cards_read(o->cards, outside, &view->cards, &view->card_count, why);
    view->cards = xcalloc(1, sizeof(*view->cards));
    view->cards[view->card_count++] = (struct forecast_card){
        .name = xstrdup(""), .capacity = o->capacity, .outside = outside};
    return 0;
}

static struct foretell_setting setting_of(const struct forecast_options *o,
                                          const struct forecast_card *card)
{
    struct foretell_setting setting = {.allocator = allocator_names[o->allocator],
                                       .allocator_setting = o->setting};
    const uint64_t outside = card->outside.known ? card->outside.value : 0;
    if (card->capacity.known)
        setting.room =
            reading_of(card->capacity.value > outside ? card->capacity.value - outside : 0);
    return setting;
}

static int answer(const struct forecast_options *o, struct forecast_view *view,
                  struct text *why)
{
    for (size_t i = 0; i < view->card_count; i++) {
        struct forecast_card *card = &view->cards[i];
        const struct foretell_setting setting = setting_of(o, card);
        if (i == 0 && view->take_count > 2) {
            view->checks = xcalloc(view->take_count, sizeof(*view->checks));
            if (foretell_check(view->takes, view->take_count, &setting, view->checks, why))
                return -1;
        }
        card->values = xcalloc(view->value_count + 1, sizeof(*card->values));
        for (size_t k = 0; k < view->value_count; k++) {
            if (foretell(&view->script, &setting, view->values[k], &card->values[k], why))
                return -1;
        }
        if (o->limit) {
            if (foretell_limit(&view->script, &setting, &card->limit, why))
                return -1;
            card->limited = true;
            const uint64_t fits = card->limit.fits.value;
            view->asked = view->asked > fits ? view->asked : fits;
        }
    }
    return 0;
}

/* Of a doubtful one the version that asks for most. */
static int write_made(const struct forecast_view *view, const char *path)
{
    struct trace made;
    struct text why = TEXT_INIT, out = TEXT_INIT;
    const bool doubtful = script_is_doubtful(&view->script);
    int code = EXIT_FAILURE;
    if (script_make(&view->script, view->values[0], VERSION_MOST, &made, &why)) {
        fail(&why);
    } else {
        trace_write(&made, &out);
        code = command_write(&out, path);
        if (code == EXIT_SUCCESS && doubtful)
            log_note("%s has the doubtful requests at their largest", path);
        trace_release(&made);
    }
    text_release(&why);
    text_release(&out);
    return code;
}

static const char *conflict(const struct forecast_options *o, const struct command_call *call)
{
    const bool folder = forecast_is_folder(call->operands[0]);
    if (!o->at[0] && !o->limit)
        return "what shall be forecast? give --at or --limit";
    if (o->limit && !o->capacity.known && !o->cards[0] && !folder)
        return "--limit needs a card: --capacity or --cards";
    if (o->capacity.known && o->cards[0])
        return "--capacity and --cards exclude each other";
    if (o->write[0] && (!o->at[0] || strchr(o->at, ',')))
        return "--write needs one value in --at";
    if (o->to.json && o->csv)
        return "--csv and --json exclude each other";
    if (folder && call->operand_count > 1)
        return "recordings are given as VALUE=TRACE.csv; a folder stands alone";
    if (!folder && o->device[0])
        return "--device is for a folder";
    return NULL;
}

static void release(struct forecast_view *view)
{
    for (size_t i = 0; i < view->card_count; i++) {
        struct forecast_card *card = &view->cards[i];
        for (size_t k = 0; card->values && k < view->value_count; k++)
            foretold_release(&card->values[k]);
        free(card->values);
        foretold_limit_release(&card->limit);
        free(card->name);
    }
    for (size_t i = 0; view->checks && i < view->take_count; i++)
        foretold_check_release(&view->checks[i]);
    script_release(&view->script);
    free(view->checks);
    free(view->cards);
    free(view->values);
}

static int forecast(struct command_call *call, struct forecast_found *found,
                    struct forecast_view *view, struct text *why)
{
    struct forecast_options *o = call->options;
    const struct forecast_source source = {.operands = call->operands,
                                           .count = call->operand_count,
                                           .dimension = o->dimension,
                                           .device = o->device};
    if (parse_values(view, o->at, why) || forecast_find(&source, found, why) ||
        adopt(call, found, why))
        return -1;
    view->dimension = found->dimension  ? found->dimension
                      : o->dimension[0] ? o->dimension
                                        : "value";
    view->allocator = allocator_names[o->allocator];
    view->takes = found->takes;
    view->take_count = found->take_count;
    if (o->limit && !o->capacity.known && !o->cards[0]) {
        text_add(why, "--limit needs a card: the rows tell no capacity");
        return -1;
    }
    if (script_find(view->takes, view->take_count, &view->script, why) ||
        add_cards(o, found, view, why) || answer(o, view, why))
        return -1;
    if (o->to.json)
        forecast_data_add_json(view, &call->out);
    else if (o->csv)
        forecast_data_add_csv(view, &call->out);
    else
        forecast_text_add(view, &call->out);
    return 0;
}

static int run(struct command_call *call)
{
    const struct forecast_options *o = call->options;
    struct forecast_view view = {0};
    struct forecast_found found = {0};
    struct text why = TEXT_INIT;
    const char *reason = conflict(o, call);
    int code = EXIT_SUCCESS;
    if (reason)
        text_add(&why, reason);
    if (reason || forecast(call, &found, &view, &why))
        code = fail(&why);
    else if (o->write[0])
        code = write_made(&view, o->write);
    release(&view);
    forecast_found_release(&found);
    text_release(&why);
    return code;
}

static const struct option_part parts[] = {
    {.table = forecast_options},
    {.title = "allocator options",
     .table = allocator_options,
     .offset = offsetof(struct forecast_options, setting)},
    {.title = "output",
     .table = output_options,
     .offset = offsetof(struct forecast_options, to)},
    {.table = NULL},
};
const struct command command_forecast = {
    .name = "forecast",
    .summary = "from two or three small recordings what any size of the program needs",
    .operands = "VALUE=TRACE.csv VALUE=TRACE.csv... | FOLDER",
    .operand_min = 1,
    .operand_max = 64,
    .about =
        "  Recordings of one program at two or more values of one dimension are aligned by "
        "the\n"
        "  order of requests; each request's bytes are an exact polynomial of the dimension.\n"
        "  The requests of any other value are made from that and played through the "
        "allocator.\n"
        "  What follows no polynomial (workspaces, mostly) makes the answer an interval. All "
        "of\n"
        "  it is computed; what the recordings do not show is refused.",
    .options_size = sizeof(struct forecast_options),
    .parts = parts,
    .run = run,
};
