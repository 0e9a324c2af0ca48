/* row: one run x rank x phase x repeat, as cells addressed by column.
 *
 * A row starts zeroed (all cells empty) and owns its texts. Setting a cell twice replaces it;
 * setting NULL or a missing reading empties it. Types are those of columns.def, checked by
 * assertion: a wrong type is a bug.
 */
#ifndef HIGHWATER_RECORD_ROW_H
#define HIGHWATER_RECORD_ROW_H

#include "harness/base/reading.h"
#include "harness/base/text.h"

enum column {
#define COLUMN(name, ...) COLUMN_##name,
#include "harness/record/columns.def"
#undef COLUMN
    COLUMNS
};

enum column_type { COLUMN_TYPE_COUNT, COLUMN_TYPE_REAL, COLUMN_TYPE_TEXT };

/* The lines of a phase file in which a child may say a column: a bit each. */
enum column_sayer { SAID_IN_HELLO = 1, SAID_IN_BEGIN = 2, SAID_IN_END = 4 /* and fail */ };

struct column_fact {
    const char *name;
    enum column_type type;
    const char *unit;
    bool deterministic; /* SAME in columns.def */
    unsigned sayers;    /* of enum column_sayer; 0: no child may say it */
    const char *definition;
};
extern const struct column_fact column_facts[COLUMNS];
#define ROW_SCHEMA 1

enum cell_kind { CELL_EMPTY, CELL_COUNT, CELL_REAL, CELL_TEXT };
struct cell {
    enum cell_kind kind;
    union {
        uint64_t count;
        double real;
        char *text; /* owned; UTF-8, one line, no NUL */
    };
};
struct row {
    struct cell cell[COLUMNS];
};

enum fits { FITS_YES, FITS_NO, FITS_NOT_JUDGED };
enum gravity { GRAVITY_NONE, GRAVITY_OF_ANOTHER, GRAVITY_DOUBT, GRAVITY_FAILED };
enum again { STANDS, AGAIN };
enum status {
#define STATUS(name, judged, gravity, again, meaning) STATUS_##name,
#include "harness/record/status.def"
#undef STATUS
    STATUSES
};
/* A bit for each status with which a run is always made again. */
enum {
    RUNS_MADE_AGAIN = 0
#define STATUS(name, judged, gravity, again, meaning) | (again) << STATUS_##name
#include "harness/record/status.def"
#undef STATUS
};
struct status_fact {
    const char *name;
    enum fits judged;
    enum gravity gravity;
    enum again again;
    const char *meaning;
};
extern const struct status_fact status_facts[STATUSES];

#define ROW_INIT {.cell = {{.kind = CELL_EMPTY}}}
void row_release(struct row *row); /* empties every cell */
void row_copy(struct row *to, const struct row *from);
/* Copies the cells of `from` that are not empty onto those of `to` that are. */
void row_fill(struct row *to, const struct row *from);

void row_set_count(struct row *row, enum column column, uint64_t value);
void row_set_reading(struct row *row, enum column column, struct reading value);
/* Not finite: an empty cell. */
void row_set_real(struct row *row, enum column column, double value);
/* What is not one line of valid UTF-8 is escaped as a whole. */
void row_set_text(struct row *row, enum column column, const char *value);
/* Escapes to one line of at most 500 bytes. */
void row_set_escaped(struct row *row, enum column column, const void *bytes, size_t length);
void row_set_status(struct row *row, enum status status); /* status; closing rows: also fits */
/* Behind the warnings that the row has already, with "; " between. */
void row_add_warning(struct row *row, const char *warning);
void row_clear(struct row *row, enum column column);

struct reading row_count(const struct row *row, enum column column);
const char *row_text(const struct row *row, enum column column); /* NULL: empty */
/* The status of a row, or -1 when empty or unknown. */
int row_status(const struct row *row);
bool row_is_closing(const struct row *row); /* phase = run */
bool row_same_cell(const struct row *a, const struct row *b, enum column column);
bool row_same_phase(const struct row *a, const struct row *b); /* phase, pass and repeat */

int column_find(const char *name); /* -1: unknown */
int status_find(const char *name); /* -1: unknown */

/* A cell as the text that stands in a file (without quoting), and back. An empty string is an
 * empty cell. -1: not of the column's type. */
void row_format_cell(const struct row *row, enum column column, struct text *out);
int row_parse_cell(struct row *row, enum column column, const char *value,
                   size_t length) MUST_CHECK;

#endif
