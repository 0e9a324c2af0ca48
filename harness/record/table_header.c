#include "harness/record/table_header.h"

#include "harness/record/table.h"

#include <string.h>

void table_add_header(struct text *out)
{
    for (int i = 0; i < COLUMNS; i++)
        text_addf(out, "%s%s", i == 0 ? "" : ",", column_facts[i].name);
    text_add_char(out, '\n');
}

void header_explain(const char *line, size_t length, struct text *why)
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

int header_columns(const char *line, size_t length, bool allow_older)
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

bool header_is_torn(const char *line, size_t length)
{
    struct text ours = TEXT_INIT;
    table_add_header(&ours);
    bool torn = length < ours.length && memcmp(line, ours.data, length) == 0;
    text_release(&ours);
    return torn;
}
