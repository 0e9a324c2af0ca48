/* Files and tables of tests. */
#ifndef TESTS_UNIT_TABLE_BED_H
#define TESTS_UNIT_TABLE_BED_H

#include "harness/record/table.h"
#include "tests/unit/folder_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static inline struct text contents_of(const char *path)
{
    struct text out = TEXT_INIT, why = TEXT_INIT;
    if (file_read(path, 0, &out, &why) != 0)
        fail_msg("%s", text_string(&why));
    return out;
}

static inline bool add_deterministic(void *user, const struct row *row, uint64_t end)
{
    (void)end;
    for (int column = 0; column < COLUMNS; column++)
        if (column_facts[column].deterministic) {
            row_format_cell(row, (enum column)column, user);
            text_add_char(user, '|');
        }
    text_add_char(user, '\n');
    return true;
}

/* The deterministic cells of a whole table. */
static inline struct text facts_of(const char *path)
{
    struct text facts = TEXT_INIT, why = TEXT_INIT;
    struct table_reading reading;
    if (table_read(path, false, add_deterministic, &facts, &reading, &why) != 0)
        fail_msg("%s", text_string(&why));
    assert_false(reading.torn);
    text_release(&reading.reason);
    return facts;
}

static inline void write_file(const char *path, const char *bytes, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

#endif
