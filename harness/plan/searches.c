#include "harness/plan/searches.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct boundary_search *search_of(const struct probes *probes, size_t boundary,
                                         uint64_t rank)
{
    return &probes->searches[boundary * probes->ranks + rank];
}

void probes_open(struct probes *probes, const struct study *study, uint64_t ranks,
                 const struct reading *guesses)
{
    size_t count = study->boundary_count * ranks;
    *probes = (struct probes){.study = study,
                              .ranks = ranks,
                              .searches = xcalloc(count + 1, sizeof *probes->searches),
                              .guesses = xcalloc(count + 1, sizeof *probes->guesses),
                              .cards = xcalloc(ranks + 1, sizeof *probes->cards)};
    if (guesses != NULL && count > 0)
        memcpy(probes->guesses, guesses, count * sizeof *guesses);
    for (size_t i = 0; i < count; i++)
        boundary_open(&probes->searches[i], &study->boundaries[i / ranks], probes->guesses[i]);
}

void probes_close(struct probes *probes)
{
    size_t boundaries = probes->study != NULL ? probes->study->boundary_count : 0;
    for (size_t i = 0; i < boundaries * probes->ranks; i++)
        boundary_close(&probes->searches[i]);
    for (uint64_t rank = 0; rank < probes->ranks; rank++)
        card_facts_release(&probes->cards[rank].facts);
    free(probes->searches);
    free(probes->guesses);
    free(probes->cards);
    *probes = (struct probes){.study = NULL};
}

static bool is_alone(const struct probes *probes)
{
    return probes->study->placement == PLACEMENT_ALONE;
}

/* Whose searches a closing row is for; missing: nobody's. */
static struct reading rank_of(const struct probes *probes, const struct row *closing)
{
    struct reading rank = row_count(closing, COLUMN_rank);
    if (is_alone(probes)) {
        uint64_t place = plan_place(closing);
        rank = place > 0 ? reading_of(place - 1) : reading_missing();
    }
    return rank.known && rank.value < probes->ranks ? rank : reading_missing();
}

/* A rank, or alone a device: its place from 1, as runs are named. */
static void add_whom(const struct probes *probes, uint64_t rank, struct text *out)
{
    if (is_alone(probes))
        text_addf(out, "device %" PRIu64, rank + 1);
    else
        text_addf(out, "rank %" PRIu64, rank);
}

/* --- cards that change --- */

static void begin_again(struct probes *probes, uint64_t rank)
{
    for (size_t i = 0; i < probes->study->boundary_count; i++) {
        struct boundary_search *search = search_of(probes, i, rank);
        boundary_close(search);
        boundary_open(search, &probes->study->boundaries[i],
                      probes->guesses[i * probes->ranks + rank]);
    }
}

static void look_at_card(struct probes *probes, uint64_t rank, const struct row *closing,
                         struct text *said)
{
    struct probe_card *card = &probes->cards[rank];
    struct text difference = TEXT_INIT;
    if (card_facts_take(&card->facts, closing, &difference)) {
        card->changes++;
        begin_again(probes, rank);
        text_add(said, "the card of ");
        add_whom(probes, rank, said);
        text_addf(said,
                  " changed: %s; runs before and after it are not to be compared, boundaries "
                  "begin again, predictions are still for what it was at the start\n",
                  text_string(&difference));
    }
    text_release(&difference);
}

/* --- outcomes --- */

static enum boundary_outcome outcome_of(const struct row *closing)
{
    const struct status_fact *fact = &status_facts[row_status(closing)];
    const char *refused_by = row_text(closing, COLUMN_refused_by);
    if (fact->judged == FITS_YES)
        return BOUNDARY_FITS;
    if (fact->judged == FITS_NO && refused_by != NULL && strcmp(refused_by, "device") == 0)
        return BOUNDARY_FAILS;
    return fact->again == AGAIN ? BOUNDARY_AGAIN : BOUNDARY_NOT_JUDGED;
}

static bool cell_is(const struct row *row, enum column column, const char *value)
{
    const char *text = row_text(row, column);
    return text != NULL && strcmp(text, value) == 0;
}

static bool decides(const struct probes *probes, const struct row *closing)
{
    return cell_is(closing, COLUMN_role, plan_role_names[ROLE_BOUNDARY]) &&
           (probes->study->phases != PHASES_BOTH || cell_is(closing, COLUMN_phases, "whole"));
}

void probes_feed(struct probes *probes, const struct row *closing, size_t count,
                 struct text *said)
{
    bool counted = false; /* the run, against the bound of a search */
    for (size_t i = 0; i < count; i++) {
        struct reading rank = rank_of(probes, &closing[i]);
        struct reading value = row_count(&closing[i], COLUMN_value);
        if (!rank.known)
            continue;
        look_at_card(probes, rank.value, &closing[i], said);
        if (!value.known || !decides(probes, &closing[i]))
            continue;
        for (size_t b = 0; b < probes->study->boundary_count; b++) {
            const struct dimension_fact *fact =
                &dimension_facts[probes->study->boundaries[b].dimension];
            if (cell_is(&closing[i], COLUMN_dimension, fact->name))
                counted |= boundary_feed(search_of(probes, b, rank.value), value.value,
                                         outcome_of(&closing[i]), !counted);
        }
    }
}

void probes_resume(struct probes *probes)
{
    for (size_t i = 0; i < probes->study->boundary_count * probes->ranks; i++)
        boundary_resume(&probes->searches[i]);
}

/* --- what to run --- */

/* The first trial of that value whose deciding run is not there; its split run comes first. */
static void name_probe(const struct probes *probes, const struct study_boundary *boundary,
                       uint64_t rank, uint64_t value, const struct run_set *done,
                       struct plan_run *run)
{
    const struct study *study = probes->study;
    bool both = study->phases == PHASES_BOTH;
    int last = study->phases == PHASES_SPLIT ? PHASES_SPLIT : PHASES_WHOLE;
    uint64_t trial = 0, place = is_alone(probes) ? rank + 1 : 0;
    do
        plan_probe(study, boundary, value, ++trial, last, place, run);
    while (run_set_find(done, run->name) != NULL);
    struct plan_run split;
    plan_probe(study, boundary, value, trial, PHASES_SPLIT, place, &split);
    if (both && run_set_find(done, split.name) == NULL)
        *run = split;
}

bool probes_next(const struct probes *probes, const struct run_set *done, struct plan_run *run)
{
    for (size_t b = 0; b < probes->study->boundary_count; b++)
        for (uint64_t rank = 0; rank < probes->ranks; rank++) {
            uint64_t value, ignored;
            if (!boundary_next(search_of(probes, b, rank), &value, &ignored))
                continue;
            name_probe(probes, &probes->study->boundaries[b], rank, value, done, run);
            return true;
        }
    return false;
}

uint64_t probes_left(const struct probes *probes)
{
    uint64_t left = 0;
    for (size_t b = 0; b < probes->study->boundary_count; b++) {
        uint64_t expected = 2 + 2 * probes->study->boundaries[b].confirm, most = 0;
        for (uint64_t rank = 0; rank < probes->ranks; rank++) {
            const struct boundary_search *search = search_of(probes, b, rank);
            uint64_t value, trial;
            if (!boundary_next(search, &value, &trial))
                continue;
            uint64_t its = search->spent < expected ? expected - search->spent : 1;
            if (is_alone(probes))
                most += its;
            else
                most = its > most ? its : most;
        }
        left += most;
    }
    return probes->study->phases == PHASES_BOTH ? 2 * left : left;
}

const struct boundary_search *probes_search(const struct probes *probes, size_t boundary,
                                            uint64_t rank)
{
    return search_of(probes, boundary, rank);
}

void probes_add_text(const struct probes *probes, struct text *out)
{
    for (size_t b = 0; b < probes->study->boundary_count; b++)
        for (uint64_t rank = 0; rank < probes->ranks; rank++) {
            const struct probe_card *card = &probes->cards[rank];
            const char *uuid = row_text(&card->facts.known, COLUMN_device_uuid);
            text_addf(out, "boundary %s",
                      dimension_facts[probes->study->boundaries[b].dimension].name);
            if (probes->ranks > 1) {
                text_add(out, " on ");
                add_whom(probes, rank, out);
            }
            if (uuid != NULL)
                text_addf(out, " (%s)", uuid);
            text_add(out, ": ");
            boundary_add_text(search_of(probes, b, rank), out);
            if (card->changes > 0)
                text_addf(out, "; since the card changed (%" PRIu64 " time%s)", card->changes,
                          card->changes == 1 ? "" : "s");
            text_add_char(out, '\n');
        }
}
