#include "harness/command/forecast_folder.h"
#include "harness/protocol/shard.h"
#include "harness/record/table.h"
#include "harness/setting/dimension.h"
#include "harness/base/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What must be the same in all runs, as the settings of one program. */
static const enum column settings[] = {
    COLUMN_workload,      COLUMN_dtype,
    COLUMN_weight_format, COLUMN_kv_layout,
    COLUMN_kv_window,     COLUMN_allocator,
    COLUMN_backend,       COLUMN_phases,
    COLUMN_warmup,        COLUMN_allocator_settings,
    COLUMN_repeats,       COLUMN_empty_cache,
    COLUMN_seed,          COLUMN_options,
    COLUMN_device_uuid,   COLUMN_allocator_limit_bytes,
};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

struct candidate {
    struct row row; /* its closing row */
    char *path;
};
struct reader {
    const struct forecast_source *source;
    const char *folder;
    struct candidate *list;
    size_t count;
    struct reading outside; /* the most that a phase end showed */
    uint64_t passed_over;   /* recordings of runs that failed or retried */
};

static const char *text_of(const struct row *row, enum column column)
{
    return row->cell[column].kind == CELL_TEXT ? row->cell[column].text : "";
}

static struct reading count_of(const struct row *row, enum column column)
{
    return row->cell[column].kind == CELL_COUNT ? reading_of(row->cell[column].count)
                                                : reading_missing();
}

static bool same_cell(const struct row *a, const struct row *b, enum column column)
{
    const struct cell *x = &a->cell[column], *y = &b->cell[column];
    if (x->kind != y->kind)
        return false;
    return x->kind == CELL_TEXT    ? strcmp(x->text, y->text) == 0
           : x->kind == CELL_COUNT ? x->count == y->count
                                   : true;
}

/* Context and libraries, and whatever else is on the card: the device's use less the
 * allocator's, where both were read. */
static void look_outside(struct reader *r, const struct row *row)
{
    const struct reading used = count_of(row, COLUMN_device_used_end_bytes);
    const struct reading held = count_of(row, COLUMN_reserved_end_bytes);
    if (strcmp(text_of(row, COLUMN_evidence), "observed") == 0 && used.known && held.known &&
        used.value >= held.value)
        r->outside = reading_max(r->outside, reading_of(used.value - held.value));
}

static bool add_row(void *user, const struct row *row, uint64_t end)
{
    struct reader *r = user;
    const char *device = text_of(row, COLUMN_device_uuid);
    (void)end;
    if (r->source->device[0] && strcmp(device, r->source->device) != 0)
        return true;
    look_outside(r, row);
    const struct reading rank = count_of(row, COLUMN_rank);
    if (strcmp(text_of(row, COLUMN_phase), "run") != 0 || !rank.known)
        return true;
    char *run = xasprintf("%s/runs/%s", r->folder, text_of(row, COLUMN_run));
    char *path = shard_trace_path(run, rank.value);
    const struct reading retries = count_of(row, COLUMN_alloc_retries);
    const bool recorded = file_exists(path);
    const bool good =
        strcmp(text_of(row, COLUMN_status), "ok") == 0 && !(retries.known && retries.value > 0);
    free(run);
    r->passed_over += recorded && !good;
    if (!recorded || !good) {
        free(path);
        return true;
    }
    r->list = xrealloc(r->list, (r->count + 1) * sizeof(*r->list));
    r->list[r->count] = (struct candidate){.path = path};
    row_copy(&r->list[r->count++].row, row);
    return true;
}

/* The one dimension that varies, or the one that was asked for; -1 with a reason. */
static int find_dimension(const struct reader *r, struct text *why)
{
    int found = -1;
    if (r->source->dimension[0]) {
        found = dimension_find(r->source->dimension);
        if (found < 0)
            text_addf(why, "no dimension \"%s\"", r->source->dimension);
        return found;
    }
    for (int d = 0; d < DIMENSIONS; d++) {
        bool varies = false;
        for (size_t i = 1; i < r->count; i++)
            varies = varies ||
                     !same_cell(&r->list[0].row, &r->list[i].row, dimension_facts[d].column);
        if (varies && found >= 0) {
            text_addf(why, "%s and %s vary: choose one with --dimension",
                      dimension_facts[found].name, dimension_facts[d].name);
            return -1;
        }
        if (varies)
            found = d;
    }
    if (found < 0)
        text_addf(why, "%s: no dimension varies in its recordings", r->folder);
    return found;
}

/* Runs that may stand beside the first: alike in everything but the dimension. Another point is
 * passed over, another setting or device refused. */
static int choose(struct reader *r, int dimension, size_t *chosen, size_t *count,
                  struct text *why)
{
    const struct row *first = NULL;
    *count = 0;
    for (size_t i = 0; i < r->count; i++) {
        const struct row *row = &r->list[i].row;
        const struct reading value = count_of(row, dimension_facts[dimension].column);
        bool other = !value.known;
        for (int d = 0; d < DIMENSIONS && first && !other; d++)
            other = d != dimension && !same_cell(first, row, dimension_facts[d].column);
        for (size_t k = 0; k < *count && !other; k++)
            other =
                count_of(&r->list[chosen[k]].row, dimension_facts[dimension].column).value ==
                value.value;
        if (other)
            continue;
        for (size_t k = 0; k < SETTINGS && first; k++) {
            if (same_cell(first, row, settings[k]))
                continue;
            text_addf(why, "%s and %s differ in %s", text_of(first, COLUMN_run),
                      text_of(row, COLUMN_run), column_facts[settings[k]].name);
            if (settings[k] == COLUMN_device_uuid)
                text_add(why, ": choose one with --device");
            return -1;
        }
        if (!first)
            first = row;
        chosen[(*count)++] = i;
    }
    return 0;
}

static int read_chosen(struct reader *r, int dimension, struct forecast_found *found,
                       struct text *why)
{
    size_t *chosen = xcalloc(r->count + 1, sizeof(*chosen)), count = 0;
    int result = choose(r, dimension, chosen, &count, why);
    found->takes = xcalloc(count + 1, sizeof(*found->takes));
    for (size_t i = 0; i < count && !result; i++) {
        const struct candidate *c = &r->list[chosen[i]];
        const uint64_t value = count_of(&c->row, dimension_facts[dimension].column).value;
        result = take_read(c->path, value, &found->takes[found->take_count], why);
        found->take_count += !result;
    }
    if (!result && count > 0) {
        const struct row *row = &r->list[chosen[0]].row;
        found->dimension = dimension_facts[dimension].name;
        found->allocator = xstrdup(text_of(row, COLUMN_allocator));
        found->settings = xstrdup(text_of(row, COLUMN_allocator_settings));
        found->capacity = count_of(row, COLUMN_device_capacity_bytes);
        found->limit = count_of(row, COLUMN_allocator_limit_bytes);
        found->outside = r->outside;
    }
    free(chosen);
    return result;
}

int forecast_folder_read(const struct forecast_source *source, struct forecast_found *found,
                         struct text *why)
{
    struct reader r = {.source = source, .folder = source->operands[0]};
    struct table_reading reading = {.reason = TEXT_INIT};
    char *table = xasprintf("%s/rows.csv", r.folder);
    int result = table_read(table, true, add_row, &r, &reading, why);
    if (!result && r.count < 2) {
        text_addf(why,
                  "%s: %zu recording%s of runs that ended well (trace = always keeps them)",
                  r.folder, r.count, r.count == 1 ? "" : "s");
        if (r.passed_over)
            text_addf(why, "; %" PRIu64 " of runs that failed or retried are of no use",
                      r.passed_over);
        result = -1;
    }
    const int dimension = result ? -1 : find_dimension(&r, why);
    result = dimension < 0 ? -1 : read_chosen(&r, dimension, found, why);
    for (size_t i = 0; i < r.count; i++) {
        row_release(&r.list[i].row);
        free(r.list[i].path);
    }
    free(r.list);
    free(table);
    text_release(&reading.reason);
    return result;
}
