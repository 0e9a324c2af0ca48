#include "harness/study/describe.h"

#include "harness/base/hash.h"
#include "harness/study/study_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void study_release(struct study *study)
{
    for (const struct study_table *table = study_tables; table->section; table++)
        option_release(table->options, (char *)study + table->offset);
    if (study->setting.workload && study->setting.options)
        option_release(study->setting.workload->options, study->setting.options);
    for (size_t i = 0; i < study->input_count; i++)
        free(study->inputs[i].name);
    for (size_t i = 0; i < study->sweep_count; i++)
        free(study->sweeps[i].values);
    free(study->setting.options);
    free(study->capacity);
    free(study->inputs);
    free(study->sweeps);
    free(study->boundaries);
    text_release(&study->frozen);
    *study = (struct study){.name = NULL};
}

struct reading study_capacity(const struct study *study, uint64_t rank)
{
    if (study->setting.backend == BACKEND_CUDA || study->capacities == 0)
        return reading_missing();
    return reading_of(study->capacity[rank < study->capacities ? rank : 0]);
}

struct reading study_limit(const struct study *study, uint64_t rank)
{
    if (study->setting.backend != BACKEND_CUDA || study->capacities == 0)
        return reading_missing();
    return reading_of(study->capacity[rank < study->capacities ? rank : 0]);
}

struct reading study_ranks(const struct study *study)
{
    if (study->ranks.known)
        return study->ranks;
    if (study->setting.backend != BACKEND_CUDA)
        return reading_of(study->capacities);
    if (strcmp(study->devices, "all") == 0)
        return reading_missing();
    uint64_t listed = 1;
    for (const char *comma = study->devices; (comma = strchr(comma, ',')) != NULL; comma++)
        listed++;
    return reading_of(listed);
}

int study_look(const struct study *study, struct text *notes, struct text *why)
{
    const struct workload *workload = study->setting.workload;
    if (workload->caution)
        text_add(notes, workload->caution);
    if (!workload->look)
        return 0;
    if (notes->length)
        text_add_char(notes, '\n');
    return workload->look(&study->setting.point, study->setting.options, notes, why);
}

int study_fingerprint(const struct study *study, struct text *out, struct text *why)
{
    const struct workload *workload = study->setting.workload;
    return workload->fingerprint ? workload->fingerprint(study->setting.options, out, why) : 0;
}

/* --- the canonical form: what a study means, whatever way it is written in --- */

static void add_canonical(void *user, const struct study_key *key)
{
    struct text *out = user;
    if (key->role == KEY_PERMISSION)
        return;
    text_addf(out, "%s.%s=", key->section, key->option->name);
    option_format(key->option, key->target, out);
    text_add_char(out, '\n');
}

static void add_point(const struct point *point, struct text *out)
{
    for (int i = 0; i < DIMENSIONS; i++)
        if (point->value[i].known)
            text_addf(out, " %s=%llu", dimension_facts[i].name,
                      (unsigned long long)point->value[i].value);
}

static int compare_inputs(const void *a, const void *b)
{
    const struct study_input *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Sections in an order of their own: which one comes first in the file is no difference. */
static void add_inputs(const struct study *study, struct text *out)
{
    const struct study_input **sorted =
        xcalloc(study->input_count + 1, sizeof(const struct study_input *));
    for (size_t i = 0; i < study->input_count; i++)
        sorted[i] = &study->inputs[i];
    qsort(sorted, study->input_count, sizeof(const struct study_input *), compare_inputs);
    for (size_t i = 0; i < study->input_count; i++) {
        text_addf(out, "input %s:", sorted[i]->name);
        add_point(&sorted[i]->point, out);
        text_add_char(out, '\n');
    }
    free(sorted);
}

static void add_sweep(const struct study_sweep *sweep, struct text *out)
{
    text_addf(out, "sweep %s:", dimension_facts[sweep->dimension].name);
    for (size_t i = 0; i < sweep->count; i++)
        text_addf(out, " %llu", (unsigned long long)sweep->values[i]);
    text_add_char(out, '\n');
}

void study_add_canonical(const struct study *study, struct text *out)
{
    study_each_key(study, add_canonical, out);
    add_inputs(study, out);
    for (int dimension = 0; dimension < DIMENSIONS; dimension++) {
        for (size_t i = 0; i < study->sweep_count; i++)
            if ((int)study->sweeps[i].dimension == dimension)
                add_sweep(&study->sweeps[i], out);
        for (size_t i = 0; i < study->boundary_count; i++) {
            const struct study_boundary *boundary = &study->boundaries[i];
            if ((int)boundary->dimension == dimension)
                text_addf(out, "boundary %s: %llu to %llu step %llu confirm %llu\n",
                          dimension_facts[dimension].name, (unsigned long long)boundary->from,
                          (unsigned long long)boundary->to, (unsigned long long)boundary->step,
                          (unsigned long long)boundary->confirm);
        }
    }
}

void study_hash(const struct study *study, char hash[24])
{
    struct text canonical = TEXT_INIT;
    study_add_canonical(study, &canonical);
    snprintf(hash, 24, "s-%016" PRIx64, hash_add(HASH_START, canonical.data, canonical.length));
    text_release(&canonical);
}

/* --- key=value;… as it stands in a row --- */

static void add_pair(struct text *out, const struct option *option, const void *target)
{
    struct text value = TEXT_INIT;
    option_format(option, target, &value);
    if (value.length > 0)
        text_addf(out, "%s%s=", out->length > 0 ? ";" : "", option->name);
    for (size_t i = 0; i < value.length; i++) {
        if (value.data[i] == ';' || value.data[i] == '\\')
            text_add_char(out, '\\');
        text_add_char(out, value.data[i]);
    }
    text_release(&value);
}

static bool is_default(const struct option *option, const void *target)
{
    struct option row = *option;
    struct reading room[2] = {{0, false}}; /* for a value of any type */
    struct text given = TEXT_INIT, usual = TEXT_INIT;
    row.offset = 0;
    option_defaults((const struct option[]){row, {.name = NULL}}, room);
    option_format(&row, room, &usual);
    option_format(option, target, &given);
    bool same = option->fallback && strcmp(text_string(&given), text_string(&usual)) == 0;
    option_release((const struct option[]){row, {.name = NULL}}, room);
    text_release(&given);
    text_release(&usual);
    return same;
}

/* A workload's own options are always given: they are what was computed. */
static void add_option(void *user, const struct study_key *key)
{
    bool own = workload_find(key->section) != NULL;
    if (key->role == KEY_OF_RUN && (own || !is_default(key->option, key->target)))
        add_pair(user, key->option, key->target);
}

void study_add_options(const struct study *study, struct text *out)
{
    struct text pairs = TEXT_INIT;
    study_each_key(study, add_option, &pairs);
    text_add(out, text_string(&pairs));
    text_release(&pairs);
}

void study_add_allocator_settings(const struct study *study, struct text *out)
{
    struct text pairs = TEXT_INIT;
    for (const struct option *option = allocator_options; option->name; option++)
        add_pair(&pairs, option, &study->setting.memory.allocator_setting);
    text_add(out, text_string(&pairs));
    text_release(&pairs);
}

/* --- settings that have a column of their own under the key's name --- */

static void set_own(void *user, const struct study_key *key)
{
    if (workload_find(key->section) != NULL || strcmp(key->section, "identity") == 0)
        setting_to_cell(key->option, key->target, column_find(key->option->name), user);
}

void study_describe_own(const struct study *study, struct row *row)
{
    study_each_key(study, set_own, row);
}
