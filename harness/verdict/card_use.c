#include "harness/verdict/card_use.h"

#include <inttypes.h>
#include <string.h>

/* A context with cuBLAS takes less than 1 GiB. */
#define LIBRARIES_MOST ((uint64_t)4 << 30)

static bool use_differs(struct reading a, struct reading b)
{
    return !reading_near(a, b, CARD_TOLERANCE);
}

bool card_use_grew(struct reading was, struct reading is)
{
    return use_differs(was, is) && is.value > was.value;
}

enum card_use_outcome card_use_settles(struct reading used, struct reading baseline, bool late,
                                       struct text *why)
{
    if (!card_use_grew(baseline, used))
        return CARD_SETTLED;
    if (!late)
        return CARD_STILL_IN_USE;
    text_addf(why,
              "%" PRIu64 " bytes are in use on the card, %" PRIu64 " were when the study began",
              used.value, baseline.value);
    return CARD_NOT_SETTLED;
}

/* --- did others move? -------------------------------------------------------------------- */

static void say(struct reading was, struct reading is, const char *when, struct text *what)
{
    text_addf(what, "%" PRIu64 " bytes, %" PRIu64 " %s", was.value, is.value, when);
}

static bool moved_after(const struct card_use *use, struct text *what)
{
    bool told = use_differs(use->foreign_before, use->foreign_after);
    struct reading was = told ? use->foreign_before : use->before;
    struct reading is = told ? use->foreign_after : use->after;
    if (!use_differs(was, is))
        return false;
    say(was, is, "after it", what);
    return true;
}

static bool moved_in_samples(const struct card_use *use, struct text *what)
{
    const struct reading extremes[] = {use->others_most, use->others_least};
    for (size_t i = 0; i < 2; i++)
        if (use_differs(use->foreign_before, extremes[i])) {
            say(use->foreign_before, extremes[i], "while it ran", what);
            return true;
        }
    return false;
}

/* In use on the device beside what the child's allocator holds. */
static struct reading beside(struct reading used, struct reading reserved)
{
    if (!used.known || !reserved.known || used.value < reserved.value)
        return reading_missing();
    return reading_of(used.value - reserved.value);
}

static struct reading beside_at_start(const struct row *row)
{
    return beside(row_count(row, COLUMN_device_used_start_bytes),
                  row_count(row, COLUMN_reserved_start_bytes));
}

static struct reading beside_at_end(const struct row *row)
{
    return beside(row_count(row, COLUMN_device_used_end_bytes),
                  row_count(row, COLUMN_reserved_end_bytes));
}

/* A lower bound, since its cache may have been given back before it was refused for good. */
static struct reading beside_at_refusal(const struct row *row, struct reading capacity)
{
    struct reading free = row_count(row, COLUMN_free_bytes_at_failure);
    if (!capacity.known || !free.known || free.value > capacity.value)
        return reading_missing();
    return beside(reading_of(capacity.value - free.value),
                  row_count(row, COLUMN_reserved_peak_bytes));
}

/* Until its libraries are loaded nobody knows what is the child's own: only what no context and
 * no library takes is surely another's. */
static bool is_beyond_libraries(struct reading before, struct reading now)
{
    return before.known && now.known && now.value > before.value + LIBRARIES_MOST;
}

static bool is_libraries(const struct row *row)
{
    const char *phase = row_text(row, COLUMN_phase);
    return phase != NULL && strcmp(phase, "libraries") == 0;
}

/* `before`: in use before a child of which it is known what it loads; else missing. */
static bool moved_beside_child(struct reading before, const struct phase_record *record,
                               struct text *what)
{
    struct reading was = reading_missing();
    struct reading capacity = row_count(&record->hello, COLUMN_device_capacity_bytes);
    for (size_t i = 0; i < record->count; i++) {
        const struct row *row = &record->rows[i];
        struct reading refused = beside_at_refusal(row, capacity);
        const struct reading now[] = {beside_at_start(row), beside_at_end(row)};
        struct reading most = reading_max(refused, reading_max(now[0], now[1]));
        if (!was.known && is_beyond_libraries(before, most)) {
            say(before, most, "beside the child", what);
            return true;
        }
        for (size_t j = 0; j < 2; j++)
            if (use_differs(was, now[j])) {
                say(was, now[j], row_text(row, COLUMN_phase), what);
                return true;
            }
        if (card_use_grew(was, refused)) {
            say(was, refused, "when it was refused", what);
            return true;
        }
        if (is_libraries(row))
            was = beside_at_end(row);
    }
    return false;
}

bool card_use_moved(const struct card_use *use, const struct phase_record *record,
                    struct text *what)
{
    if (!use->watched)
        return false;
    const char *framework = row_text(&record->hello, COLUMN_framework);
    bool ours = framework != NULL && strcmp(framework, "highwater") == 0;
    struct reading before = ours ? use->before : reading_missing();
    return moved_after(use, what) || moved_in_samples(use, what) ||
           moved_beside_child(before, record, what);
}
