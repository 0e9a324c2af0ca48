#include "harness/study/plan.h"

#include "kernels/backends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const plan_role_names[] = {"sweep", "boundary", "input", NULL};

static void name_run(const struct study *study, struct plan_run *run)
{
    const char *whole =
        study->phases == PHASES_BOTH && run->phases == PHASES_WHOLE ? "-whole" : "";
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

/* An input may be named like a place: only what stands behind the trial is one. */
uint64_t plan_place(const char *name)
{
    const char *behind = NULL;
    for (const char *at = name; (at = strstr(at, "-t")) != NULL; at += 2)
        behind = at + 2;
    if (behind == NULL)
        return 0;
    behind += strspn(behind, "0123456789");
    return strncmp(behind, "-d", 2) == 0 ? strtoull(behind + 2, NULL, 10) : 0;
}

/* A point's trials on one device or on all, and under phases = both its two ways to run. */
static void add_trials(const struct study *study, const struct plan_run *like,
                       struct plan *plan)
{
    for (uint64_t trial = 1; trial <= study->trials; trial++) {
        for (int phases = PHASES_SPLIT; phases <= PHASES_WHOLE; phases++) {
            if (study->phases != PHASES_BOTH && study->phases != phases)
                continue;
            struct plan_run *run = &plan->runs[plan->count++];
            *run = *like;
            run->trial = trial;
            run->phases = phases;
            name_run(study, run);
        }
    }
}

static void add_point(const struct study *study, uint64_t devices, const struct plan_run *like,
                      struct plan *plan)
{
    struct plan_run run = *like;
    if (study->placement != PLACEMENT_ALONE)
        add_trials(study, &run, plan);
    else
        for (run.place = 1; run.place <= devices; run.place++)
            add_trials(study, &run, plan);
}

static size_t count_runs(const struct study *study, uint64_t devices)
{
    size_t points = study->input_count;
    for (size_t i = 0; i < study->sweep_count; i++)
        points += study->sweeps[i].count;
    return points * study->trials * (study->phases == PHASES_BOTH ? 2 : 1) *
           (study->placement == PLACEMENT_ALONE ? devices : 1);
}

static void add_sweep(const struct study *study, uint64_t devices,
                      const struct study_sweep *sweep, struct plan *plan)
{
    for (size_t i = 0; i < sweep->count; i++) {
        struct plan_run run = {.role = ROLE_SWEEP,
                               .dimension = (int)sweep->dimension,
                               .value = sweep->values[i],
                               .point = study->point};
        run.point.value[sweep->dimension] = reading_of(run.value);
        add_point(study, devices, &run, plan);
    }
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

static void shuffle(struct plan *plan, uint64_t seed)
{
    for (size_t i = plan->count; i > 1; i--) {
        size_t other = draw(&seed, i);
        struct plan_run moving = plan->runs[i - 1];
        plan->runs[i - 1] = plan->runs[other];
        plan->runs[other] = moving;
    }
}

/* --- making --- */

int plan_make(const struct study *study, uint64_t devices, struct plan *plan, struct text *why)
{
    size_t count = count_runs(study, devices);
    if (count > STUDY_RUNS_LIMIT) {
        text_addf(why, "%zu runs: at most %zu", count, STUDY_RUNS_LIMIT);
        return -1;
    }
    struct plan made = {.runs = xcalloc(count + 1, sizeof *made.runs)};
    for (size_t i = 0; i < study->input_count; i++) {
        const struct plan_run run = {.role = ROLE_INPUT,
                                     .dimension = -1,
                                     .input = study->inputs[i].name,
                                     .point = study->inputs[i].point};
        add_point(study, devices, &run, &made);
    }
    for (size_t i = 0; i < study->sweep_count; i++)
        add_sweep(study, devices, &study->sweeps[i], &made);
    if (study->order == ORDER_SHUFFLED)
        shuffle(&made, study->seed);
    *plan = made;
    return 0;
}

void plan_release(struct plan *plan)
{
    free(plan->runs);
    *plan = (struct plan){NULL, 0};
}

void plan_probe(const struct study *study, const struct study_boundary *boundary,
                uint64_t value, uint64_t trial, int phases, uint64_t place,
                struct plan_run *run)
{
    *run = (struct plan_run){.role = ROLE_BOUNDARY,
                             .dimension = (int)boundary->dimension,
                             .value = value,
                             .point = study->point,
                             .trial = trial,
                             .phases = phases,
                             .place = place};
    run->point.value[boundary->dimension] = reading_of(value);
    name_run(study, run);
}

void plan_describe(const struct study *study, const struct plan_run *run, struct row *row)
{
    struct text text = TEXT_INIT;
    bool observed = study->backend == BACKEND_CUDA;
    row_set_text(row, COLUMN_evidence, observed ? "observed" : "computed");
    row_set_text(row, COLUMN_study, study->name);
    row_set_text(row, COLUMN_role, plan_role_names[run->role]);
    row_set_count(row, COLUMN_trial, run->trial);
    if (run->dimension >= 0) {
        row_set_text(row, COLUMN_dimension, dimension_facts[run->dimension].name);
        row_set_count(row, COLUMN_value, run->value);
    }
    point_to_row(&run->point, row);
    row_set_text(row, COLUMN_input, run->input);
    row_set_text(row, COLUMN_workload, study->workload->name);
    row_set_text(row, COLUMN_dtype, dtype_names[study->dtype]);
    row_set_text(row, COLUMN_allocator, study->allocator);
    row_set_text(row, COLUMN_backend, backend_names[study->backend]);
    row_set_text(row, COLUMN_phases, run->phases == PHASES_WHOLE ? "whole" : "split");
    row_set_count(row, COLUMN_warmup, study->warmup);
    row_set_count(row, COLUMN_repeats, study->repeats);
    row_set_count(row, COLUMN_seed, study->seed);
    study_describe_own(study, row);
    study_add_allocator_settings(study, &text);
    row_set_text(row, COLUMN_allocator_settings, text.length ? text_string(&text) : NULL);
    text_clear(&text);
    study_add_options(study, &text);
    row_set_text(row, COLUMN_options, text.length ? text_string(&text) : NULL);
    text_release(&text);
    row_set_text(row, COLUMN_run, run->name);
    row_set_text(row, COLUMN_study_hash, study->hash);
}
