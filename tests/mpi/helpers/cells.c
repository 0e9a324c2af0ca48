/* cells: looks into rows.csv for test scripts.
 *
 *     cells FILE COLUMN[,COLUMN…] [COLUMN=VALUE | COLUMN!=VALUE]…
 *
 * Prints the cells of every row that meets all conditions, one row a line, separated by |; an
 * empty cell is an empty field. Exit 1: the file is not a whole table of ours. */
#include "harness/record/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct question {
    enum column columns[COLUMNS];
    size_t count;
    char **conditions;
    int condition_count;
};

static enum column find(const char *name, size_t length)
{
    char *copy = xstrndup(name, length);
    int column = column_find(copy);
    if (column < 0) {
        fprintf(stderr, "cells: no column %s\n", copy);
        exit(2);
    }
    free(copy);
    return (enum column)column;
}

static bool meets(const struct row *row, const char *condition)
{
    size_t name = strcspn(condition, "!=");
    bool differs = condition[name] == '!';
    const char *wanted = condition + name + (differs ? 2 : 1);
    struct text cell = TEXT_INIT;
    row_format_cell(row, find(condition, name), &cell);
    bool same = strcmp(text_string(&cell), wanted) == 0;
    text_release(&cell);
    return same != differs;
}

static bool print(void *user, const struct row *row, uint64_t end_offset)
{
    const struct question *question = user;
    struct text line = TEXT_INIT;
    (void)end_offset;
    for (int i = 0; i < question->condition_count; i++)
        if (!meets(row, question->conditions[i]))
            return true;
    for (size_t i = 0; i < question->count; i++) {
        if (i > 0)
            text_add_char(&line, '|');
        row_format_cell(row, question->columns[i], &line);
    }
    puts(text_string(&line));
    text_release(&line);
    return true;
}

int main(int argc, char **argv)
{
    struct question question = {.conditions = argv + 3, .condition_count = argc - 3};
    struct table_reading reading = {.reason = TEXT_INIT};
    struct text why = TEXT_INIT;
    if (argc < 3) {
        fprintf(stderr, "usage: cells FILE COLUMN[,COLUMN] [COLUMN=VALUE|COLUMN!=VALUE]\n");
        return 2;
    }
    for (const char *name = argv[2]; *name != '\0';) {
        size_t length = strcspn(name, ",");
        question.columns[question.count++] = find(name, length);
        name += length + (name[length] == ',' ? 1 : 0);
    }
    if (table_read(argv[1], false, print, &question, &reading, &why) != 0 || reading.torn) {
        fprintf(stderr, "cells: %s: %s%s\n", argv[1], text_string(&why),
                text_string(&reading.reason));
        return 1;
    }
    text_release(&reading.reason);
    return 0;
}
