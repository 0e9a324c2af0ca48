#include "harness/study/compare.h"

#include "harness/study/study_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct key {
    struct study_key of; /* borrowed from the tables */
    char *value;
};
struct keys {
    struct key *list;
    size_t count;
};

static void add_key(void *user, const struct study_key *key)
{
    struct keys *keys = user;
    struct text value = TEXT_INIT;
    option_format(key->option, key->target, &value);
    *GROW(keys->list, keys->count) = (struct key){*key, xstrdup(text_string(&value))};
    text_release(&value);
}

static void keys_release(struct keys *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        free(keys->list[i].value);
    free(keys->list);
}

static enum study_change worse(enum study_change a, enum study_change b)
{
    return a > b ? a : b;
}

static enum study_change judge(const struct key *old, const struct key *new)
{
    switch (old->of.role) {
    case KEY_COUNTS_RUNS:
        if (strtoull(new->value, NULL, 10) > strtoull(old->value, NULL, 10))
            return STUDY_GROWN;
        break;
    case KEY_PERMISSION:
        return STUDY_SAME;
    case KEY_OF_SCHEDULE:
        return STUDY_GROWN;
    case KEY_OF_RUN:
    case KEY_IN_COLUMN:
        break;
    }
    return STUDY_OTHER;
}

static enum study_change compare_keys(const struct study *old, const struct study *new,
                                      struct text *difference)
{
    struct keys before = {NULL, 0}, after = {NULL, 0};
    enum study_change change = STUDY_SAME;
    study_each_key(old, add_key, &before);
    study_each_key(new, add_key, &after);
    /* The workload's own keys stand last: before them, the two lists are of one length. */
    for (size_t i = 0; i < before.count && i < after.count; i++) {
        const struct key *a = &before.list[i], *b = &after.list[i];
        if (a->of.option != b->of.option)
            break; /* of another workload, which has been said */
        enum study_change one = strcmp(a->value, b->value) == 0 ? STUDY_SAME : judge(a, b);
        if (one != STUDY_SAME)
            text_addf(difference, "%s.%s: %s is now %s\n", a->of.section, a->of.option->name,
                      a->value[0] ? a->value : "nothing", b->value[0] ? b->value : "nothing");
        change = worse(change, one);
    }
    keys_release(&before);
    keys_release(&after);
    return change;
}

/* --- inputs --- */

static const struct study_input *find_input(const struct study *study, const char *name)
{
    for (size_t i = 0; i < study->input_count; i++)
        if (strcmp(study->inputs[i].name, name) == 0)
            return &study->inputs[i];
    return NULL;
}

static enum study_change compare_points(const char *name, const struct point *old,
                                        const struct point *new, struct text *difference)
{
    enum study_change change = STUDY_SAME;
    for (int i = 0; i < DIMENSIONS; i++) {
        if (reading_same(old->value[i], new->value[i]))
            continue;
        text_addf(difference, "input %s.%s: another value\n", name, dimension_facts[i].name);
        change = STUDY_OTHER;
    }
    return change;
}

static enum study_change compare_inputs(const struct study *old, const struct study *new,
                                        struct text *difference)
{
    enum study_change change = STUDY_SAME;
    for (size_t i = 0; i < old->input_count; i++) {
        const struct study_input *input = &old->inputs[i], *now = find_input(new, input->name);
        if (now) {
            change = worse(change,
                           compare_points(input->name, &input->point, &now->point, difference));
        } else {
            text_addf(difference, "input %s: gone\n", input->name);
            change = STUDY_OTHER;
        }
    }
    for (size_t i = 0; i < new->input_count; i++) {
        if (find_input(old, new->inputs[i].name))
            continue;
        text_addf(difference, "input %s: new\n", new->inputs[i].name);
        change = worse(change, STUDY_GROWN);
    }
    return change;
}

/* --- sweeps --- */

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* The values of a dimension, ascending; NULL when it is not swept. */
static uint64_t *sorted_values(const struct study *study, int dimension, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < study->sweep_count; i++) {
        const struct study_sweep *sweep = &study->sweeps[i];
        if ((int)sweep->dimension != dimension)
            continue;
        uint64_t *values = xmalloc(sweep->count * sizeof *values);
        memcpy(values, sweep->values, sweep->count * sizeof *values);
        qsort(values, sweep->count, sizeof *values, by_value);
        *count = sweep->count;
        return values;
    }
    return NULL;
}

/* How many of `some` are not in `all`; the first of them is told. */
static size_t count_missing(const uint64_t *some, size_t count, const uint64_t *all,
                            size_t all_count, uint64_t *first)
{
    size_t missing = 0;
    for (size_t i = 0; i < count; i++)
        if (all_count == 0 || !bsearch(&some[i], all, all_count, sizeof *all, by_value))
            if (missing++ == 0)
                *first = some[i];
    return missing;
}

static enum study_change compare_sweep(int dimension, const struct study *old,
                                       const struct study *new, struct text *difference)
{
    size_t before, after;
    uint64_t first = 0, *a = sorted_values(old, dimension, &before),
             *b = sorted_values(new, dimension, &after);
    const char *name = dimension_facts[dimension].name;
    size_t gone = count_missing(a, before, b, after, &first);
    if (gone)
        text_addf(difference, "sweep %s: %zu value%s gone, first %" PRIu64 "\n", name, gone,
                  gone == 1 ? "" : "s", first);
    size_t added = count_missing(b, after, a, before, &first);
    if (added)
        text_addf(difference, "sweep %s: %zu value%s new, first %" PRIu64 "\n", name, added,
                  added == 1 ? "" : "s", first);
    free(a);
    free(b);
    return gone ? STUDY_OTHER : added ? STUDY_GROWN : STUDY_SAME;
}

/* --- boundaries --- */

static const struct study_boundary *find_boundary(const struct study *study, int dimension)
{
    for (size_t i = 0; i < study->boundary_count; i++)
        if ((int)study->boundaries[i].dimension == dimension)
            return &study->boundaries[i];
    return NULL;
}

static enum study_change compare_boundary(int dimension, const struct study *old,
                                          const struct study *new, struct text *difference)
{
    const struct study_boundary *a = find_boundary(old, dimension);
    const struct study_boundary *b = find_boundary(new, dimension);
    const char *name = dimension_facts[dimension].name;
    if (!a && !b)
        return STUDY_SAME;
    if (!a || !b) {
        text_addf(difference, "boundary %s: %s\n", name, a ? "gone" : "new");
        return a ? STUDY_OTHER : STUDY_GROWN;
    }
    if (a->from != b->from || a->step != b->step) {
        text_addf(difference, "boundary %s: other values are tried\n", name);
        return STUDY_OTHER;
    }
    if (a->to == b->to && a->confirm == b->confirm)
        return STUDY_SAME;
    text_addf(difference,
              "boundary %s: to %" PRIu64 ", confirm %" PRIu64 " is now to %" PRIu64
              ", confirm %" PRIu64 "\n",
              name, a->to, a->confirm, b->to, b->confirm);
    return STUDY_GROWN;
}

enum study_change study_compare(const struct study *old, const struct study *new,
                                struct text *difference)
{
    enum study_change change = compare_keys(old, new, difference);
    change = worse(change, compare_inputs(old, new, difference));
    for (int dimension = 0; dimension < DIMENSIONS; dimension++) {
        change = worse(change, compare_sweep(dimension, old, new, difference));
        change = worse(change, compare_boundary(dimension, old, new, difference));
    }
    return change;
}
