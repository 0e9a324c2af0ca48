#include "harness/protocol/phases.h"

#include "harness/base/file.h"

#include <stdlib.h>
#include <string.h>

/* A child that floods its phase file must not take its observer's memory with it. */
#define FILE_LONGEST (64u << 20)
#define PHASES_MOST 65536
#define TEXT_LONGEST 500 /* bytes of a cell */
#define NEWEST 8192      /* bytes that hold the last line of a phase file */

struct phases_reader {
    struct phase_record *record;
    bool open; /* the last row's phase was begun, and neither ended nor failed */
};

static struct row *last_row(const struct phases_reader *reader)
{
    return &reader->record->rows[reader->record->count - 1];
}

static struct row *push_row(struct phases_reader *reader)
{
    struct row *row = GROW(reader->record->rows, reader->record->count);
    *row = (struct row)ROW_INIT;
    return row;
}

/* Cells of the newer line replace those of the row; what it leaves out stays. */
static void replace_cells(struct row *row, const struct row *newer)
{
    struct row merged = ROW_INIT;
    row_copy(&merged, newer);
    row_fill(&merged, row);
    row_release(row);
    *row = merged;
}

static void on_hello(struct phases_reader *reader, const struct row *row)
{
    if (reader->record->said_hello) {
        reader->record->bad_lines++;
        return;
    }
    row_copy(&reader->record->hello, row);
    reader->record->said_hello = true;
}

/* A phase whose end is not in the file is partial. */
static void leave_open(struct phases_reader *reader)
{
    if (reader->open)
        row_set_text(last_row(reader), COLUMN_partial, "yes");
    reader->open = false;
}

/* A phase that was not ended before the next began: an error of the child. */
static void mark_unended(struct row *row)
{
    char *error = xasprintf("phase %.400s was not ended", row_text(row, COLUMN_phase));
    row_set_status(row, STATUS_error);
    row_set_text(row, COLUMN_partial, "yes");
    row_set_text(row, COLUMN_error, error);
    free(error);
}

static void on_begin(struct phases_reader *reader, const struct row *row)
{
    if (row_text(row, COLUMN_phase) == NULL || row_is_closing(row)) {
        reader->record->bad_lines++;
        return;
    }
    if (reader->open)
        mark_unended(last_row(reader));
    reader->open = false;
    if (reader->record->count >= PHASES_MOST) {
        reader->record->bad_lines++;
        return;
    }
    row_copy(push_row(reader), row);
    reader->open = true;
}

static void on_end(struct phases_reader *reader, const struct row *row)
{
    if (!reader->open || !row_same_phase(last_row(reader), row)) {
        reader->record->bad_lines++;
        return;
    }
    struct row *ended = last_row(reader);
    replace_cells(ended, row);
    if (row_text(row, COLUMN_status) == NULL)
        row_set_status(ended, STATUS_ok);
    if (row_text(row, COLUMN_partial) != NULL && row_status(ended) == STATUS_ok)
        mark_unended(ended);
    reader->open = false;
}

/* A failure between two phases has a row of its own. */
static void on_fail(struct phases_reader *reader, const struct row *row)
{
    struct row said = ROW_INIT;
    row_copy(&said, row);
    if (row_is_closing(&said))
        row_clear(&said, COLUMN_phase);
    bool unnamed = row_text(&said, COLUMN_phase) == NULL;
    bool here = reader->open && (unnamed || row_same_phase(last_row(reader), &said));
    if (!here)
        leave_open(reader);
    struct row *failed = here ? last_row(reader) : push_row(reader);
    replace_cells(failed, &said);
    if (row_text(&said, COLUMN_status) == NULL)
        row_set_status(failed, STATUS_error);
    row_set_text(failed, COLUMN_partial, "yes");
    reader->record->failed = true;
    reader->open = false;
    row_release(&said);
}

/* Long texts of a child would swell rows.csv. Cut at a whole character. */
static void cut_texts(struct row *row)
{
    for (enum column column = 0; column < COLUMNS; column++) {
        struct cell *cell = &row->cell[column];
        if (cell->kind != CELL_TEXT || strlen(cell->text) <= TEXT_LONGEST)
            continue;
        size_t length = TEXT_LONGEST;
        while ((cell->text[length] & 0xc0) == 0x80)
            length--;
        cell->text[length] = '\0';
    }
}

/* Empties what this verb does not carry. */
static void drop_cells(struct phase_record *record, unsigned verb, struct row *row)
{
    for (enum column column = 0; column < COLUMNS; column++) {
        if (row->cell[column].kind == CELL_EMPTY || (column_facts[column].sayers & verb) != 0)
            continue;
        if (record->dropped == NULL)
            record->dropped = column_facts[column].name;
        row_clear(row, column);
    }
}

/* A child may report these statuses only; the others are judged from outside. */
static void check_status(struct phase_record *record, bool ended, struct row *row)
{
    int status = row_status(row);
    if (row_text(row, COLUMN_status) == NULL || status == STATUS_oom ||
        status == STATUS_host_oom || status == STATUS_error || status == STATUS_adapted ||
        (ended && status == STATUS_ok))
        return;
    if (!record->bad_status)
        record->status_given = status;
    record->bad_status = true;
    row_set_status(row, STATUS_error);
}

static void on_verb(struct phases_reader *reader, const char *verb, const struct row *row)
{
    struct phase_record *record = reader->record;
    bool over = record->said_bye || (record->failed && strcmp(verb, "bye") != 0);
    if (over)
        record->bad_lines++;
    else if (strcmp(verb, "hello") == 0)
        on_hello(reader, row);
    else if (strcmp(verb, "begin") == 0)
        on_begin(reader, row);
    else if (strcmp(verb, "end") == 0)
        on_end(reader, row);
    else if (strcmp(verb, "fail") == 0)
        on_fail(reader, row);
    else if (strcmp(verb, "bye") == 0)
        record->said_bye = true;
    /* any other verb belongs to a newer speaker */
}

static void on_line(void *user, const char *verb, const struct row *row)
{
    struct phase_record *record = ((struct phases_reader *)user)->record;
    struct row allowed = ROW_INIT;
    bool ends = strcmp(verb, "end") == 0;
    row_copy(&allowed, row);
    cut_texts(&allowed);
    if (strcmp(verb, "hello") == 0)
        drop_cells(record, SAID_IN_HELLO, &allowed);
    else if (strcmp(verb, "begin") == 0)
        drop_cells(record, SAID_IN_BEGIN, &allowed);
    else if (ends || strcmp(verb, "fail") == 0) {
        drop_cells(record, SAID_IN_END, &allowed);
        check_status(record, ends, &allowed);
    }
    on_verb(user, verb, &allowed);
    row_release(&allowed);
}

/* --- the live page --------------------------------------------------------------------- */

/* Names on the page are cut to their room. */
static bool same_name(const char *page, const char *line, size_t room)
{
    return strncmp(page, line != NULL ? line : "", room - 1) == 0;
}

static bool is_of_phase(const struct live_state *state, const struct row *row)
{
    struct reading repeat = row_count(row, COLUMN_repeat);
    return state->phase[0] != '\0' &&
           same_name(state->phase, row_text(row, COLUMN_phase), sizeof state->phase) &&
           same_name(state->pass, row_text(row, COLUMN_pass), sizeof state->pass) &&
           reading_same(repeat, state->repeat);
}

static void add_live(const struct live_state *state, struct row *row)
{
    struct row live = ROW_INIT;
    counters_to_row(&state->counters, &live);
    row_set_text(&live, COLUMN_refused_by, state->refused_by);
    for (int i = 0; i < COUNTERS; i++) /* the phase has not ended */
        if (counter_when[i] == COUNTER_WHEN_AT_END)
            row_clear(&live, counter_column[i]);
    row_fill(row, &live);
    row_release(&live);
}

/* Adds the page's counters to the phase that did not end. Without a readable page the row has
 * no counters; the phases are kept. */
static int fill_from_page(const char *live_path, struct row *row)
{
    struct live_page *page;
    if (live_open(live_path, &page, NULL) != 0)
        return -1;
    struct live_state state;
    for (int slot = 0; slot < LIVE_SLOTS; slot++)
        if (live_read(page, slot, &state) && is_of_phase(&state, row)) {
            add_live(&state, row);
            break;
        }
    live_close(page);
    return 0;
}

/* --- both ------------------------------------------------------------------------------ */

static int read_lines(const char *path, struct phases_reader *reader, struct text *why)
{
    struct text contents = TEXT_INIT;
    if (!file_exists(path))
        return 0;
    bool more;
    if (file_read_head(path, FILE_LONGEST, &contents, &more, why) != 0)
        return -1;
    size_t bad = line_each(&contents, on_line, reader);
    reader->record->bad_lines += bad + more;
    text_release(&contents);
    return 0;
}

int phases_read(const char *phases_path, const char *live_path, struct phase_record *record,
                struct text *why)
{
    struct phase_record read = {.hello = ROW_INIT};
    struct phases_reader reader = {.record = &read};
    int failed = read_lines(phases_path, &reader, why);
    bool unended = !failed && (reader.open || read.failed);
    leave_open(&reader);
    if (unended && live_path != NULL)
        read.live_missing = fill_from_page(live_path, last_row(&reader)) != 0;
    if (failed) {
        phase_record_release(&read);
        return -1;
    }
    *record = read;
    return 0;
}

void phase_record_release(struct phase_record *record)
{
    row_release(&record->hello);
    for (size_t i = 0; i < record->count; i++)
        row_release(&record->rows[i]);
    free(record->rows);
    *record = (struct phase_record){.hello = ROW_INIT};
}

/* A begin is followed by nothing but its end or failure. */
bool phases_running(const char *phases_path)
{
    struct text tail = TEXT_INIT;
    bool running = false;
    if (file_read_tail(phases_path, NEWEST, &tail, NULL) == 0 && tail.length > 0) {
        size_t end = tail.length;
        while (end > 0 && tail.data[end - 1] != '\n') /* the last may be torn */
            end--;
        size_t start = end > 0 ? end - 1 : 0;
        while (start > 0 && tail.data[start - 1] != '\n')
            start--;
        running = end > start && strncmp(tail.data + start, "begin\t", 6) == 0;
    }
    text_release(&tail);
    return running;
}
