/* Golden files: what the code says today, a line a case, in tests/golden. A difference is told
 * line by line. HIGHWATER_REWRITE_GOLDEN=1 writes the files anew instead. */
#ifndef TESTS_UNIT_GOLDEN_BED_H
#define TESTS_UNIT_GOLDEN_BED_H

#include "harness/base/file.h"
#include "harness/record/row.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define GOLDEN_SHOWN 10 /* differing lines that are printed */

/* Where the lines part: as many as GOLDEN_SHOWN pairs. */
static inline void golden_explain(const char *name, const char *wanted, const char *said)
{
    size_t shown = 0;
    for (size_t number = 1; (*wanted != '\0' || *said != '\0') && shown < GOLDEN_SHOWN;
         number++) {
        size_t a = strcspn(wanted, "\n"), b = strcspn(said, "\n");
        if (a != b || memcmp(wanted, said, a) != 0) {
            print_error("%s:%zu\n  wanted %.*s\n  said   %.*s\n", name, number, (int)a, wanted,
                        (int)b, said);
            shown++;
        }
        wanted += a + (wanted[a] == '\n');
        said += b + (said[b] == '\n');
    }
}

static inline void golden_check(const char *name, const struct text *said)
{
    struct text wanted = TEXT_INIT, why = TEXT_INIT;
    char *path = xasprintf("%s/tests/golden/%s", TEST_SOURCE, name);
    if (getenv("HIGHWATER_REWRITE_GOLDEN") != NULL)
        assert_int_equal(file_replace(path, said->data, said->length, &why), 0);
    else if (file_read(path, 0, &wanted, &why) != 0)
        fail_msg("%s", text_string(&why));
    else if (wanted.length != said->length ||
             memcmp(wanted.data, said->data, said->length) != 0) {
        golden_explain(name, text_string(&wanted), text_string(said));
        fail_msg("%s: %zu bytes wanted, %zu said; the lines above differ", name, wanted.length,
                 said->length);
    }
    text_release(&wanted);
    text_release(&why);
    free(path);
}

/* Deterministic, and no version of the programs. */
static inline bool golden_tells(enum column column)
{
    return column_facts[column].deterministic && column != COLUMN_program_version &&
           column != COLUMN_framework_version;
}

/* Those cells of a row that are not those of the row before it, which becomes it. */
static inline void golden_add_row(struct row *before, const struct row *row, struct text *out)
{
    struct text was = TEXT_INIT, is = TEXT_INIT;
    for (int column = 0; column < COLUMNS; column++) {
        if (!golden_tells((enum column)column))
            continue;
        text_clear(&was);
        text_clear(&is);
        row_format_cell(before, (enum column)column, &was);
        row_format_cell(row, (enum column)column, &is);
        if (strcmp(text_string(&was), text_string(&is)) != 0)
            text_addf(out, " %s=%s", column_facts[column].name, text_string(&is));
    }
    text_add_char(out, '\n');
    row_release(before);
    row_copy(before, row);
    text_release(&was);
    text_release(&is);
}

#endif
