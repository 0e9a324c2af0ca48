#include "harness/trace/replay.h"
#include "harness/allocator/rounding.h"

#include <inttypes.h>

static int run_at(const struct trace *trace, struct replay_setting setting,
                  struct reading limit, struct replay_fit *fit, struct replay_result *result,
                  struct text *why)
{
    setting.allocator_setting.limit = limit;
    setting.skip_refusals = true;
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
    if (runs) {
        text_addf(why, "runs with %" PRIu64 " bytes, less than it asks for at once", too_small);
        return -1;
    }
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

int replay_find_fit(const struct trace *trace, const struct replay_setting *setting,
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
