#include "harness/plan/boundary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const boundary_end_names[] = {"confirmed", "undecided", "spent", "running"};

/* Values are numbered from 0 to count - 1. Signed, because "none fits" is -1. */
typedef int64_t number;

static number number_of(const struct boundary_search *search, uint64_t value)
{
    return (number)((value - search->boundary.from) / search->boundary.step);
}

static uint64_t value_of(const struct boundary_search *search, number at)
{
    return search->boundary.from + (uint64_t)at * search->boundary.step;
}

/* floor(2 log2(count)) + 2 confirm */
static uint64_t bound_on_runs(uint64_t count, uint64_t confirm)
{
    unsigned whole = 63 - (unsigned)__builtin_clzll(count);
    unsigned __int128 square = (unsigned __int128)count * count;
    uint64_t twice = 2 * whole + (square >> (2 * whole + 1) ? 1 : 0);
    return twice + 2 * confirm;
}

void boundary_open(struct boundary_search *search, const struct study_boundary *boundary,
                   struct reading guess)
{
    *search = (struct boundary_search){.boundary = *boundary};
    search->count = (boundary->to - boundary->from) / boundary->step + 1;
    search->most = bound_on_runs(search->count, boundary->confirm);
    if (guess.known) {
        uint64_t value = guess.value < boundary->from ? boundary->from : guess.value;
        number at = number_of(search, value);
        number last = (number)search->count - 1;
        search->guess = reading_of((uint64_t)(at > last ? last : at));
    }
}

void boundary_close(struct boundary_search *search)
{
    free(search->seen);
    *search = (struct boundary_search){.seen = NULL};
}

/* --- what is known --- */

static bool only_fitted(const struct boundary_seen *seen)
{
    return seen->fits > 0 && seen->fails == 0;
}

static bool only_failed(const struct boundary_seen *seen)
{
    return seen->fails > 0 && seen->fits == 0;
}

static bool mixed(const struct boundary_seen *seen)
{
    return seen->fits > 0 && seen->fails > 0;
}

/* The edges: `fit` is the last value that only fitted below `fail`, the first that only failed;
 * -1 and count stand for none. Mixed values lie between them: `above_fit` is the first value
 * above fit that is known not to be one, `below_fail` the last below fail. */
struct edges {
    number fit, above_fit, below_fail, fail;
};

static struct edges find_edges(const struct boundary_search *search)
{
    struct edges edges = {.fit = -1, .fail = (number)search->count};
    for (size_t i = search->seen_count; i-- > 0;)
        if (only_failed(&search->seen[i]))
            edges.fail = number_of(search, search->seen[i].value);
    for (size_t i = 0; i < search->seen_count; i++) {
        number at = number_of(search, search->seen[i].value);
        if (only_fitted(&search->seen[i]) && at < edges.fail)
            edges.fit = at;
    }
    edges.above_fit = edges.fail;
    edges.below_fail = edges.fit;
    for (size_t i = 0; i < search->seen_count; i++) {
        number at = number_of(search, search->seen[i].value);
        if (!mixed(&search->seen[i]) || at >= edges.fail)
            continue;
        if (at > edges.fit && at < edges.above_fit)
            edges.above_fit = at;
        if (at > edges.below_fail)
            edges.below_fail = at;
    }
    return edges;
}

static const struct boundary_seen *find_seen(const struct boundary_search *search, number at)
{
    for (size_t i = 0; i < search->seen_count; i++)
        if (search->seen[i].value == value_of(search, at))
            return &search->seen[i];
    return NULL;
}

/* A value inside the edges that nobody judged, however often it was tried: further tries would
 * only end as they did. `now`: counting what the next driver tries again. */
static bool is_stuck(const struct boundary_search *search, const struct edges *edges, bool now)
{
    uint64_t tries = search->boundary.confirm < 2 ? 2 : search->boundary.confirm;
    for (size_t i = 0; i < search->seen_count; i++) {
        const struct boundary_seen *seen = &search->seen[i];
        number at = number_of(search, seen->value);
        if (at >= edges->fit && at <= edges->fail &&
            seen->in_vain + (now ? seen->again_in_vain : 0) >= tries)
            return true;
    }
    return false;
}

/* Both edges were seen often enough, and nothing between them is left to be run. */
static bool is_closed(const struct boundary_search *search, const struct edges *edges)
{
    uint64_t confirm = search->boundary.confirm;
    const struct boundary_seen *fit = edges->fit >= 0 ? find_seen(search, edges->fit) : NULL;
    const struct boundary_seen *fail = find_seen(search, edges->fail);
    return edges->above_fit - edges->fit <= 1 && edges->fail - edges->below_fail <= 1 &&
           (!fit || fit->fits >= confirm) && (!fail || fail->fails >= confirm);
}

static enum boundary_end end_of(const struct boundary_search *search, const struct edges *edges)
{
    if (is_closed(search, edges))
        return BOUNDARY_CONFIRMED;
    if (is_stuck(search, edges, false))
        return BOUNDARY_UNDECIDED;
    return search->spent >= search->most ? BOUNDARY_SPENT : BOUNDARY_RUNNING;
}

/* --- where to look next --- */

static number least(number a, number b)
{
    return a < b ? a : b;
}

static number most(number a, number b)
{
    return a > b ? a : b;
}

/* A number strictly between: the guess if it is one; else the distance from the guess is
 * doubled, up to the middle. An open end has no middle: there the doubling may reach the end.
 */
static number between(const struct boundary_search *search, number low, number high)
{
    number guess = (number)search->guess.value, last = (number)search->count - 1;
    number middle = low + (high - low) / 2;
    if (!search->guess.known)
        return middle;
    if (low >= guess)
        return least(low + most(1, low - guess), high > last ? last : middle);
    if (high <= guess)
        return most(high - most(1, guess - high), low < 0 ? 0 : middle);
    return guess;
}

/* First the gap is closed, then its edges are confirmed: a value that is confirmed earlier may
 * turn out to be no edge, and its runs would be lost. -1: nothing is left to be run. */
static number wanted(const struct boundary_search *search)
{
    struct edges edges = find_edges(search);
    uint64_t confirm = search->boundary.confirm;
    if (search->spent + search->spent_again >= search->most || is_stuck(search, &edges, true))
        return -1;
    if (edges.above_fit - edges.fit > 1)
        return between(search, edges.fit, edges.above_fit);
    if (edges.fail - edges.below_fail > 1)
        return between(search, edges.below_fail, edges.fail);
    if (edges.fit >= 0 && find_seen(search, edges.fit)->fits < confirm)
        return edges.fit;
    if (edges.fail < (number)search->count && find_seen(search, edges.fail)->fails < confirm)
        return edges.fail;
    return -1;
}

bool boundary_next(const struct boundary_search *search, uint64_t *value, uint64_t *trial)
{
    number at = wanted(search);
    if (at < 0)
        return false;
    const struct boundary_seen *seen = find_seen(search, at);
    *value = value_of(search, at);
    *trial = seen ? seen->fits + seen->fails + seen->not_judged + 1 : 1;
    return true;
}

static struct boundary_seen *seen_at(struct boundary_search *search, uint64_t value)
{
    size_t place = 0;
    while (place < search->seen_count && search->seen[place].value < value)
        place++;
    if (place < search->seen_count && search->seen[place].value == value)
        return &search->seen[place];
    search->seen = xgrow(search->seen, search->seen_count, sizeof *search->seen);
    memmove(search->seen + place + 1, search->seen + place,
            (search->seen_count - place) * sizeof *search->seen);
    search->seen_count++;
    search->seen[place] = (struct boundary_seen){.value = value};
    return &search->seen[place];
}

/* May a search that knows as much, with whatever guess, want this one? */
static bool is_of_use(const struct boundary_search *search, number at)
{
    struct edges edges = find_edges(search);
    uint64_t confirm = search->boundary.confirm;
    if (end_of(search, &edges) != BOUNDARY_RUNNING)
        return false;
    return (at > edges.fit && at < edges.above_fit) ||
           (at > edges.below_fail && at < edges.fail) ||
           (at == edges.fit && find_seen(search, at)->fits < confirm) ||
           (at == edges.fail && find_seen(search, at)->fails < confirm);
}

bool boundary_feed(struct boundary_search *search, uint64_t value,
                   enum boundary_outcome outcome, bool counts)
{
    const struct study_boundary *boundary = &search->boundary;
    if (value < boundary->from || value > boundary->to ||
        (value - boundary->from) % boundary->step != 0)
        return false;
    bool of_use = is_of_use(search, number_of(search, value));
    bool again = outcome == BOUNDARY_AGAIN;
    if (of_use && counts)
        *(again ? &search->spent_again : &search->spent) += 1;
    struct boundary_seen *seen = seen_at(search, value);
    seen->fits += outcome == BOUNDARY_FITS;
    seen->fails += outcome == BOUNDARY_FAILS;
    if (outcome == BOUNDARY_FITS || outcome == BOUNDARY_FAILS) {
        seen->in_vain = seen->again_in_vain = 0;
    } else {
        seen->not_judged++;
        *(again ? &seen->again_in_vain : &seen->in_vain) += 1;
    }
    return of_use;
}

void boundary_resume(struct boundary_search *search)
{
    search->spent_again = 0;
    for (size_t i = 0; i < search->seen_count; i++)
        search->seen[i].again_in_vain = 0;
}

/* --- the answer --- */

void boundary_answer(const struct boundary_search *search, struct boundary_answer *answer)
{
    struct edges edges = find_edges(search);
    const struct boundary_seen *fit = edges.fit >= 0 ? find_seen(search, edges.fit) : NULL;
    const struct boundary_seen *fail = find_seen(search, edges.fail);
    *answer = (struct boundary_answer){.end = end_of(search, &edges)};
    if (fit) {
        answer->fits = reading_of(fit->value);
        answer->fits_runs = fit->fits;
    }
    if (fail) {
        answer->fails = reading_of(fail->value);
        answer->fails_runs = fail->fails;
    }
    bool closed = answer->end == BOUNDARY_CONFIRMED;
    answer->none = closed && !fit && edges.fail == 0;
    answer->all = closed && !fail && edges.fit == (number)search->count - 1;
}

bool boundary_is_unstable(const struct boundary_answer *answer,
                          const struct boundary_seen *seen)
{
    return mixed(seen) ||
           (only_fitted(seen) && answer->fails.known && seen->value > answer->fails.value);
}

void boundary_add_text(const struct boundary_search *search, struct text *out)
{
    static const char *const ends[] = {"", "; undecided", "; not confirmed: the bound on runs",
                                       "; not finished"};
    struct boundary_answer answer;
    boundary_answer(search, &answer);
    if (answer.fits.known)
        text_addf(out, "fits %" PRIu64 " (%" PRIu64 " of %" PRIu64 " run%s)", answer.fits.value,
                  answer.fits_runs, answer.fits_runs, answer.fits_runs == 1 ? "" : "s");
    else
        text_add(out, answer.none ? "nothing fits" : "no fit seen");
    if (answer.fails.known)
        text_addf(out, ", fails %" PRIu64 " (%" PRIu64 " of %" PRIu64 ")", answer.fails.value,
                  answer.fails_runs, answer.fails_runs);
    else
        text_add(out, answer.all ? ", the largest value asked for" : ", no failure seen");
    for (size_t i = 0; i < search->seen_count; i++) {
        const struct boundary_seen *seen = &search->seen[i];
        if (boundary_is_unstable(&answer, seen))
            text_addf(out, ", unstable at %" PRIu64 " (%" PRIu64 " of %" PRIu64 " fitted)",
                      seen->value, seen->fits, seen->fits + seen->fails);
        else if (seen->not_judged > 0 && seen->fits + seen->fails == 0)
            text_addf(out, ", not judged at %" PRIu64 " (%" PRIu64 " run%s)", seen->value,
                      seen->not_judged, seen->not_judged == 1 ? "" : "s");
    }
    text_add(out, ends[answer.end]);
}
