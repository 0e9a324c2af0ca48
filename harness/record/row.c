#include "harness/record/row.h"

#include "harness/base/units.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPED_LONGEST 500 /* bytes of an escaped cell */

#define SAME true
#define VARIES false
#define OURS 0
#define HELLO SAID_IN_HELLO
#define ENDS SAID_IN_END
#define PHASES (SAID_IN_BEGIN | SAID_IN_END)
#define ALWAYS (HELLO | PHASES)
const struct column_fact column_facts[COLUMNS] = {
#define COLUMN(name, type, unit, repeats, sayer, definition)                                   \
    {#name, COLUMN_TYPE_##type, unit, repeats, sayer, definition},
#include "harness/record/columns.def"
#undef COLUMN
};

const struct status_fact status_facts[STATUSES] = {
#define STATUS(name, judged, gravity, again, meaning) {#name, judged, gravity, again, meaning},
#include "harness/record/status.def"
#undef STATUS
};

int column_find(const char *name)
{
    for (int i = 0; i < COLUMNS; i++)
        if (strcmp(column_facts[i].name, name) == 0)
            return i;
    return -1;
}

int status_find(const char *name)
{
    for (int i = 0; i < STATUSES; i++)
        if (strcmp(status_facts[i].name, name) == 0)
            return i;
    return -1;
}

/* --- whole rows ------------------------------------------------------------------------ */

void row_clear(struct row *row, enum column column)
{
    struct cell *cell = &row->cell[column];
    if (cell->kind == CELL_TEXT)
        free(cell->text);
    *cell = (struct cell){.kind = CELL_EMPTY};
}

void row_release(struct row *row)
{
    for (enum column column = 0; column < COLUMNS; column++)
        row_clear(row, column);
}

static struct cell cell_copy(const struct cell *cell)
{
    struct cell copy = *cell;
    if (copy.kind == CELL_TEXT)
        copy.text = xstrdup(cell->text);
    return copy;
}

void row_copy(struct row *to, const struct row *from)
{
    if (to == from)
        return;
    row_release(to);
    row_fill(to, from);
}

void row_fill(struct row *to, const struct row *from)
{
    for (int i = 0; i < COLUMNS; i++)
        if (to->cell[i].kind == CELL_EMPTY)
            to->cell[i] = cell_copy(&from->cell[i]);
}

/* --- setting --------------------------------------------------------------------------- */

void row_set_count(struct row *row, enum column column, uint64_t value)
{
    assert(column_facts[column].type == COLUMN_TYPE_COUNT);
    row_clear(row, column);
    row->cell[column] = (struct cell){.kind = CELL_COUNT, .count = value};
}

void row_set_reading(struct row *row, enum column column, struct reading value)
{
    assert(column_facts[column].type == COLUMN_TYPE_COUNT);
    if (value.known)
        row_set_count(row, column, value.value);
    else
        row_clear(row, column);
}

void row_set_real(struct row *row, enum column column, double value)
{
    assert(column_facts[column].type == COLUMN_TYPE_REAL);
    row_clear(row, column);
    if (isfinite(value)) /* nan and inf are no measurements: an empty cell */
        row->cell[column] = (struct cell){.kind = CELL_REAL, .real = value};
}

/* Takes the text over; an empty one is an empty cell. */
static void set_owned(struct row *row, enum column column, char *text)
{
    row_clear(row, column);
    if (text[0] == '\0')
        free(text);
    else
        row->cell[column] = (struct cell){.kind = CELL_TEXT, .text = text};
}

/* What a table may hold: valid UTF-8 on one line. Hidden characters are escaped where a text
 * comes in, but one that is there is no damage. */
static bool is_clean(const char *value, size_t length)
{
    bool ascii = true;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return false;
        ascii &= c < 0x80;
    }
    return ascii || text_is_utf8(value, length);
}

void row_set_text(struct row *row, enum column column, const char *value)
{
    assert(column_facts[column].type == COLUMN_TYPE_TEXT);
    if (value == NULL) {
        row_clear(row, column);
        return;
    }
    size_t length = strlen(value);
    if (text_is_shown(value, length)) {
        set_owned(row, column, xstrdup(value));
        return;
    }
    struct text text = TEXT_INIT;
    text_add_escaped(&text, value, length, 0);
    set_owned(row, column, text_detach(&text));
}

void row_set_escaped(struct row *row, enum column column, const void *bytes, size_t length)
{
    assert(column_facts[column].type == COLUMN_TYPE_TEXT);
    struct text text = TEXT_INIT;
    text_add_escaped(&text, bytes, length, ESCAPED_LONGEST);
    set_owned(row, column, text_detach(&text));
}

void row_set_status(struct row *row, enum status status)
{
    static const char *const judged[] = {
        [FITS_YES] = "yes", [FITS_NO] = "no", [FITS_NOT_JUDGED] = NULL};
    row_set_text(row, COLUMN_status, status_facts[status].name);
    if (row_is_closing(row))
        row_set_text(row, COLUMN_fits, judged[status_facts[status].judged]);
}

/* --- asking ---------------------------------------------------------------------------- */

struct reading row_count(const struct row *row, enum column column)
{
    const struct cell *cell = &row->cell[column];
    assert(column_facts[column].type == COLUMN_TYPE_COUNT);
    return cell->kind == CELL_COUNT ? reading_of(cell->count) : reading_missing();
}

const char *row_text(const struct row *row, enum column column)
{
    const struct cell *cell = &row->cell[column];
    assert(column_facts[column].type == COLUMN_TYPE_TEXT);
    return cell->kind == CELL_TEXT ? cell->text : NULL;
}

int row_status(const struct row *row)
{
    const char *name = row_text(row, COLUMN_status);
    return name != NULL ? status_find(name) : -1;
}

bool row_is_closing(const struct row *row)
{
    const char *phase = row_text(row, COLUMN_phase);
    return phase != NULL && strcmp(phase, "run") == 0;
}

bool row_same_cell(const struct row *a, const struct row *b, enum column column)
{
    const struct cell *x = &a->cell[column], *y = &b->cell[column];
    if (x->kind != y->kind)
        return false;
    switch (x->kind) {
    case CELL_EMPTY:
        break;
    case CELL_COUNT:
        return x->count == y->count;
    case CELL_REAL:
        return x->real == y->real;
    case CELL_TEXT:
        return strcmp(x->text, y->text) == 0;
    }
    return true;
}

bool row_same_phase(const struct row *a, const struct row *b)
{
    return row_same_cell(a, b, COLUMN_phase) && row_same_cell(a, b, COLUMN_pass) &&
           row_same_cell(a, b, COLUMN_repeat);
}

void row_add_warning(struct row *row, const char *warning)
{
    const char *old = row_text(row, COLUMN_warning);
    char *both = xasprintf("%s%s%s", old != NULL ? old : "", old != NULL ? "; " : "", warning);
    row_set_text(row, COLUMN_warning, both);
    free(both);
}

/* --- cells as text --------------------------------------------------------------------- */

/* A whole number in plain digits, else the fewest digits that read back equal. */
static void add_real(struct text *out, double value)
{
    char digits[40];
    if (value == trunc(value) && fabs(value) < 1e15) {
        text_addf(out, "%.0f", value);
        return;
    }
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    text_add(out, digits);
}

void row_format_cell(const struct row *row, enum column column, struct text *out)
{
    const struct cell *cell = &row->cell[column];
    switch (cell->kind) {
    case CELL_EMPTY:
        break;
    case CELL_COUNT:
        text_addf(out, "%llu", (unsigned long long)cell->count);
        break;
    case CELL_REAL:
        add_real(out, cell->real);
        break;
    case CELL_TEXT:
        text_add(out, cell->text);
        break;
    }
}

/* [-] digits [. digits] [e [sign] digits]: neither blanks, hexadecimal, inf nor nan. */
static int parse_real_cell(struct row *row, enum column column, const char *value)
{
    static const char digits[] = "0123456789";
    const char *at = value + (value[0] == '-');
    size_t whole = strspn(at, digits);
    at += whole;
    size_t decimals = at[0] == '.' ? strspn(at + 1, digits) : 0;
    if (whole == 0 || (at[0] == '.' && decimals == 0))
        return -1;
    at += decimals > 0 ? decimals + 1 : 0;
    if (at[0] == 'e' || at[0] == 'E') {
        at += 1 + (at[1] == '+' || at[1] == '-');
        size_t exponent = strspn(at, digits);
        if (exponent == 0)
            return -1;
        at += exponent;
    }
    double real = strtod(value, NULL);
    if (*at != '\0' || !isfinite(real))
        return -1;
    row_set_real(row, column, real);
    return 0;
}

/* Longer than any number can be: not a number. */
static int parse_number_cell(struct row *row, enum column column, const char *value,
                             size_t length)
{
    char copy[64];
    if (length >= sizeof copy || memchr(value, '\0', length) != NULL)
        return -1;
    memcpy(copy, value, length);
    copy[length] = '\0';
    if (column_facts[column].type == COLUMN_TYPE_REAL)
        return parse_real_cell(row, column, copy);
    uint64_t count;
    int failed = parse_count(copy, &count, NULL);
    if (!failed)
        row_set_count(row, column, count);
    return failed;
}

int row_parse_cell(struct row *row, enum column column, const char *value, size_t length)
{
    if (length == 0)
        row_clear(row, column);
    else if (column_facts[column].type != COLUMN_TYPE_TEXT)
        return parse_number_cell(row, column, value, length);
    else if (is_clean(value, length))
        set_owned(row, column, xstrndup(value, length));
    else
        return -1;
    return 0;
}
