/* A results folder and runs of two phases and two ranks, for the tests of results. */
#ifndef TESTS_UNIT_RESULTS_BED_H
#define TESTS_UNIT_RESULTS_BED_H

#include "harness/record/results.h"
#include "tests/unit/table_bed.h"

#include <dirent.h>

static inline enum results_outcome create(struct results *results, const char *folder,
                                          struct text *why)
{
    struct text study = TEXT_INIT, environment = TEXT_INIT;
    text_add(&study, "[study]\n");
    text_add(&environment, "{}\n");
    enum results_outcome outcome = results_create(results, folder, &study, &environment, why);
    text_release(&study);
    text_release(&environment);
    return outcome;
}

static inline struct results create_well(const char *folder)
{
    struct results results;
    struct text why = TEXT_INIT;
    if (create(&results, folder, &why) != RESULTS_OK)
        fail_msg("%s", text_string(&why));
    assert_int_equal(why.length, 0);
    return results;
}

static inline void close_well(struct results *results)
{
    struct text why = TEXT_INIT;
    if (results_close(results, &why) != 0)
        fail_msg("%s", text_string(&why));
}

static inline int entries_of(const char *folder)
{
    int count = -2; /* . and .. */
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    while (readdir(opened) != NULL)
        count++;
    closedir(opened);
    return count;
}

/* The rows of one run: two phases, then a closing row for each rank. */
#define RANKS 2
#define ROWS (RANKS * 3)
struct run_rows {
    struct row row[ROWS];
};

static inline struct run_rows make_run(const char *name, uint64_t order, enum status status)
{
    struct run_rows rows = {.row = {ROW_INIT}};
    for (int i = 0; i < ROWS; i++) {
        struct row *row = &rows.row[i];
        row_set_text(row, COLUMN_run, name);
        row_set_count(row, COLUMN_order, order);
        row_set_count(row, COLUMN_ranks, RANKS);
        row_set_count(row, COLUMN_rank, (uint64_t)i / 3);
        row_set_text(row, COLUMN_phase, i % 3 == 2 ? "run" : "prefill");
        row_set_status(row, i == 5 ? status : STATUS_ok);
        row_set_text(row, COLUMN_error, "a \"quoted\", text");
    }
    return rows;
}

static inline void append(struct results *results, const char *name, uint64_t order,
                          enum status status)
{
    struct run_rows rows = make_run(name, order, status);
    struct text why = TEXT_INIT;
    if (results_append(results, rows.row, ROWS, &why) != 0)
        fail_msg("%s", text_string(&why));
    for (int i = 0; i < ROWS; i++)
        row_release(&rows.row[i]);
}

#endif
