#include "harness/plan/plan.h"

#include "kernels/backends.h"
#include "harness/workload/session.h"

#include <stdlib.h>
#include <string.h>

/* A pebibyte: more than any device, and few enough pages to count each. */
#define ENDLESS (UINT64_C(1) << 50)

struct collector {
    struct row *rows;
    size_t count;
};

static struct row *add_row(struct collector *collector)
{
    struct row *row = GROW(collector->rows, collector->count);
    memset(row, 0, sizeof *row);
    return row;
}

/* A phase's first line opens its row, its last one completes it. */
static void collect(void *user, const char *verb, const struct row *line)
{
    struct collector *collector = user;
    if (strcmp(verb, "begin") == 0) {
        row_copy(add_row(collector), line);
    } else if (strcmp(verb, "end") == 0 || strcmp(verb, "fail") == 0) {
        /* A failure outside any phase gets a row of its own. */
        struct row *row =
            collector->count ? &collector->rows[collector->count - 1] : add_row(collector);
        struct row begun = *row;
        memset(row, 0, sizeof *row);
        row_copy(row, line);
        row_fill(row, &begun);
        row_release(&begun);
    }
}

static enum status run_simulated(const struct study *study, const struct point *point,
                                 int phases, const struct seat *seat,
                                 struct collector *collector)
{
    struct setting setting = plan_setting(study, point, phases);
    setting.memory.device = (struct device_setting){
        .capacity = seat->capacity.known ? seat->capacity : reading_of(ENDLESS),
        .overhead = seat->overhead};
    setting.memory.allocator_setting.limit = seat->limit;
    const struct phase_listener listener = {.line = collect, .user = collector};
    return session_run(&setting, backend_find("simulated"), NULL, &listener);
}

/* The names of phases do not depend on sizes, so those behind a failure are learnt from the
 * smallest point that the workload accepts: an endless device would make 10^6 requests endless.
 */
static struct point smallest(const struct study *study, const struct point *point)
{
    struct point small = *point;
    for (int i = 0; i < DIMENSIONS; i++) {
        struct reading kept = small.value[i];
        if (!kept.known)
            continue;
        small.value[i].value = 1;
        if (workload_check(study->setting.workload, &small, study->setting.options, NULL) != 0)
            small.value[i] = kept;
    }
    return small;
}

static void add_not_reached(const struct study *study, const struct point *point, int phases,
                            struct collector *collector)
{
    static const enum column kept[] = {COLUMN_phase, COLUMN_pass};
    struct collector all = {.rows = NULL};
    struct point small = smallest(study, point);
    run_simulated(study, &small, phases, &(struct seat){.overhead = 0}, &all);
    for (size_t i = collector->count; i < all.count; i++) {
        struct row *row = add_row(collector);
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            row_set_text(row, kept[k], row_text(&all.rows[i], kept[k]));
        row_set_reading(row, COLUMN_repeat, row_count(&all.rows[i], COLUMN_repeat));
        row_set_status(row, STATUS_not_reached);
    }
    for (size_t i = 0; i < all.count; i++)
        row_release(&all.rows[i]);
    free(all.rows);
}

/* Of an endless device nothing is known of the whole or of what is free. */
static void forget_device(struct collector *collector)
{
    static const enum column of_device[] = {
        COLUMN_device_capacity_bytes, COLUMN_free_bytes_at_failure,
        COLUMN_device_used_start_bytes, COLUMN_device_used_end_bytes};
    for (size_t i = 0; i < collector->count; i++)
        for (size_t k = 0; k < sizeof of_device / sizeof *of_device; k++)
            row_clear(&collector->rows[i], of_device[k]);
}

int plan_predict(const struct study *study, const struct point *point, int phases,
                 const struct seat *seat, struct prediction *prediction, struct text *why)
{
    struct collector collector = {.rows = NULL};
    struct prediction result = {.failed_phase = TEXT_INIT};
    enum status status = run_simulated(study, point, phases, seat, &collector);
    const struct row *last = collector.count ? &collector.rows[collector.count - 1] : NULL;
    result.fits = status == STATUS_ok;
    if (!result.fits && last && row_text(last, COLUMN_phase))
        text_add(&result.failed_phase, row_text(last, COLUMN_phase));
    if (!result.fits && status != STATUS_oom) {
        const char *error = last ? row_text(last, COLUMN_error) : NULL;
        text_addf(why, "prediction: %s in phase %s: %s", status_facts[status].name,
                  text_string(&result.failed_phase), error ? error : "no reason given");
    } else if (!result.fits) {
        add_not_reached(study, point, phases, &collector);
    }
    if (!seat->capacity.known)
        forget_device(&collector);
    result.rows = collector.rows;
    result.count = collector.count;
    if (!result.fits && status != STATUS_oom) {
        prediction_release(&result);
        return -1;
    }
    *prediction = result;
    return 0;
}

void prediction_release(struct prediction *prediction)
{
    for (size_t i = 0; i < prediction->count; i++)
        row_release(&prediction->rows[i]);
    free(prediction->rows);
    text_release(&prediction->failed_phase);
    *prediction = (struct prediction){.failed_phase = TEXT_INIT};
}

static int fits_at(const struct study *study, const struct study_boundary *boundary,
                   uint64_t value, const struct seat *seat, bool *fits, struct text *why)
{
    int phases = study->phases == PHASES_WHOLE ? PHASES_WHOLE : PHASES_SPLIT;
    struct point point = study->setting.point;
    struct prediction prediction;
    point.value[boundary->dimension] = reading_of(value);
    if (workload_check(study->setting.workload, &point, study->setting.options, why) != 0 ||
        plan_predict(study, &point, phases, seat, &prediction, why) != 0)
        return -1;
    *fits = prediction.fits;
    prediction_release(&prediction);
    return 0;
}

int plan_guess_boundary(const struct study *study, const struct study_boundary *boundary,
                        const struct seat *seat, struct reading *guess, struct text *why)
{
    if (!seat->capacity.known) {
        *guess = reading_missing();
        return 0;
    }
    /* Numbers of values, the first one taken to fit: it stands for itself when none does. */
    uint64_t low = 0, high = (boundary->to - boundary->from) / boundary->step + 1;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        bool fits;
        if (fits_at(study, boundary, boundary->from + middle * boundary->step, seat, &fits,
                    why) != 0)
            return -1;
        *(fits ? &low : &high) = middle;
    }
    *guess = reading_of(boundary->from + low * boundary->step);
    return 0;
}
