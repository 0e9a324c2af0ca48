#include "harness/record/table.h"

#include "harness/base/lines.h"
#include "harness/record/spreadsheet_guard.h"

#include <csv.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- writing --------------------------------------------------------------------------- */

static void add_quoted(struct text *out, const char *bytes, size_t length)
{
    size_t size = csv_write(NULL, 0, bytes, length);
    char *quoted = xmalloc(size);
    csv_write(quoted, size, bytes, length);
    text_add_bytes(out, quoted, size);
    free(quoted);
}

void csv_add_cell(struct text *out, const char *value)
{
    size_t length = strlen(value);
    text_add(out, guard_needed(value) ? "'" : "");
    if (text_is_shown(value, length))
        text_add_bytes(out, value, length);
    else
        text_add_escaped(out, value, length, 0);
}

void csv_add_text(struct text *out, const char *value)
{
    struct text cell = TEXT_INIT;
    csv_add_cell(&cell, value);
    add_quoted(out, text_string(&cell), cell.length);
    text_release(&cell);
}

void csv_add_count(struct text *out, uint64_t value)
{
    text_addf(out, "%llu", (unsigned long long)value);
}

void table_add_header(struct text *out)
{
    for (int i = 0; i < COLUMNS; i++)
        text_addf(out, "%s%s", i == 0 ? "" : ",", column_facts[i].name);
    text_add_char(out, '\n');
}

/* The one text that is meant to be read as a time. */
static bool is_guarded(enum column column)
{
    return column_facts[column].type == COLUMN_TYPE_TEXT && column != COLUMN_started_utc;
}

void table_add_row(struct text *out, const struct row *row)
{
    for (enum column column = 0; column < COLUMNS; column++) {
        const struct cell *cell = &row->cell[column];
        if (column > 0)
            text_add_char(out, ',');
        if (cell->kind != CELL_TEXT)
            row_format_cell(row, column, out);
        else if (is_guarded(column))
            csv_add_text(out, cell->text);
        else
            add_quoted(out, cell->text, strlen(cell->text));
    }
    text_add_char(out, '\n');
}

/* --- reading --------------------------------------------------------------------------- */

/* libcsv trims what it takes for blanks around unquoted fields: nothing is one. */
static int no_space(unsigned char c)
{
    (void)c;
    return 0;
}

static void parser_open(struct csv_parser *parser, unsigned char options)
{
    if (csv_init(parser, (unsigned char)(CSV_STRICT | options)) != 0)
        xmalloc_failed();
    csv_set_space_func(parser, no_space);
}

/* --- our own table --------------------------------------------------------------------- */

struct table_parser {
    struct csv_parser csv;
    struct row row;
    int columns;   /* of the file's header */
    int fields;    /* of the current line, so far */
    int rows;      /* ended on the current line */
    int ill_typed; /* column + 1 of the first, or 0 */
};

static void on_field(void *bytes, size_t length, void *user)
{
    struct table_parser *parser = user;
    const char *value = bytes;
    int index = parser->fields++;
    if (index >= parser->columns)
        return;
    enum column column = (enum column)index;
    if (length > 0 && value[0] == '\'' && is_guarded(column)) {
        value++;
        length--;
    }
    if (row_parse_cell(&parser->row, column, value, length) != 0 && parser->ill_typed == 0)
        parser->ill_typed = index + 1;
}

static void on_row(int end, void *user)
{
    (void)end;
    ((struct table_parser *)user)->rows++;
}

/* One line as one row; false with the reason when it is none. */
static bool parse_row(struct table_parser *parser, const char *line, size_t length,
                      struct text *reason)
{
    row_release(&parser->row);
    parser->fields = parser->rows = parser->ill_typed = 0;
    if (memchr(line, '\0', length) != NULL) {
        text_add(reason, "holds NUL bytes");
        return false;
    }
    if (memchr(line, '\r', length) != NULL) {
        text_add(reason, "holds a carriage return");
        return false;
    }
    size_t parsed = csv_parse(&parser->csv, line, length, on_field, on_row, parser);
    if (parsed != length)
        text_add(reason, "is not valid CSV");
    else if (parser->rows != 1)
        text_add(reason, parser->fields == 0 ? "is empty" : "ends inside a quoted text");
    else if (parser->fields != parser->columns)
        text_addf(reason, "has %d fields, the header %d", parser->fields, parser->columns);
    else if (parser->ill_typed != 0)
        text_addf(reason, "has an ill-typed cell in column %s",
                  column_facts[parser->ill_typed - 1].name);
    else if (row_status(&parser->row) < 0)
        text_add(reason, "has no known status");
    else
        return true;
    return false;
}

/* Says where a header that is not ours differs first. */
static void header_explain(const char *line, size_t length, struct text *why)
{
    if (length > 1 && line[length - 2] == '\r') {
        text_add(why, "its lines end in CR LF: another program has saved it over ours, whose "
                      "lines end in LF (a copy for a spreadsheet is safe to save)");
        return;
    }
    int index = 0;
    const char *at = line, *end = line + length;
    for (; index < COLUMNS; index++) {
        size_t name = strlen(column_facts[index].name);
        bool same = (size_t)(end - at) >= name &&
                    memcmp(at, column_facts[index].name, name) == 0 &&
                    (at + name == end || at[name] == ',' || at[name] == '\n');
        if (!same)
            break;
        at += name;
        if (at < end && *at == ',')
            at++;
    }
    const char *stop = at;
    while (stop < end && *stop != ',' && *stop != '\n')
        stop++;
    text_addf(why, "its columns are not ours: column %d is \"", index + 1);
    text_add_escaped(why, at, (size_t)(stop - at), 60);
    text_addf(why, "\", ours \"%s\"", index < COLUMNS ? column_facts[index].name : "");
}

/* The number of columns of a header that is ours or an older one of ours; 0: it is not. */
static int header_columns(const char *line, size_t length, bool allow_older)
{
    struct text ours = TEXT_INIT;
    table_add_header(&ours);
    size_t same = length - 1; /* without the newline */
    bool fits = length <= ours.length && memcmp(line, ours.data, same) == 0;
    bool older = fits && ours.data[same] == ',' && same > 0;
    int columns = 0;
    if (fits && (ours.data[same] == '\n' || (older && allow_older))) {
        columns = 1;
        for (size_t i = 0; i < same; i++)
            columns += line[i] == ',';
    }
    text_release(&ours);
    return columns;
}

/* The start of our header without an end: the file was cut before its first row. */
static bool header_is_torn(const char *line, size_t length)
{
    struct text ours = TEXT_INIT;
    table_add_header(&ours);
    bool torn = length < ours.length && memcmp(line, ours.data, length) == 0;
    text_release(&ours);
    return torn;
}

static int read_header(struct lines *lines, const char *path, bool allow_older,
                       struct table_parser *parser, struct table_reading *read,
                       struct text *why)
{
    const char *line;
    size_t length;
    enum line_kind kind = lines_next(lines, &line, &length);
    if (kind == LINE_NONE || (kind == LINE_TORN && header_is_torn(line, length))) {
        read->torn = read->at_end = true;
        text_add(&read->reason, "line 1: the header was cut off");
        return 0;
    }
    if (kind == LINE_ERROR)
        return text_fail(why, "cannot read %s: %s", path, strerror(errno));
    parser->columns = kind == LINE_WHOLE ? header_columns(line, length, allow_older) : 0;
    if (parser->columns == 0) {
        text_addf(why, "%s: ", path);
        header_explain(line, length, why);
        return -1;
    }
    read->header_end = read->good_end = length;
    return 0;
}

/* Rows until the end, the first tear, or `each` has enough. -1: the file cannot be read. */
static int read_rows(struct lines *lines, struct table_parser *parser,
                     bool (*each)(void *user, const struct row *row, uint64_t end_offset),
                     void *user, struct table_reading *read)
{
    bool more = true;
    while (more && !read->torn) {
        const char *line;
        size_t length;
        struct text reason = TEXT_INIT;
        enum line_kind kind = lines_next(lines, &line, &length);
        if (kind == LINE_NONE)
            break;
        if (kind == LINE_ERROR)
            return -1;
        if (kind == LINE_TORN)
            text_add(&reason, "has no newline");
        else if (kind == LINE_TOO_LONG)
            text_add(&reason, "is too long");
        read->at_end = kind == LINE_TORN;
        read->torn = kind != LINE_WHOLE || !parse_row(parser, line, length, &reason);
        if (read->torn) {
            text_addf(&read->reason, "line %llu %s", (unsigned long long)read->rows + 2,
                      text_string(&reason));
        } else {
            read->rows++;
            read->good_end += length;
            more = each(user, &parser->row, read->good_end);
        }
        text_release(&reason);
    }
    return 0;
}

int table_read(const char *path, bool allow_older,
               bool (*each)(void *user, const struct row *row, uint64_t end_offset), void *user,
               struct table_reading *reading, struct text *why)
{
    struct lines lines;
    struct table_parser parser = {.row = ROW_INIT};
    struct table_reading read = {.reason = TEXT_INIT};
    if (lines_open(&lines, path, why) != 0)
        return -1;
    parser_open(&parser.csv, 0);
    int failed = read_header(&lines, path, allow_older, &parser, &read, why);
    if (!failed && !read.torn && read_rows(&lines, &parser, each, user, &read) != 0) {
        text_addf(why, "cannot read %s: %s", path, strerror(errno));
        failed = -1;
    }
    csv_free(&parser.csv);
    row_release(&parser.row);
    lines_close(&lines);
    if (failed)
        text_release(&read.reason);
    else
        *reading = read;
    return failed;
}

int table_pick(const char *path, uint64_t from, void (*each)(void *user, const struct row *row),
               void *user, struct text *why)
{
    struct lines lines;
    const char *line;
    size_t length;
    enum line_kind kind = LINE_ERROR;
    struct table_parser parser = {.row = ROW_INIT, .columns = COLUMNS};
    if (lines_open(&lines, path, why) != 0)
        return -1;
    bool there = lseek(lines.fd, (off_t)from, SEEK_SET) >= 0;
    while (there && (kind = lines_next(&lines, &line, &length)) == LINE_WHOLE) {
        parser_open(&parser.csv, 0); /* whatever the line before it ended in */
        if (parse_row(&parser, line, length, NULL))
            each(user, &parser.row);
        csv_free(&parser.csv);
    }
    if (kind == LINE_ERROR)
        text_addf(why, "cannot read %s: %s", path, strerror(errno));
    row_release(&parser.row);
    lines_close(&lines);
    return kind == LINE_ERROR ? -1 : 0;
}

/* --- any table ------------------------------------------------------------------------- */

struct record_parser {
    struct csv_parser csv;
    struct text bytes; /* fields one behind the other, each with a NUL */
    size_t *starts;
    size_t count;
    int (*each)(void *user, char **fields, size_t count, uint64_t line);
    void *user;
    uint64_t line; /* where the record began */
    bool nul, stopped;
};

static void on_any_field(void *bytes, size_t length, void *user)
{
    struct record_parser *parser = user;
    *GROW(parser->starts, parser->count) = parser->bytes.length;
    parser->nul |= length > 0 && memchr(bytes, '\0', length) != NULL;
    text_add_bytes(&parser->bytes, bytes, length);
    text_add_char(&parser->bytes, '\0');
}

static void on_any_row(int end, void *user)
{
    struct record_parser *parser = user;
    (void)end;
    if (!parser->nul && !parser->stopped) {
        char **fields = xcalloc(parser->count + 1, sizeof *fields);
        for (size_t i = 0; i < parser->count; i++)
            fields[i] = parser->bytes.data + parser->starts[i];
        parser->stopped = parser->each(parser->user, fields, parser->count, parser->line) != 0;
        free(fields);
    }
    text_clear(&parser->bytes);
    parser->count = 0;
}

/* What stopped the reading behind this line; "" when nothing did. */
static const char *trouble(const struct record_parser *parser, enum line_kind kind, bool parsed)
{
    return kind == LINE_ERROR      ? strerror(errno)
           : kind == LINE_TOO_LONG ? "the line is too long"
           : !parsed               ? "not valid CSV"
           : parser->nul           ? "NUL bytes"
                                   : "";
}

/* -1: stopped, with a reason unless `each` wanted it. */
static int read_records(struct lines *lines, struct record_parser *parser, uint64_t *line,
                        struct text *why)
{
    uint64_t now = 0;
    for (;;) {
        const char *bytes;
        size_t length;
        enum line_kind kind = lines_next(lines, &bytes, &length);
        bool parsed = true;
        now++;
        if (parser->csv.pstate == 0) /* between two records */
            parser->line = now;
        if (now == 1 && length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
            bytes += 3; /* a byte-order mark, as spreadsheets write it */
            length -= 3;
        }
        if (kind == LINE_WHOLE || kind == LINE_TORN)
            parsed = csv_parse(&parser->csv, bytes, length, on_any_field, on_any_row, parser) ==
                     length;
        else if (kind == LINE_NONE)
            parsed = csv_fini(&parser->csv, on_any_field, on_any_row, parser) == 0;
        const char *reason = trouble(parser, kind, parsed);
        text_add(why, reason);
        if (reason[0] != '\0' || parser->stopped) {
            *line = parser->line;
            return -1;
        }
        if (kind == LINE_NONE)
            return 0;
    }
}

int csv_read(const char *path,
             int (*each)(void *user, char **fields, size_t count, uint64_t line), void *user,
             uint64_t *line, struct text *why)
{
    struct lines lines;
    struct record_parser parser = {.bytes = TEXT_INIT, .each = each, .user = user};
    *line = 0;
    if (lines_open(&lines, path, why) != 0)
        return -1;
    parser_open(&parser.csv, CSV_STRICT_FINI);
    int failed = read_records(&lines, &parser, line, why);
    csv_free(&parser.csv);
    text_release(&parser.bytes);
    free(parser.starts);
    lines_close(&lines);
    return failed;
}
