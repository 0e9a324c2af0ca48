#include "harness/command/forecast_text.h"
#include "harness/base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Two counts as one where they are the same. */
static void add_range(struct text *out, const struct bounds *range, const char *mark)
{
    char cell[64];
    if (!range->most.known)
        snprintf(cell, sizeof cell, "-");
    else if (bounds_are_exact(range))
        snprintf(cell, sizeof cell, "%s%" PRIu64, mark, range->most.value);
    else
        snprintf(cell, sizeof cell, "%s%" PRIu64 "-%" PRIu64, mark, range->least.value,
                 range->most.value);
    text_addf(out, " %27s", cell);
}

static void add_gib_range(struct text *out, const struct bounds *range, const char *mark)
{
    if (!range->most.known) {
        text_add(out, "not known");
        return;
    }
    text_add(out, mark);
    text_addf(out, "%" PRIu64, range->least.value);
    if (!bounds_are_exact(range))
        text_addf(out, " to %" PRIu64, range->most.value);
    text_add(out, " bytes = ");
    text_add_gb(out, range->least.value);
    if (!bounds_are_exact(range)) {
        text_add(out, " to ");
        text_add_gb(out, range->most.value);
    }
}

static void add_basis(const struct forecast_view *view, struct text *out)
{
    const struct script *s = &view->script;
    text_addf(out, "forecast of %s, computed from ", view->dimension);
    forecast_add_sources(view, out);
    text_addf(out, "\nallocator %s; %" PRIu32 " requests in order", view->allocator,
              s->requests);
    if (s->unchecked)
        text_addf(out, ", %" PRIu32 " of them by fits that no recording has checked",
                  s->unchecked);
    text_add_char(out, '\n');
    if (s->irregular) {
        text_addf(out,
                  "irregular: %" PRIu32 " request%s of %" PRIu64
                  " bytes in all (the largest seen of each)\n",
                  s->irregular, s->irregular == 1 ? "" : "s", s->irregular_bytes);
    }
    if (s->doubtful_short)
        text_addf(out,
                  "unchecked: %" PRIu32 " short-lived request%s on a straight line through two "
                  "recordings\n",
                  s->doubtful_short, s->doubtful_short == 1 ? "" : "s");
    if (s->moved)
        text_addf(out, "moved: %" PRIu32 " block%s freed earlier in some recordings\n",
                  s->moved, s->moved == 1 ? " is" : "s are");
    if (script_is_doubtful(s))
        text_add(out, "played without them or with the least of them, and with the most: where "
                      "that changes nothing one number stands, else two\n");
}

static void add_error(struct text *out, const char *what, const struct bounds *range,
                      struct reading truth)
{
    const double error = forecast_error(range, truth);
    text_addf(out, "%s ", what);
    if (!truth.known)
        text_add(out, "not known");
    else if (error < 0 || error > 0)
        text_addf(out, "%+.2f %% of %" PRIu64, 100 * error, truth.value);
    else if (bounds_are_exact(range))
        text_addf(out, "exact (%" PRIu64 ")", truth.value);
    else
        text_addf(out, "framed (%" PRIu64 ", %.1f %% wide)", truth.value,
                  100 * (double)(range->most.value - range->least.value) / (double)truth.value);
}

static void add_checks(const struct forecast_view *view, struct text *out)
{
    if (!view->checks) {
        text_addf(out,
                  "check: unchecked: a third recording would test it; %s %" PRIu64
                  " is worth recording\n",
                  view->dimension, forecast_worth_recording(view));
        return;
    }
    for (size_t i = 0; i < view->take_count; i++) {
        const struct foretold_check *check = &view->checks[i];
        text_addf(out, "check: %s %" PRIu64 " from the others: ", view->dimension,
                  check->value);
        if (check->refused) {
            text_addf(out, "not possible: %s\n", check->refused);
            continue;
        }
        add_error(out, "allocated", &check->allocated, reading_of(check->true_allocated));
        add_error(out, ", reserved", &check->reserved, check->true_reserved);
        text_addf(out, ", peak in %s%s%s\n", check->phase,
                  strcmp(check->phase, check->true_phase) ? ", really in " : "",
                  strcmp(check->phase, check->true_phase) ? check->true_phase : "");
    }
}

static void add_failure(const struct foretold *f, struct text *out)
{
    const struct foretold_version *first = NULL;
    struct bounds retries = {{0}, {0}};
    for (size_t i = 0; i < f->version_count; i++) {
        const struct foretold_version *version = &f->versions[i];
        if (version->fits)
            continue;
        if (!first)
            first = version;
        retries.least = reading_min(retries.least, reading_of(version->retries));
        retries.most = reading_max(retries.most, reading_of(version->retries));
    }
    if (!first)
        return;
    text_addf(out, "  refused in %s: %" PRIu64 " bytes, by the %s",
              first->failed_phase[0] ? first->failed_phase : "no phase", first->refusal.bytes,
              first->refusal.by);
    if (first->refusal.free.known)
        text_addf(out, " with %" PRIu64 " free", first->refusal.free.value);
    text_addf(out, "; %" PRIu64, retries.least.value);
    if (!bounds_are_exact(&retries))
        text_addf(out, " to %" PRIu64, retries.most.value);
    text_addf(out, " retr%s\n", retries.most.value == 1 ? "y" : "ies");
}

static void add_foretold(const struct forecast_view *view, const struct forecast_card *card,
                         const struct foretold *f, const char *what, struct text *out)
{
    const bool ends = card->capacity.known && !foretold_fits(f);
    text_addf(out, "\n%s%s %" PRIu64, what, view->dimension, f->value);
    if (card->capacity.known)
        text_addf(out, ": %s", forecast_verdict(card, f));
    text_add(out, " (");
    forecast_add_reach(view, f->value, out);
    text_add(out, ")\n  allocated peak ");
    add_gib_range(out, &f->allocated_peak, ends ? ">=" : "");
    text_add(out, "\n  reserved peak  ");
    add_gib_range(out, &f->reserved_peak, ends ? ">=" : "");
    if (f->phase_count)
        text_addf(out, "\n  largest in %s", f->phases[f->peak_phase].name);
    text_add_char(out, '\n');
    add_failure(f, out);
    if (f->phase_count)
        text_addf(out, "  %-16s %27s %27s %9s\n", "phase", "allocated peak", "reserved peak",
                  "retries");
    for (size_t i = 0; i < f->phase_count; i++) {
        const struct foretold_phase *phase = &f->phases[i];
        text_addf(out, "  %-16s", phase->name);
        add_range(out, &phase->allocated_peak, phase->refused ? ">=" : "");
        add_range(out, &phase->reserved_peak, phase->refused ? ">=" : "");
        if (phase->retries.most.known)
            text_addf(out, " %9" PRIu64, phase->retries.most.value);
        else
            text_addf(out, " %9s", "-");
        text_add(out, phase->refused ? "  refused\n" : "\n");
    }
}

static void add_limit(const struct forecast_view *view, const struct forecast_card *card,
                      struct text *out)
{
    const struct foretold_limit *limit = &card->limit;
    text_add(out, "\nlimit: ");
    if (limit->none)
        text_addf(out, "%s %" PRIu64 " does not fit, and nothing smaller was tried",
                  view->dimension, limit->beyond.value);
    else if (limit->endless)
        text_addf(out, "%s %" PRIu64 " still fits, and nothing larger can be made",
                  view->dimension, limit->fits.value);
    else if (foretold_refused(&limit->beyond))
        text_addf(out, "%s %" PRIu64 " fits, %" PRIu64 " does not", view->dimension,
                  limit->fits.value, limit->beyond.value);
    else
        text_addf(out, "%s %" PRIu64 " fits in every version, %" PRIu64 " not in every one",
                  view->dimension, limit->fits.value, limit->beyond.value);
    if (limit->most.known)
        text_addf(out, ", %" PRIu64 " still in one", limit->most.value);
    if (limit->step > 1)
        text_addf(out, " (values in steps of %" PRIu64 ")", limit->step);
    text_addf(out, "; %" PRIu64 " values were played\n", limit->tried);
    if (!limit->none)
        add_foretold(view, card, &limit->fits, "largest that fits: ", out);
    if (!limit->endless)
        add_foretold(view, card, &limit->beyond, "first that does not: ", out);
}

static void add_card(const struct forecast_view *view, const struct forecast_card *card,
                     struct text *out)
{
    if (!card->capacity.known)
        return;
    text_addf(out, "\ncard %s%s", card->name, card->name[0] ? ": " : "");
    text_add_size(out, card->capacity.value);
    text_addf(out, ", outside the allocator %" PRIu64 " (%s)\n",
              card->outside.known ? card->outside.value : 0, view->outside_basis);
}

void forecast_text_add(const struct forecast_view *view, struct text *out)
{
    add_basis(view, out);
    add_checks(view, out);
    for (size_t i = 0; i < view->card_count; i++) {
        const struct forecast_card *card = &view->cards[i];
        add_card(view, card, out);
        for (size_t k = 0; k < view->value_count; k++)
            add_foretold(view, card, &card->values[k], "", out);
        if (card->limited)
            add_limit(view, card, out);
    }
}
