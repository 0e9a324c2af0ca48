#include "harness/record/line.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define VERB_LONGEST 15

void line_format(struct text *out, const char *verb, const struct row *row)
{
    text_add(out, verb);
    for (enum column column = 0; row != NULL && column < COLUMNS; column++) {
        if (row->cell[column].kind == CELL_EMPTY)
            continue;
        struct text value = TEXT_INIT;
        row_format_cell(row, column, &value);
        text_addf(out, "\t%s=", column_facts[column].name);
        text_add_escaped(out, value.data, value.length, 0);
        text_release(&value);
    }
    text_add_char(out, '\n');
}

int line_append(int fd, const char *verb, const struct row *row, struct text *why)
{
    struct text line = TEXT_INIT;
    line_format(&line, verb, row);
    ssize_t written;
    do
        written = write(fd, line.data, line.length);
    while (written < 0 && errno == EINTR);
    int failed = written < 0 || (size_t)written != line.length;
    if (failed)
        text_addf(why, "cannot append a line: %s",
                  written < 0 ? strerror(errno) : "it was written in part only (disk full?)");
    text_release(&line);
    return failed ? -1 : 0;
}

/* One `column=value`. 0 also for a column that we do not know: its speaker is newer. */
static int parse_field(const char *field, size_t length, struct row *row)
{
    const char *equals = memchr(field, '=', length);
    if (equals == NULL || equals == field)
        return -1;
    char name[64];
    size_t name_length = (size_t)(equals - field);
    if (memchr(field, '\0', name_length) != NULL)
        return -1;
    if (name_length >= sizeof name)
        return 0;
    memcpy(name, field, name_length);
    name[name_length] = '\0';

    struct text value = TEXT_INIT;
    int failed = text_add_unescaped(&value, equals + 1, length - name_length - 1);
    int column = column_find(name);
    bool is_text = column >= 0 && column_facts[column].type == COLUMN_TYPE_TEXT;
    if (!failed && is_text && !text_is_shown(text_string(&value), value.length))
        /* of several lines, or not UTF-8: other programs may write such texts */
        row_set_escaped(row, (enum column)column, value.data, value.length);
    else if (!failed && column >= 0)
        failed = row_parse_cell(row, (enum column)column, text_string(&value), value.length);
    text_release(&value);
    return failed;
}

static bool is_verb(const char *at, size_t length)
{
    if (length == 0 || length > VERB_LONGEST)
        return false;
    for (size_t i = 0; i < length; i++)
        if ((at[i] < 'a' || at[i] > 'z') && at[i] != '_')
            return false;
    return true;
}

int line_parse(const char *line, size_t length, char verb[16], struct row *row)
{
    const char *end = line + length;
    const char *tab = length > 0 ? memchr(line, '\t', length) : NULL;
    size_t verb_length = tab != NULL ? (size_t)(tab - line) : length;
    if (!is_verb(line, verb_length))
        return -1;
    struct row parsed = ROW_INIT;
    int failed = 0;
    while (tab != NULL && !failed) {
        const char *field = tab + 1;
        tab = memchr(field, '\t', (size_t)(end - field));
        failed = parse_field(field, (size_t)((tab != NULL ? tab : end) - field), &parsed);
    }
    if (failed) {
        row_release(&parsed);
        return -1;
    }
    memcpy(verb, line, verb_length);
    verb[verb_length] = '\0';
    row_release(row);
    *row = parsed;
    return 0;
}

size_t line_each(const struct text *contents,
                 void (*each)(void *user, const char *verb, const struct row *row), void *user)
{
    size_t bad = 0, at = 0, length;
    struct row row = ROW_INIT;
    for (const char *line; (line = text_line(contents, &at, &length)) != NULL;) {
        if (contents->data[at - 1] != '\n')
            break; /* torn: its writer died in the middle */
        char verb[VERB_LONGEST + 1];
        if (line_parse(line, length, verb, &row) == 0)
            each(user, verb, &row);
        else
            bad++;
    }
    row_release(&row);
    return bad;
}
