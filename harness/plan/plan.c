#include "harness/plan/plan.h"

#include "kernels/backends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const plan_role_names[] = {"sweep", "boundary", "input", NULL};

/* By enum study_phases. */
static const char *const split_or_whole[] = {"split", "whole"};

/* `both`: each point is run in both ways, which the names tell apart. */
static void name_run(bool both, struct plan_run *run)
{
    const char *whole = both && run->phases == PHASES_WHOLE ? "-whole" : "";
    unsigned long long value = run->value, trial = run->trial;
    char device[24] = "";
    if (run->place > 0)
        snprintf(device, sizeof device, "-d%llu", (unsigned long long)run->place);
    if (run->role == ROLE_INPUT)
        snprintf(run->name, sizeof run->name, "r-input-%s-t%llu%s%s", run->input, trial, device,
                 whole);
    else
        snprintf(run->name, sizeof run->name, "r-%s%s-%llu-t%llu%s%s",
                 run->role == ROLE_BOUNDARY ? "boundary-" : "",
                 dimension_facts[run->dimension].name, value, trial, device, whole);
}

/* The fixed point with another value of one dimension. */
static void vary(const struct study *study, enum plan_role role, enum dimension dimension,
                 uint64_t value, struct plan_run *run)
{
    *run = (struct plan_run){.role = role,
                             .dimension = (int)dimension,
                             .value = value,
                             .point = study->setting.point};
    run->point.value[dimension] = reading_of(value);
}

static void point_at(const struct study *study, size_t index, struct plan_run *run)
{
    if (index < study->input_count) {
        const struct study_input *input = &study->inputs[index];
        *run = (struct plan_run){
            .role = ROLE_INPUT, .dimension = -1, .input = input->name, .point = input->point};
        return;
    }
    index -= study->input_count;
    const struct study_sweep *sweep = study->sweeps;
    while (index >= sweep->count)
        index -= sweep++->count;
    vary(study, ROLE_SWEEP, sweep->dimension, sweep->values[index], run);
}

static uint64_t ways_of(const struct study *study)
{
    return study->phases == PHASES_BOTH ? 2 : 1;
}

/* The last digit of an index that has a digit for each thing that varies. */
static uint64_t take_digit(uint64_t *index, uint64_t base)
{
    uint64_t digit = *index % base;
    *index /= base;
    return digit;
}

/* A point's trials on one device or on all, and under phases = both its two ways to run. */
void plan_run_at(const struct plan *plan, size_t index, struct plan_run *run)
{
    const struct study *study = plan->study;
    uint64_t listed = plan->shuffled != NULL ? plan->shuffled[index] : index;
    uint64_t way = take_digit(&listed, ways_of(study));
    uint64_t trial = take_digit(&listed, study->trials);
    uint64_t device = take_digit(&listed, plan->devices);
    point_at(study, listed, run);
    run->trial = trial + 1;
    run->place = study->placement == PLACEMENT_ALONE ? device + 1 : 0;
    run->phases = study->phases == PHASES_BOTH ? (int)way : study->phases;
    name_run(study->phases == PHASES_BOTH, run);
}

/* --- shuffling --- */

static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 … bound - 1, all equally likely: the incomplete last block of 2^64 is drawn again. */
static uint64_t draw(uint64_t *state, uint64_t bound)
{
    uint64_t unfit = (0 - bound) % bound;
    uint64_t value;
    do
        value = split_mix(state);
    while (value < unfit);
    return value % bound;
}

static uint32_t *shuffle(size_t count, uint64_t seed)
{
    uint32_t *order = xcalloc(count, sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        size_t other = draw(&seed, i);
        uint32_t moving = order[i - 1];
        order[i - 1] = order[other];
        order[other] = moving;
    }
    return order;
}

/* --- making --- */

int plan_make(const struct study *study, uint64_t devices, struct plan *plan, struct text *why)
{
    struct plan made = {.study = study,
                        .devices = study->placement == PLACEMENT_ALONE ? devices : 1,
                        .count = study->input_count};
    for (size_t i = 0; i < study->sweep_count; i++)
        made.count += study->sweeps[i].count;
    made.count *= made.devices * study->trials * ways_of(study);
    if (made.count > STUDY_RUNS_LIMIT)
        return text_fail(why, "%zu runs: at most %zu", made.count, STUDY_RUNS_LIMIT);
    if (study->order == ORDER_SHUFFLED)
        made.shuffled = shuffle(made.count, study->setting.seed);
    *plan = made;
    return 0;
}

void plan_release(struct plan *plan)
{
    free(plan->shuffled);
    *plan = (struct plan){.count = 0};
}

void plan_probe(const struct study *study, const struct study_boundary *boundary,
                uint64_t value, uint64_t trial, int phases, uint64_t place,
                struct plan_run *run)
{
    vary(study, ROLE_BOUNDARY, boundary->dimension, value, run);
    run->trial = trial;
    run->phases = phases;
    run->place = place;
    name_run(study->phases == PHASES_BOTH, run);
}

/* --- a run by its rows --- */

static int find_role(const char *name)
{
    for (int i = 0; name != NULL && plan_role_names[i] != NULL; i++)
        if (strcmp(plan_role_names[i], name) == 0)
            return i;
    return -1;
}

/* What the cells say of a run, but its point. False: they are not those of a run. */
static bool take_cells(const struct row *row, struct plan_run *run)
{
    const char *dimension = row_text(row, COLUMN_dimension);
    const char *phases = row_text(row, COLUMN_phases);
    struct reading value = row_count(row, COLUMN_value), trial = row_count(row, COLUMN_trial);
    int role = find_role(row_text(row, COLUMN_role));
    *run = (struct plan_run){.input = row_text(row, COLUMN_input), .dimension = -1};
    if (role < 0 || !trial.known)
        return false;
    run->role = (enum plan_role)role;
    run->trial = trial.value;
    bool whole = phases != NULL && strcmp(phases, split_or_whole[PHASES_WHOLE]) == 0;
    run->phases = whole ? PHASES_WHOLE : PHASES_SPLIT;
    if (run->role == ROLE_INPUT)
        return run->input != NULL;
    run->dimension = dimension != NULL ? dimension_find(dimension) : -1;
    run->value = value.value;
    return run->dimension >= 0 && value.known;
}

/* There is no column for it: it stands where the name that the cells give ends. */
static bool take_place(const struct row *row, bool both, struct plan_run *run)
{
    const char *name = row_text(row, COLUMN_run);
    run->place = 0;
    name_run(false, run);
    size_t length = strlen(run->name);
    if (name != NULL && strncmp(name, run->name, length) == 0 &&
        strncmp(name + length, "-d", 2) == 0)
        run->place = strtoull(name + length + 2, NULL, 10);
    name_run(both, run);
    return name != NULL && strcmp(name, run->name) == 0;
}

uint64_t plan_place(const struct row *row)
{
    struct plan_run run;
    bool told =
        take_cells(row, &run) && (take_place(row, false, &run) || take_place(row, true, &run));
    return told ? run.place : 0;
}

static const struct study_input *find_input(const struct study *study, const char *name)
{
    for (size_t i = 0; i < study->input_count; i++)
        if (strcmp(study->inputs[i].name, name) == 0)
            return &study->inputs[i];
    return NULL;
}

bool plan_run_told(const struct study *study, const struct row *row, struct plan_run *run)
{
    struct plan_run told;
    if (!take_cells(row, &told))
        return false;
    if (told.role == ROLE_INPUT) {
        const struct study_input *input = find_input(study, told.input);
        if (input == NULL)
            return false;
        told.input = input->name;
        told.point = input->point;
    } else {
        told.input = NULL;
        told.point = study->setting.point;
        told.point.value[told.dimension] = reading_of(told.value);
    }
    if (study->phases != PHASES_BOTH)
        told.phases = study->phases;
    take_place(row, study->phases == PHASES_BOTH, &told);
    *run = told;
    return true;
}

/* --- what is decided --- */

struct setting plan_setting(const struct study *study, const struct point *point, int phases)
{
    struct setting setting = study->setting;
    setting.point = *point;
    setting.phases = phases;
    return setting;
}

void plan_describe_run(const struct plan_run *run, struct row *row)
{
    bool varies = run->dimension >= 0;
    row_set_text(row, COLUMN_role, plan_role_names[run->role]);
    row_set_text(row, COLUMN_dimension, varies ? dimension_facts[run->dimension].name : NULL);
    row_set_reading(row, COLUMN_value, varies ? reading_of(run->value) : reading_missing());
    row_set_count(row, COLUMN_trial, run->trial);
    point_to_row(&run->point, row);
    row_set_text(row, COLUMN_input, run->input);
    row_set_text(row, COLUMN_phases, split_or_whole[run->phases]);
    row_set_text(row, COLUMN_run, run->name);
}

void plan_describe_study(const struct study *study, struct row *row)
{
    struct text text = TEXT_INIT;
    bool observed = study->setting.backend == BACKEND_CUDA;
    row_set_text(row, COLUMN_evidence, observed ? "observed" : "computed");
    row_set_text(row, COLUMN_study, study->name);
    row_set_text(row, COLUMN_workload, study->setting.workload->name);
    setting_to_row(&study->setting, row);
    point_to_row(&(struct point){{{0, false}}}, row); /* point and phases are a run's */
    row_clear(row, COLUMN_phases);
    study_describe_own(study, row);
    study_add_allocator_settings(study, &text);
    row_set_text(row, COLUMN_allocator_settings, text.length ? text_string(&text) : NULL);
    text_clear(&text);
    study_add_options(study, &text);
    row_set_text(row, COLUMN_options, text.length ? text_string(&text) : NULL);
    text_release(&text);
    row_set_text(row, COLUMN_study_hash, study->hash);
}

void plan_correct(const struct row *ours, const struct plan_run *run, struct row *row,
                  struct text *otherwise)
{
    struct row said = ROW_INIT;
    row_copy(&said, row);
    if (run != NULL)
        plan_describe_run(run, row);
    for (enum column column = 0; column < COLUMNS; column++)
        if (ours->cell[column].kind != CELL_EMPTY || column == COLUMN_options)
            row_clear(row, column); /* options: nothing else was set, if they are empty */
    row_fill(row, ours);
    for (enum column column = 0; otherwise->length == 0 && column < COLUMNS; column++) {
        if (said.cell[column].kind == CELL_EMPTY || row_same_cell(&said, row, column))
            continue;
        text_addf(otherwise, "%s is ", column_facts[column].name);
        row_format_cell(&said, column, otherwise);
        text_add(otherwise, ", should be ");
        row_format_cell(row, column, otherwise);
        if (row->cell[column].kind == CELL_EMPTY)
            text_add(otherwise, "empty");
    }
    row_release(&said);
}
