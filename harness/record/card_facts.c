#include "harness/record/card_facts.h"

#include <string.h>

/* `slack`: bytes by which it may move and be the same. */
static const struct {
    enum column column;
    uint64_t slack;
} card_columns[] = {
    {COLUMN_device_uuid, 0},
    {COLUMN_device_capacity_bytes, 0},
    {COLUMN_nvml_reserved_bytes, 64u << 20},
    {COLUMN_ecc, 0},
    {COLUMN_mig, 0},
    {COLUMN_driver_version, 0},
    {COLUMN_device_used_before_bytes, 64u << 20}, /* what others hold of it for good */
};
#define CARD_COLUMNS (sizeof card_columns / sizeof *card_columns)

static bool is_same(const struct row *a, const struct row *b, enum column column,
                    uint64_t slack)
{
    if (a->cell[column].kind == CELL_EMPTY || b->cell[column].kind == CELL_EMPTY)
        return true;
    if (column_facts[column].type == COLUMN_TYPE_COUNT)
        return reading_near(row_count(a, column), row_count(b, column), slack);
    return strcmp(row_text(a, column), row_text(b, column)) == 0;
}

static void say(const struct row *was, const struct row *is, enum column column,
                struct text *difference)
{
    text_addf(difference, "%s%s ", difference->length > 0 ? ", " : "",
              column_facts[column].name);
    row_format_cell(was, column, difference);
    text_add(difference, " is now ");
    row_format_cell(is, column, difference);
}

bool card_facts_take(struct card_facts *facts, const struct row *closing,
                     struct text *difference)
{
    struct text said = TEXT_INIT;
    struct row news = ROW_INIT; /* borrowed cells */
    bool settled = row_status(closing) != STATUS_dirty;
    for (size_t i = 0; i < CARD_COLUMNS; i++) {
        enum column column = card_columns[i].column;
        if (column == COLUMN_device_used_before_bytes && !settled)
            continue;
        bool same = is_same(&facts->known, closing, column, card_columns[i].slack);
        if (!same) {
            say(&facts->known, closing, column, &said);
            row_clear(&facts->known, column);
        }
        news.cell[column] = closing->cell[column];
    }
    row_fill(&facts->known, &news); /* what is the same stays: it may not creep */
    bool changed = said.length > 0;
    text_add(difference, text_string(&said));
    text_release(&said);
    return changed;
}

void card_facts_release(struct card_facts *facts)
{
    row_release(&facts->known);
}
