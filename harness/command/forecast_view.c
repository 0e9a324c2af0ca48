#include "harness/command/forecast_view.h"

#include <inttypes.h>

const char *forecast_verdict(const struct forecast_card *card, const struct foretold *f)
{
    if (!card->capacity.known)
        return "";
    return foretold_fits(f) ? "fits" : foretold_refused(f) ? "does not fit" : "may not fit";
}

void forecast_add_reach(const struct forecast_view *view, uint64_t value, struct text *out)
{
    const uint64_t largest = view->takes[view->take_count - 1].value;
    bool recorded = false;
    for (size_t i = 0; i < view->take_count; i++)
        recorded = recorded || view->takes[i].value == value;
    if (recorded)
        text_add(out, "recorded");
    else if (value > largest)
        text_addf(out, "%.1f times the largest recorded", (double)value / (double)largest);
    else if (value < view->takes[0].value)
        text_add(out, "below the smallest recorded");
    else
        text_add(out, "between those recorded");
}

void forecast_add_sources(const struct forecast_view *view, struct text *out)
{
    for (size_t i = 0; i < view->take_count; i++)
        text_addf(out, "%s%s (%" PRIu64 ")", i ? ", " : "", view->takes[i].path,
                  view->takes[i].value);
}

/* Beyond the recorded ones, so that it tests the reach, and cheap; on the way to what is asked.
 */
uint64_t forecast_worth_recording(const struct forecast_view *view)
{
    const uint64_t step = script_step(&view->script);
    const uint64_t largest = view->takes[view->take_count - 1].value;
    uint64_t ahead = largest;
    if (view->asked > largest && view->asked < 2 * largest)
        ahead = (view->asked - largest) / 2;
    const uint64_t steps = ahead / step;
    return largest + (steps ? steps : 1) * step;
}

double forecast_error(const struct bounds *range, struct reading truth)
{
    if (!truth.known || !range->most.known || truth.value == 0)
        return 0;
    if (truth.value < range->least.value)
        return (double)(range->least.value - truth.value) / (double)truth.value;
    if (truth.value > range->most.value)
        return -(double)(truth.value - range->most.value) / (double)truth.value;
    return 0;
}
