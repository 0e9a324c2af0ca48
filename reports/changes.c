#include "reports/changes.h"

#include "harness/record/card_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct rank_card {
    struct reading rank;
    struct card_facts facts;
};
/* The cards that runs share; texts are borrowed from lines. */
struct card_set {
    const char *evidence, *backend, *study, *run, *before; /* the newest run, the one before */
    uint64_t place;
    size_t attempt, changed_in; /* the newest run, and the newest that showed a change */
    size_t changes;
    struct rank_card *cards;
    size_t card_count;
};

static struct card_set *find_set(struct changes *changes, const struct run_line *line)
{
    for (size_t i = 0; i < changes->count; i++) {
        struct card_set *set = &changes->sets[i];
        if (set->place == line->place && strcmp(set->study, line->study) == 0 &&
            strcmp(set->evidence, line->evidence) == 0 &&
            strcmp(set->backend, line->backend) == 0)
            return set;
    }
    struct card_set *set = GROW(changes->sets, changes->count);
    *set = (struct card_set){.evidence = line->evidence,
                             .backend = line->backend,
                             .study = line->study,
                             .place = line->place};
    return set;
}

static struct rank_card *find_card(struct card_set *set, struct reading rank)
{
    for (size_t i = 0; i < set->card_count; i++)
        if (reading_same(set->cards[i].rank, rank))
            return &set->cards[i];
    struct rank_card *card = GROW(set->cards, set->card_count);
    *card = (struct rank_card){.rank = rank};
    return card;
}

size_t changes_begin(struct changes *changes, const struct run_line *line)
{
    struct card_set *set = find_set(changes, line);
    if (set->attempt != line->attempt) {
        set->attempt = line->attempt;
        set->before = set->run;
        set->run = line->run;
    }
    return set->changes;
}

static void add(struct text *said, const struct card_set *set, const struct run_line *line,
                const char *difference)
{
    text_addf(said, "study %s: change %zu, seen in %s, behind %s: ", set->study, set->changes,
              set->run, set->before);
    if (set->place > 0)
        text_addf(said, "d%" PRIu64, set->place);
    else
        text_addf(said, "rank %" PRIu64, line->rank.value);
    text_addf(said, ": %s\n", difference);
}

/* Ranks whose cards changed before the same run are one change. */
size_t changes_take(struct changes *changes, const struct run_line *line,
                    const struct row *closing)
{
    struct card_set *set = find_set(changes, line);
    struct text difference = TEXT_INIT;
    if (card_facts_take(&find_card(set, line->rank)->facts, closing, &difference)) {
        set->changes += set->changed_in != line->attempt;
        set->changed_in = line->attempt;
        add(&changes->said, set, line, text_string(&difference));
    }
    text_release(&difference);
    return set->changes;
}

void changes_release(struct changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        struct card_set *set = &changes->sets[i];
        for (size_t k = 0; k < set->card_count; k++)
            card_facts_release(&set->cards[k].facts);
        free(set->cards);
    }
    free(changes->sets);
    text_release(&changes->said);
    *changes = (struct changes){.sets = NULL};
}
