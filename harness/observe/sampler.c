#include "harness/observe/sampler.h"

#include <stdlib.h>
#include <string.h>

static void count_in(struct phase_samples *phase, const struct card_sample *sample,
                     struct reading gap)
{
    phase->used_peak = reading_max(phase->used_peak, sample->used);
    phase->own_peak = reading_max(phase->own_peak, sample->own);
    phase->gap_ns = reading_max(phase->gap_ns, gap);
    phase->count++;
}

/* Phases follow each other: a sample belongs to the newest entry or opens the next one. */
static struct phase_samples *entry_for(struct sampler *sampler, const struct live_state *state)
{
    if (sampler->count > 0) {
        struct phase_samples *newest = &sampler->phases[sampler->count - 1];
        if (strcmp(newest->phase, state->phase) == 0 &&
            strcmp(newest->pass, state->pass) == 0 &&
            reading_same(newest->repeat, state->repeat))
            return newest;
    }
    struct phase_samples *opened = GROW(sampler->phases, sampler->count);
    *opened = (struct phase_samples){.repeat = state->repeat};
    memcpy(opened->phase, state->phase, sizeof opened->phase);
    memcpy(opened->pass, state->pass, sizeof opened->pass);
    return opened;
}

void sampler_take(struct sampler *sampler, const struct card_sample *sample,
                  const struct live_state *state, uint64_t now_ns)
{
    struct reading gap = reading_missing();
    if (sampler->last_ns != 0)
        gap = reading_of(now_ns - sampler->last_ns);
    sampler->last_ns = now_ns;
    sampler->others_least = reading_min(sampler->others_least, sample->others);
    sampler->others_most = reading_max(sampler->others_most, sample->others);
    count_in(&sampler->all, sample, gap);
    if (state != NULL && state->phase[0] != '\0')
        count_in(entry_for(sampler, state), sample, gap);
}

static void to_row(const struct phase_samples *samples, struct row *row)
{
    if (samples->count == 0)
        return;
    row_set_reading(row, COLUMN_device_sampled_peak_bytes, samples->used_peak);
    row_set_reading(row, COLUMN_process_sampled_peak_bytes, samples->own_peak);
    row_set_count(row, COLUMN_device_sample_count, samples->count);
    row_set_reading(row, COLUMN_device_sample_gap_ns, samples->gap_ns);
}

static bool names(const char *name, const char *cell, size_t room)
{
    return strncmp(name, cell != NULL ? cell : "", room - 1) == 0;
}

static void phase_to_row(const struct sampler *sampler, struct row *row)
{
    for (size_t i = 0; i < sampler->count; i++) {
        const struct phase_samples *phase = &sampler->phases[i];
        if (names(phase->phase, row_text(row, COLUMN_phase), sizeof phase->phase) &&
            names(phase->pass, row_text(row, COLUMN_pass), sizeof phase->pass) &&
            reading_same(phase->repeat, row_count(row, COLUMN_repeat)))
            to_row(phase, row);
    }
}

void sampler_to_rows(const struct sampler *sampler, struct row *rows, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++)
        phase_to_row(sampler, &rows[i]);
    if (sampler->count == 0)
        to_row(&sampler->all, &rows[count - 1]);
}

void sampler_release(struct sampler *sampler)
{
    free(sampler->phases);
    sampler->phases = NULL;
    sampler->count = 0;
}
