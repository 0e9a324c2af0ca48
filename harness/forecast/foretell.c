#include "harness/forecast/foretell.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A card that is larger than all that can be asked for, so that nothing is refused. */
#define NO_LIMIT ((uint64_t)1 << 44)

static enum replay_ties ties_of(const struct trace *trace)
{
    return trace->tagged ? REPLAY_SEGMENT_ORDER : REPLAY_CHUNK_MODEL;
}

static int play(const struct trace *trace, const struct foretell_setting *setting,
                struct replay_result *result, struct text *why)
{
    const struct replay_setting replay = {
        .allocator = setting->allocator,
        .allocator_setting = setting->allocator_setting,
        .device_total = setting->room.known ? setting->room.value : NO_LIMIT,
        .ties = ties_of(trace),
        .stop_at_refusal = true,
    };
    return replay_run(trace, &replay, result, why);
}

static void widen(struct bounds *range, struct reading value)
{
    range->least = reading_min(range->least, value);
    range->most = reading_max(range->most, value);
}

bool bounds_are_exact(const struct bounds *range)
{
    return range->least.known == range->most.known &&
           (!range->least.known || range->least.value == range->most.value);
}

static void add_phase(struct foretold *f, const struct replay_phase *played, size_t index)
{
    if (index == f->phase_count) {
        f->phases = xrealloc(f->phases, (f->phase_count + 1) * sizeof(*f->phases));
        f->phases[f->phase_count++] = (struct foretold_phase){.name = xstrdup(played->name)};
    }
    struct foretold_phase *phase = &f->phases[index];
    widen(&phase->allocated_peak, played->figures[REPLAY_allocated_peak]);
    widen(&phase->reserved_peak, played->figures[REPLAY_reserved_peak]);
    widen(&phase->retries, played->figures[REPLAY_alloc_retries]);
    phase->refused = phase->refused || played->refused;
}

static void add_version(struct foretold *f, const struct replay_result *result)
{
    struct foretold_version *version = &f->versions[f->version_count++];
    *version = (struct foretold_version){.fits = result->refusals == 0};
    for (size_t i = 0; i < result->count; i++)
        add_phase(f, &result->phases[i], i);
    widen(&f->allocated_peak, reading_of(result->allocated_peak));
    widen(&f->reserved_peak, result->reserved_peak);
    if (result->count) {
        const struct reading retries =
            result->phases[result->count - 1].figures[REPLAY_alloc_retries];
        version->retries = retries.known ? retries.value : 0;
    }
    if (version->fits)
        return;
    const bool inside = result->count && result->phases[result->count - 1].refused;
    version->failed_phase = xstrdup(inside ? result->phases[result->count - 1].name : "");
    version->refusal = result->refusal;
}

static void lower(struct bounds *range, struct reading value)
{
    if (range->least.known)
        range->least = reading_min(range->least, value);
}

static void lower_allocated(struct foretold *f, const struct replay_result *result)
{
    for (size_t i = 0; i < result->count && i < f->phase_count; i++)
        lower(&f->phases[i].allocated_peak, result->phases[i].figures[REPLAY_allocated_peak]);
    lower(&f->allocated_peak, reading_of(result->allocated_peak));
}

static struct reading height(const struct foretold_phase *phase)
{
    return phase->reserved_peak.most.known ? phase->reserved_peak.most
                                           : phase->allocated_peak.most;
}

static void find_peak_phase(struct foretold *f)
{
    for (size_t i = 1; i < f->phase_count; i++) {
        const struct reading here = height(&f->phases[i]);
        const struct reading peak = height(&f->phases[f->peak_phase]);
        if (here.known && (!peak.known || here.value > peak.value))
            f->peak_phase = i;
    }
}

/* Plays a version; VERSION_WITHOUT only lowers what is allocated. */
static int add_made(struct foretold *f, const struct script *script,
                    const struct foretell_setting *setting, enum version version,
                    struct text *why)
{
    struct trace made;
    struct replay_result played;
    if (script_make(script, f->value, version, &made, why))
        return -1;
    const int result = play(&made, setting, &played, why);
    if (!result) {
        if (version == VERSION_WITHOUT)
            lower_allocated(f, &played);
        else
            add_version(f, &played);
        replay_result_release(&played);
    }
    trace_release(&made);
    return result;
}

int foretell(const struct script *script, const struct foretell_setting *setting,
             uint64_t value, struct foretold *foretold, struct text *why)
{
    struct foretold f = {.value = value};
    int result = 0;
    if (!script_is_doubtful(script)) {
        result = add_made(&f, script, setting, VERSION_MOST, why);
    } else {
        for (int version = VERSIONS - 1; version >= 0 && !result; version--)
            result = add_made(&f, script, setting, (enum version)version, why);
    }
    find_peak_phase(&f);
    if (result)
        foretold_release(&f);
    else
        *foretold = f;
    return result;
}

void foretold_release(struct foretold *f)
{
    for (size_t i = 0; i < f->phase_count; i++)
        free(f->phases[i].name);
    for (size_t i = 0; i < f->version_count; i++)
        free(f->versions[i].failed_phase);
    free(f->phases);
    *f = (struct foretold){0};
}

bool foretold_fits(const struct foretold *f)
{
    for (size_t i = 0; i < f->version_count; i++) {
        if (!f->versions[i].fits)
            return false;
    }
    return true;
}

bool foretold_refused(const struct foretold *f)
{
    for (size_t i = 0; i < f->version_count; i++) {
        if (f->versions[i].fits)
            return false;
    }
    return true;
}

/* What a take itself shows, and where its peak is. */
static int play_take(const struct take *take, const struct foretell_setting *setting,
                     struct foretold_check *check, struct text *why)
{
    struct replay_result played;
    if (play(&take->trace, setting, &played, why))
        return -1;
    struct foretold f = {0};
    add_version(&f, &played);
    find_peak_phase(&f);
    check->true_allocated = played.allocated_peak;
    check->true_reserved = played.reserved_peak;
    check->true_phase = xstrdup(f.phases[f.peak_phase].name);
    foretold_release(&f);
    replay_result_release(&played);
    return 0;
}

static int check_one(const struct take *takes, size_t count, size_t left_out,
                     const struct foretell_setting *setting, struct foretold_check *check,
                     struct text *why)
{
    struct take *others = xcalloc(count - 1, sizeof(*others)); /* shallow */
    struct script script;
    struct foretold f;
    struct text reason = TEXT_INIT;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (i != left_out)
            others[kept++] = takes[i];
    }
    *check = (struct foretold_check){.value = takes[left_out].value};
    const int result = play_take(&takes[left_out], setting, check, why);
    if (result) {
    } else if (script_find(others, kept, &script, &reason)) {
        check->refused = xstrdup(text_string(&reason));
    } else {
        if (foretell(&script, setting, check->value, &f, &reason)) {
            check->refused = xstrdup(text_string(&reason));
        } else {
            check->allocated = f.allocated_peak;
            check->reserved = f.reserved_peak;
            check->phase = xstrdup(f.phases[f.peak_phase].name);
            foretold_release(&f);
        }
        script_release(&script);
    }
    text_release(&reason);
    free(others);
    return result;
}

int foretell_check(const struct take *takes, size_t count,
                   const struct foretell_setting *setting, struct foretold_check *checks,
                   struct text *why)
{
    struct foretell_setting free_of_limits = *setting;
    free_of_limits.room = reading_missing();
    free_of_limits.allocator_setting.limit = reading_missing();
    assert(count >= 3);
    for (size_t i = 0; i < count; i++) {
        if (check_one(takes, count, i, &free_of_limits, &checks[i], why)) {
            for (size_t k = 0; k < i; k++)
                foretold_check_release(&checks[k]);
            return -1;
        }
    }
    return 0;
}

void foretold_check_release(struct foretold_check *check)
{
    free(check->refused);
    free(check->phase);
    free(check->true_phase);
    *check = (struct foretold_check){0};
}
