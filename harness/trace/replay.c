#include "harness/trace/replay.h"
#include "harness/base/units.h"
#include "harness/record/table.h"
#include "harness/trace/chunk_model.h"
#include "harness/trace/recorded.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const replay_figure_names[REPLAY_FIGURE_COUNT] = {
#define FIGURE(name) #name,
    REPLAY_FIGURES(FIGURE)
#undef FIGURE
};

struct player {
    const struct trace *trace;
    const struct replay_setting *setting;
    struct replay_result *result;
    struct device device;
    struct allocator *allocator;
    struct address_policy *addresses;
    struct recorded recorded; /* one of these, or a chunk model */
    struct ascending ascending;
    struct stream_order streams;
    struct piece **live;        /* by slot; NULL: refused */
    struct replay_phase *phase; /* the open one, or NULL */
    bool native;                /* a caching allocator: it has the figures that others lack */
};

const char *replay_status(const struct replay_phase *phase)
{
    return phase->refused ? "oom" : phase->open ? "partial" : "ok";
}

static struct reading reserved(const struct allocator_statistics *s, uint64_t value)
{
    return s->reserved_known ? reading_of(value) : reading_missing();
}

/* Phases begin and end with a synchronisation: it matters to a stream-ordered pool. */
static void synchronise(struct player *p)
{
    const enum outcome outcome = p->device.ops->synchronise(&p->device);
    assert(outcome == OUTCOME_OK);
    (void)outcome;
}

static void begin_phase(struct player *p, const char *name)
{
    struct replay_result *result = p->result;
    synchronise(p);
    allocator_reset_peaks(p->allocator);
    const struct allocator_statistics *s = allocator_read(p->allocator);
    p->phase = &result->phases[result->count++];
    *p->phase = (struct replay_phase){.name = name, .open = true};
    p->phase->figures[REPLAY_allocated_start] = reading_of(s->all.allocated.current);
    p->phase->figures[REPLAY_reserved_start] = reserved(s, s->all.reserved.current);
}

/* Peaks are reset at each begin, so the recording's own are collected before. */
static void collect_peaks(struct player *p)
{
    struct replay_result *result = p->result;
    const struct allocator_statistics *s = allocator_read(p->allocator);
    if (s->all.allocated.peak > result->allocated_peak)
        result->allocated_peak = s->all.allocated.peak;
    if (s->all.requested.peak > result->requested_peak)
        result->requested_peak = s->all.requested.peak;
    result->reserved_peak =
        reading_max(result->reserved_peak, reserved(s, s->all.reserved.peak));
}

static void fill_phase(struct player *p)
{
    synchronise(p);
    const struct allocator_statistics *s = allocator_read(p->allocator);
    struct reading *figures = p->phase->figures;
    figures[REPLAY_allocated_peak] = reading_of(s->all.allocated.peak);
    figures[REPLAY_allocated_end] = reading_of(s->all.allocated.current);
    figures[REPLAY_reserved_peak] = reserved(s, s->all.reserved.peak);
    figures[REPLAY_reserved_end] = reserved(s, s->all.reserved.current);
    figures[REPLAY_requested_peak] = reading_of(s->all.requested.peak);
    figures[REPLAY_ooms] = reading_of(s->ooms);
    if (!p->native)
        return;
    figures[REPLAY_inactive_split_end] = reading_of(s->all.inactive_split.current);
    figures[REPLAY_segments_allocated] = reading_of(s->all.segments.allocated);
    figures[REPLAY_segments_freed] = reading_of(s->all.segments.freed);
    figures[REPLAY_alloc_retries] = reading_of(s->alloc_retries);
}

static void check_address(struct player *p, const struct trace_event *event, uint64_t line,
                          uint64_t address)
{
    struct replay_result *result = p->result;
    if (p->setting->ties != REPLAY_RECORDED || !event->has_address)
        return;
    result->addresses_known++;
    if (address == event->address)
        return;
    if (!result->address_differences++ && !result->first_difference.length)
        text_addf(&result->first_difference,
                  "line %" PRIu64 ": block at %" PRIu64 " where the recording has %" PRIu64,
                  line + 2, address, event->address);
}

static uint64_t stream_of(const struct player *p, const struct trace_event *event)
{
    return p->streams.count ? stream_order_rank(&p->streams, event->stream) : event->stream;
}

static void play_alloc(struct player *p, const struct trace_event *event, uint64_t line)
{
    struct replay_result *result = p->result;
    struct block block;
    struct refusal refusal;
    const enum outcome outcome =
        allocator_alloc(p->allocator, event->bytes, stream_of(p, event), &block, &refusal);
    p->live[event->slot] = outcome == OUTCOME_OK ? block.piece : NULL;
    if (outcome == OUTCOME_OK) {
        check_address(p, event, line, block.address);
        return;
    }
    if (!result->refusals++) {
        result->first_refusal = line + 2;
        result->refusal = refusal;
    }
    if (p->phase)
        p->phase->refused = true;
}

/* What was refused is refused again, with all that the ladder does on the way. */
static void play_oom(struct player *p, const struct trace_event *event)
{
    struct block block;
    struct refusal refusal;
    p->addresses->refuses = p->setting->ties != REPLAY_RECORDED;
    const enum outcome outcome =
        allocator_alloc(p->allocator, event->bytes, stream_of(p, event), &block, &refusal);
    p->addresses->refuses = false;
    if (outcome == OUTCOME_OK) {
        p->result->served++;
        allocator_free(p->allocator, &block);
    }
    if (p->phase)
        p->phase->refused = true;
}

static void play_free(struct player *p, const struct trace_event *event)
{
    struct piece *piece = p->live[event->slot];
    if (piece)
        allocator_free_piece(p->allocator, piece);
    p->live[event->slot] = NULL;
}

static void play(struct player *p, const struct trace_event *event, uint64_t line)
{
    switch ((enum trace_op)event->op) {
    case TRACE_ALLOC:
        play_alloc(p, event, line);
        break;
    case TRACE_FREE:
        play_free(p, event);
        break;
    case TRACE_OOM:
        if (!p->setting->skip_refusals)
            play_oom(p, event);
        break;
    case TRACE_EMPTY_CACHE:
        allocator_empty_cache(p->allocator);
        break;
    case TRACE_BEGIN:
        collect_peaks(p);
        begin_phase(p, p->trace->names[event->slot]);
        break;
    case TRACE_END:
        fill_phase(p);
        p->phase->open = false;
        p->phase = NULL;
        break;
    }
}

static bool asks_device(struct player *p, const struct trace_event *event)
{
    return !allocator_has_room(p->allocator, event->bytes, stream_of(p, event));
}

/* Segment events of an empty_cache stand behind its line, those of a request before it. */
static void follow_recording(struct player *p, const struct trace_event *event, uint64_t line)
{
    const bool refused = event->op == TRACE_OOM;
    recorded_at(&p->recorded, line, false);
    if (!refused &&
        recorded_emptied(&p->recorded, line, event->op == TRACE_ALLOC && asks_device(p, event)))
        allocator_empty_cache(p->allocator);
    recorded_at(&p->recorded, event->op == TRACE_EMPTY_CACHE ? line + 1 : line, refused);
}

static void play_all(struct player *p)
{
    const struct trace *trace = p->trace;
    const bool recorded = p->setting->ties == REPLAY_RECORDED;
    const bool unmarked = trace->name_count == 0;
    if (unmarked)
        begin_phase(p, "recording");
    for (uint64_t line = 0; line < trace->count; line++) {
        if (recorded)
            follow_recording(p, &trace->events[line], line);
        play(p, &trace->events[line], line);
        if (p->setting->stop_at_refusal && p->result->refusals)
            break;
    }
    if (p->phase) {
        fill_phase(p);
        p->phase->open = !unmarked;
    }
    collect_peaks(p);
    const struct allocator_statistics *s = allocator_read(p->allocator);
    p->result->alloc_retries = s->alloc_retries;
    p->result->device_calls = s->device_allocs + s->device_frees;
    p->result->lines = trace->count;
}

static void choose_addresses(struct player *p)
{
    const struct allocator_setting *setting = &p->setting->allocator_setting;
    switch (p->setting->ties) {
    case REPLAY_CHUNK_MODEL:
        p->addresses = chunk_model_open();
        break;
    case REPLAY_RECORDED:
        stream_order_find(&p->streams, p->trace, p->setting->segments,
                          !setting->max_split_size.known &&
                              setting->garbage_collection_threshold <= 0);
        recorded_open(&p->recorded, p->setting->segments, &p->streams);
        p->addresses = &p->recorded.policy;
        break;
    case REPLAY_SEGMENT_ORDER:
        ascending_init(&p->ascending);
        p->addresses = &p->ascending.policy;
        break;
    }
}

static int open_player(struct player *p, struct text *why)
{
    const struct replay_setting *setting = p->setting;
    const struct device_setting device = {.capacity = reading_of(setting->device_total),
                                          .addresses = p->addresses};
    struct allocator_setting allocator = setting->allocator_setting;
    const bool own = setting->ties == REPLAY_RECORDED && p->trace->tagged;
    allocator.tie_break =
        setting->ties == REPLAY_SEGMENT_ORDER || own ? TIE_SEGMENT_ORDER : TIE_ADDRESS;
    const enum outcome opened = device_open(&p->device, &device_simulated, &device);
    assert(opened == OUTCOME_OK); /* a simulated device without overhead always opens */
    (void)opened;
    if (allocator_open(&p->allocator, setting->allocator, &p->device, &allocator, why)) {
        device_close(&p->device);
        return -1;
    }
    if (setting->ties == REPLAY_RECORDED)
        allocator_listen(p->allocator, recorded_hear, &p->recorded);
    return 0;
}

static void close_player(struct player *p)
{
    struct replay_result *result = p->result;
    allocator_listen(p->allocator, NULL, NULL);
    allocator_close(p->allocator);
    device_close(&p->device);
    free(p->live);
    if (p->setting->ties != REPLAY_RECORDED)
        return;
    recorded_finish(&p->recorded);
    result->segment_differences = p->recorded.differences;
    if (!result->first_difference.length)
        text_add(&result->first_difference, text_string(&p->recorded.first));
}

static void close_addresses(struct player *p)
{
    if (p->setting->ties == REPLAY_CHUNK_MODEL)
        chunk_model_close(p->addresses);
    if (p->setting->ties == REPLAY_RECORDED)
        recorded_close(&p->recorded);
    stream_order_release(&p->streams);
}

int replay_run(const struct trace *trace, const struct replay_setting *setting,
               struct replay_result *result, struct text *why)
{
    struct replay_result made = {.first_difference = TEXT_INIT};
    struct player p = {.trace = trace, .setting = setting, .result = &made};
    choose_addresses(&p);
    if (open_player(&p, why)) {
        close_addresses(&p);
        return -1;
    }
    const struct allocator_statistics *s = allocator_read(p.allocator);
    p.native = s->reserved_known && !s->reserved_is_upper_bound;
    p.live = xcalloc((size_t)trace->slots + 1, sizeof(struct piece *));
    made.phases = xcalloc(trace->name_count + 1, sizeof(*made.phases));
    play_all(&p);
    close_player(&p);
    close_addresses(&p);
    *result = made;
    return 0;
}

void replay_result_release(struct replay_result *result)
{
    free(result->phases);
    text_release(&result->first_difference);
    *result = (struct replay_result){.first_difference = TEXT_INIT};
}

/* --- the smallest limit that runs --- */

static int run_at(const struct trace *trace, struct replay_setting setting,
                  struct reading limit, struct replay_fit *fit, struct replay_result *result,
                  struct text *why)
{
    setting.allocator_setting.limit = limit;
    setting.skip_refusals = true;
    setting.stop_at_refusal = true;
    fit->replays++;
    return replay_run(trace, &setting, result, why);
}

/* Sets *runs. */
static int try_limit(const struct trace *trace, const struct replay_setting *setting,
                     uint64_t limit, struct replay_fit *fit, bool *runs, struct text *why)
{
    struct replay_result result;
    if (run_at(trace, *setting, reading_of(limit), fit, &result, why))
        return -1;
    *runs = result.refusals == 0;
    if (*runs) {
        fit->fits = limit;
        fit->allocated_peak = result.allocated_peak;
        fit->reserved_peak = result.reserved_peak.known ? result.reserved_peak.value : 0;
        fit->alloc_retries = result.alloc_retries;
        fit->device_calls = result.device_calls;
    }
    replay_result_release(&result);
    return 0;
}

/* A limit that runs: what an unlimited run held, or more where garbage collection gets in the
 * way. */
static int find_upper(const struct trace *trace, const struct replay_setting *setting,
                      const struct replay_result *unlimited, struct replay_fit *fit,
                      struct text *why)
{
    const uint64_t held = unlimited->reserved_peak.known ? unlimited->reserved_peak.value
                                                         : unlimited->allocated_peak;
    const uint64_t most = round_up(setting->device_total, REPLAY_PAGE);
    bool runs = false;
    for (uint64_t limit = round_up(held, REPLAY_PAGE); !runs; limit *= 2) {
        if (limit > most)
            limit = most;
        if (try_limit(trace, setting, limit, fit, &runs, why))
            return -1;
        if (!runs && limit == most) {
            text_addf(why,
                      "no limit up to the device's %" PRIu64 " bytes runs without a refusal",
                      setting->device_total);
            return -1;
        }
    }
    return 0;
}

/* Between a limit that cannot hold what was asked for at once, and one that runs. The lower end
 * is replayed too, so that the answer rests on two replays and no argument. */
static int bisect(const struct trace *trace, const struct replay_setting *setting,
                  uint64_t too_small, struct replay_fit *fit, struct text *why)
{
    bool runs;
    if (try_limit(trace, setting, too_small, fit, &runs, why))
        return -1;
    if (runs)
        return text_fail(why, "runs with %" PRIu64 " bytes, less than it asks for at once",
                         too_small);
    while (fit->fits - too_small > REPLAY_PAGE) {
        const uint64_t middle =
            too_small + (fit->fits - too_small) / (2 * REPLAY_PAGE) * REPLAY_PAGE;
        if (try_limit(trace, setting, middle, fit, &runs, why))
            return -1;
        if (!runs)
            too_small = middle;
    }
    return 0;
}

size_t trace_last_refusal(const struct trace *trace)
{
    for (size_t i = trace->count; i-- > 0;) {
        if (trace->events[i].op == TRACE_OOM)
            return i;
        if (trace->events[i].op == TRACE_ALLOC)
            break;
    }
    return trace->count;
}

static int find_fit(const struct trace *trace, const struct replay_setting *setting,
                    struct replay_fit *fit, struct text *why)
{
    struct replay_fit found = {0};
    struct replay_result unlimited;
    if (run_at(trace, *setting, reading_missing(), &found, &unlimited, why))
        return -1;
    const uint64_t requested = unlimited.requested_peak;
    int result = -1;
    if (unlimited.refusals)
        text_addf(why,
                  "line %" PRIu64 " is refused even by the whole device of %" PRIu64 " bytes",
                  unlimited.first_refusal, setting->device_total);
    else if (!requested)
        text_add(why, "the recording asks for nothing");
    else
        result = find_upper(trace, setting, &unlimited, &found, why);
    replay_result_release(&unlimited);
    if (!result)
        result =
            bisect(trace, setting, (requested - 1) / REPLAY_PAGE * REPLAY_PAGE, &found, why);
    if (!result)
        *fit = found;
    return result;
}

int replay_find_fit(const struct trace *trace, const struct replay_setting *setting,
                    struct replay_fit *fit, struct text *why)
{
    const size_t last = trace_last_refusal(trace);
    if (last == trace->count)
        return find_fit(trace, setting, fit, why);
    struct trace granted = *trace; /* its names stay the other's */
    granted.events = xmalloc(trace->count * sizeof(*granted.events));
    memcpy(granted.events, trace->events, trace->count * sizeof(*granted.events));
    granted.events[last].op = TRACE_ALLOC;
    granted.events[last].slot = granted.slots++;
    const int result = find_fit(&granted, setting, fit, why);
    if (!result)
        fit->at_least = true;
    free(granted.events);
    return result;
}

/* --- the comparison with expected figures --- */

enum { PHASE, STATUS, FIRST_FIGURE };
#define FIELDS_MOST (FIRST_FIGURE + REPLAY_FIGURE_COUNT)

struct checker {
    const struct replay_result *result;
    struct text *differences;
    uint64_t count;
    int columns[FIELDS_MOST]; /* of each field: which figure, counted from FIRST_FIGURE */
    size_t fields;
    size_t row;
    struct text reason;
};

static void differ(struct checker *checker, const char *phase, const char *what,
                   const char *got, const char *expected)
{
    const char *const texts[] = {phase, ": ", what, " is ", got, ", expected ", expected};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_add_escaped(checker->differences, *texts[i] ? texts[i] : "missing",
                         *texts[i] ? strlen(texts[i]) : strlen("missing"), 0);
    text_add_char(checker->differences, '\n');
    checker->count++;
}

/* A name as it is, or as it stands in a file that was written here. */
static bool is_same(const char *value, const char *expected)
{
    struct text cell = TEXT_INIT;
    csv_add_cell(&cell, value);
    bool same = strcmp(value, expected) == 0 || strcmp(text_string(&cell), expected) == 0;
    text_release(&cell);
    return same;
}

static int find_column(const char *name)
{
    if (strcmp(name, "phase") == 0)
        return PHASE;
    if (strcmp(name, "status") == 0)
        return STATUS;
    for (int i = 0; i < REPLAY_FIGURE_COUNT; i++) {
        if (strcmp(name, replay_figure_names[i]) == 0)
            return FIRST_FIGURE + i;
    }
    return -1;
}

static int read_header(struct checker *checker, char **fields, size_t count)
{
    if (count > FIELDS_MOST || strcmp(fields[PHASE], "phase") != 0) {
        text_add(&checker->reason,
                 "not a file of expected figures: the first column is not phase");
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        checker->columns[i] = find_column(fields[i]);
        if (checker->columns[i] < 0) {
            text_addf(&checker->reason, "no such column: \"%s\"", fields[i]);
            return -1;
        }
    }
    checker->fields = count;
    return 0;
}

static void compare_field(struct checker *checker, const struct replay_phase *phase, int column,
                          const char *expected)
{
    char got[24] = "";
    const char *name = column == PHASE ? "phase" : "status";
    const char *value = column == PHASE ? phase->name : replay_status(phase);
    if (column >= FIRST_FIGURE) {
        const struct reading figure = phase->figures[column - FIRST_FIGURE];
        name = replay_figure_names[column - FIRST_FIGURE];
        if (figure.known)
            snprintf(got, sizeof(got), "%" PRIu64, figure.value);
        value = got;
    }
    if (!is_same(value, expected))
        differ(checker, phase->name, name, value, expected);
}

static int check_record(void *user, char **fields, size_t count, uint64_t line)
{
    struct checker *checker = user;
    (void)line;
    if (!checker->fields)
        return read_header(checker, fields, count);
    if (count != checker->fields) {
        text_addf(&checker->reason, "%zu fields where the header has %zu", count,
                  checker->fields);
        return -1;
    }
    const size_t row = checker->row++;
    if (row >= checker->result->count) {
        differ(checker, fields[PHASE], "phase", "", fields[PHASE]);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        compare_field(checker, &checker->result->phases[row], checker->columns[i], fields[i]);
    return 0;
}

int replay_check(const struct replay_result *result, const char *path, struct text *differences,
                 uint64_t *count, struct text *why)
{
    struct checker checker = {.result = result, .differences = differences};
    struct text reason = TEXT_INIT;
    uint64_t line = 0;
    int failed = csv_read(path, check_record, &checker, &line, &reason);
    if (!failed && !checker.fields) {
        text_add(&checker.reason, "the file is empty");
        line = 1;
        failed = -1;
    }
    for (size_t i = checker.row; !failed && i < result->count; i++)
        differ(&checker, result->phases[i].name, "phase", result->phases[i].name, "");
    if (failed && line)
        text_addf(why, "%s:%" PRIu64 ": %s", path, line,
                  text_string(checker.reason.length ? &checker.reason : &reason));
    else if (failed)
        text_add(why, text_string(&reason));
    else
        *count = checker.count;
    text_release(&reason);
    text_release(&checker.reason);
    return failed;
}
