#include "harness/plan/outlook.h"

#include "harness/base/units.h"
#include "harness/plan/boundary.h"
#include "harness/plan/duration.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const enum column outlook_columns[OUTLOOK_COUNTERS] = {
    COLUMN_allocated_start_bytes, COLUMN_allocated_peak_bytes, COLUMN_allocated_end_bytes,
    COLUMN_reserved_start_bytes,  COLUMN_reserved_peak_bytes,  COLUMN_reserved_end_bytes,
};

/* The two ways to run a point have an outlook each. */
static bool same_point(const struct plan_run *a, const struct plan_run *b)
{
    bool same = a->phases == b->phases;
    for (int i = 0; i < DIMENSIONS; i++)
        same = same && reading_same(a->point.value[i], b->point.value[i]);
    return same;
}

static uint64_t hash_of(const struct plan_run *run)
{
    uint64_t hash = (uint64_t)run->phases;
    for (int i = 0; i < DIMENSIONS; i++)
        hash = (hash ^ run->point.value[i].value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* The distinct points in launch order. */
static void find_points(const struct plan *plan, struct outlook *outlook)
{
    size_t room = 2 * plan->count + 1;
    uint32_t *index = xcalloc(room, sizeof *index); /* place in points + 1, 0 free */
    struct plan_run run, known;
    outlook->points = xcalloc(plan->count + 1, sizeof *outlook->points);
    outlook->point_of_run = xcalloc(plan->count + 1, sizeof *outlook->point_of_run);
    for (size_t i = 0; i < plan->count; i++) {
        plan_run_at(plan, i, &run);
        size_t at = hash_of(&run) % room;
        for (; index[at] != 0; at = (at + 1) % room) {
            plan_run_at(plan, outlook->points[index[at] - 1], &known);
            if (same_point(&run, &known))
                break;
        }
        if (index[at] == 0) {
            outlook->points[outlook->point_count++] = i;
            index[at] = (uint32_t)outlook->point_count;
        }
        outlook->point_of_run[i] = index[at] - 1;
    }
    free(index);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool continues(const struct outlook_phase *last, const struct row *row)
{
    if (!same_text(last->phase, row_text(row, COLUMN_phase)) ||
        !same_text(last->pass, row_text(row, COLUMN_pass)) || last->status != row_status(row))
        return false;
    for (int i = 0; i < OUTLOOK_COUNTERS; i++)
        if (!reading_same(row_count(row, outlook_columns[i]), last->counters[i]))
            return false;
    return true;
}

static char *copy(const char *string)
{
    return string ? xstrdup(string) : NULL;
}

static void add_phase(struct point_outlook *one, const struct row *row)
{
    if (one->phase_count && continues(&one->phases[one->phase_count - 1], row)) {
        one->phases[one->phase_count - 1].times++;
        return;
    }
    struct outlook_phase *phase = &one->phases[one->phase_count++];
    phase->phase = copy(row_text(row, COLUMN_phase));
    phase->pass = copy(row_text(row, COLUMN_pass));
    phase->status = row_status(row);
    phase->times = 1;
    for (int i = 0; i < OUTLOOK_COUNTERS; i++)
        phase->counters[i] = row_count(row, outlook_columns[i]);
    one->allocated_peak =
        reading_max(one->allocated_peak, row_count(row, COLUMN_allocated_peak_bytes));
    one->reserved_peak =
        reading_max(one->reserved_peak, row_count(row, COLUMN_reserved_peak_bytes));
}

static int look_at(const struct study *study, const struct plan_run *run,
                   const struct seat_group *group, struct point_outlook *one, struct text *why)
{
    struct prediction prediction;
    if (plan_predict(study, &run->point, run->phases, &group->seat, &prediction, why) != 0)
        return -1;
    one->phases = xcalloc(prediction.count + 1, sizeof *one->phases);
    for (size_t i = 0; i < prediction.count; i++)
        add_phase(one, &prediction.rows[i]);
    one->fits = prediction.fits;
    one->failed_phase = xstrdup(text_string(&prediction.failed_phase));
    prediction_release(&prediction);
    return 0;
}

/* --- the seats --- */

/* Where a capacity comes from. */
enum basis { BASIS_GIVEN, BASIS_CONFIGURED, BASIS_CARD, BASIS_NONE };
static const char *const basis_words[] = {
    [BASIS_GIVEN] = "given with --capacity instead of each rank's own",
    [BASIS_CONFIGURED] = "configured in the study",
    [BASIS_CARD] =
        "NVML's total less its reserve, less " SEAT_ASSUMED_WORDS " for context and libraries",
    [BASIS_NONE] = ("there is no device to ask: whether a point fits is not judged "
                    "(--capacity names one)"),
};

/* "rank 0", "ranks 0, 2": of one group. */
static char *name_ranks(const struct outlook *outlook, size_t group)
{
    struct text ranks = TEXT_INIT;
    size_t count = 0;
    for (uint64_t rank = 0; rank < outlook->ranks; rank++)
        if (outlook->group_of_rank[rank] == group)
            text_addf(&ranks, "%s%" PRIu64, count++ > 0 ? ", " : "", rank);
    char *named = xasprintf("rank%s %s", count == 1 ? "" : "s", text_string(&ranks));
    text_release(&ranks);
    return named;
}

static void add_seat(struct outlook *outlook, uint64_t rank, const struct seat *seat,
                     enum basis basis)
{
    for (size_t i = 0; i < outlook->group_count; i++) {
        struct seat_group *group = &outlook->groups[i];
        if (!reading_same(group->seat.capacity, seat->capacity) ||
            !reading_same(group->seat.limit, seat->limit))
            continue;
        outlook->group_of_rank[rank] = i;
        return;
    }
    outlook->group_of_rank[rank] = outlook->group_count;
    outlook->groups[outlook->group_count++] = (struct seat_group){
        .seat = *seat,
        .capacity = basis == BASIS_CARD ? seat_usable(seat) : seat->capacity,
        .basis = basis_words[basis]};
}

static void group_seats(struct outlook *outlook, const struct placement *placement,
                        enum basis basis)
{
    size_t ranks = (size_t)placement->ranks;
    outlook->ranks = placement->ranks;
    outlook->groups = xcalloc(ranks, sizeof *outlook->groups);
    outlook->group_of_rank = xcalloc(ranks, sizeof *outlook->group_of_rank);
    for (uint64_t rank = 0; rank < placement->ranks; rank++)
        add_seat(outlook, rank, &placement->seats[rank], basis);
    for (size_t i = 0; i < outlook->group_count; i++)
        outlook->groups[i].ranks = name_ranks(outlook, i);
}

/* A card that does not answer has no capacity; without a driver there is no card. */
static int place_on_cards(const struct study *study, struct placement *placement,
                          enum basis *basis, struct text *why)
{
    struct nvml *nvml;
    uint64_t ranks = placement_ranks(study);
    int result = 0;
    if (nvml_open(&nvml, NULL) != 0) {
        *basis = BASIS_NONE;
        placement_configure(placement, study,
                            ranks > study->capacities ? ranks : study->capacities);
    } else if ((result = placement_on_cards(placement, study, nvml, why)) == 0) {
        *basis = BASIS_CARD;
        placement_cut(placement, study,
                      study->ranks.known ? study->ranks.value : placement->ranks);
        for (uint64_t rank = 0; rank < placement->ranks; rank++)
            if (seat_look(&placement->seats[rank], placement->nvml, NULL) != 0)
                placement->seats[rank].capacity = reading_missing();
    }
    return result;
}

int outlook_open(const struct study *study, struct reading capacity, struct outlook *outlook,
                 struct text *why)
{
    struct outlook opened = {.groups = NULL};
    struct placement placement;
    enum basis basis = capacity.known ? BASIS_GIVEN : BASIS_CONFIGURED;
    if (study->setting.backend == BACKEND_CUDA && !capacity.known) {
        if (place_on_cards(study, &placement, &basis, why) != 0)
            return -1;
    } else {
        placement_configure(&placement, study, placement_ranks(study));
    }
    for (uint64_t rank = 0; capacity.known && rank < placement.ranks; rank++)
        placement.seats[rank].capacity = capacity;
    opened.ranks_unknown =
        (basis == BASIS_GIVEN || basis == BASIS_NONE) && !study_ranks(study).known;
    group_seats(&opened, &placement, basis);
    placement_close(&placement);
    *outlook = opened;
    return 0;
}

/* --- the points and boundaries --- */

/* The guess is the first value when none fits: that one is looked at itself. */
static int look_for(const struct study *study, const struct study_boundary *boundary,
                    const struct seat_group *group, struct boundary_outlook *found,
                    struct text *why)
{
    struct plan_run first;
    struct prediction prediction;
    int phases = study->phases == PHASES_WHOLE ? PHASES_WHOLE : PHASES_SPLIT;
    if (plan_guess_boundary(study, boundary, &group->seat, &found->last_fit, why) != 0)
        return -1;
    if (!found->last_fit.known || found->last_fit.value != boundary->from)
        return 0;
    plan_probe(study, boundary, boundary->from, 1, phases, 0, &first);
    if (plan_predict(study, &first.point, phases, &group->seat, &prediction, why) != 0)
        return -1;
    found->none = !prediction.fits;
    if (found->none)
        found->last_fit = reading_missing();
    prediction_release(&prediction);
    return 0;
}

static int look_for_boundaries(const struct study *study, struct outlook *outlook,
                               struct text *why)
{
    size_t groups = outlook->group_count, count = study->boundary_count * groups;
    outlook->boundaries = xcalloc(count + 1, sizeof *outlook->boundaries);
    for (size_t i = 0; i < count; i++)
        if (look_for(study, &study->boundaries[i / groups], &outlook->groups[i % groups],
                     &outlook->boundaries[i], why) != 0)
            return -1;
    return 0;
}

uint64_t outlook_boundary_runs(const struct outlook *outlook, const struct study *study,
                               const struct study_boundary *boundary)
{
    struct boundary_search search;
    boundary_open(&search, boundary, reading_missing());
    uint64_t most = search.most;
    boundary_close(&search);
    return most * outlook->ranks * (study->phases == PHASES_BOTH ? 2 : 1);
}

int outlook_make(const struct study *study, const struct plan *plan, struct outlook *outlook,
                 struct text *why)
{
    struct plan_run run;
    find_points(plan, outlook);
    size_t count = outlook->point_count * outlook->group_count;
    outlook->outlooks = xcalloc(count + 1, sizeof *outlook->outlooks);
    for (size_t i = 0; i < count; i++) {
        const struct seat_group *group = &outlook->groups[i % outlook->group_count];
        plan_run_at(plan, outlook->points[i / outlook->group_count], &run);
        if (look_at(study, &run, group, &outlook->outlooks[i], why) != 0)
            return -1;
    }
    double duration = 0;
    for (size_t i = 0; i < plan->count; i++) {
        size_t group, end;
        plan_run_at(plan, i, &run);
        outlook_groups_of(outlook, &run, &group, &end);
        const struct point_outlook *one =
            outlook_of_point(outlook, outlook->point_of_run[i], group);
        duration += duration_assumed_ns(study, &run, one->fits, one->allocated_peak);
    }
    outlook->duration_ns = duration < 0x1p64 ? (uint64_t)duration : UINT64_MAX;
    return look_for_boundaries(study, outlook, why);
}

void outlook_groups_of(const struct outlook *outlook, const struct plan_run *run, size_t *first,
                       size_t *end)
{
    bool alone = run != NULL && run->place > 0;
    *first = alone ? outlook->group_of_rank[run->place - 1] : 0;
    *end = alone ? *first + 1 : outlook->group_count;
}

const struct point_outlook *outlook_of_point(const struct outlook *outlook, size_t point,
                                             size_t group)
{
    return &outlook->outlooks[point * outlook->group_count + group];
}

void outlook_release(struct outlook *outlook)
{
    size_t count = outlook->point_count * outlook->group_count;
    for (size_t i = 0; outlook->outlooks != NULL && i < count; i++) {
        struct point_outlook *one = &outlook->outlooks[i];
        for (size_t j = 0; j < one->phase_count; j++) {
            free(one->phases[j].phase);
            free(one->phases[j].pass);
        }
        free(one->phases);
        free(one->failed_phase);
    }
    free(outlook->outlooks);
    free(outlook->boundaries);
    free(outlook->points);
    free(outlook->point_of_run);
    free(outlook->group_of_rank);
    for (size_t i = 0; i < outlook->group_count; i++)
        free(outlook->groups[i].ranks);
    free(outlook->groups);
}
