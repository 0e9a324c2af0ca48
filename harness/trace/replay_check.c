#include "harness/trace/replay.h"
#include "harness/record/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PHASE, STATUS, FIRST_FIGURE };
#define FIELDS_MOST (FIRST_FIGURE + REPLAY_FIGURE_COUNT)

struct checker {
    const struct replay_result *result;
    struct text *differences;
    uint64_t count;
    int columns[FIELDS_MOST]; /* of each field: which figure, counted from FIRST_FIGURE */
    size_t fields;
    size_t row;
    struct text reason;
};

static void differ(struct checker *checker, const char *phase, const char *what,
                   const char *got, const char *expected)
{
    const char *const texts[] = {phase, ": ", what, " is ", got, ", expected ", expected};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        text_add_escaped(checker->differences, *texts[i] ? texts[i] : "missing",
                         *texts[i] ? strlen(texts[i]) : strlen("missing"), 0);
    text_add_char(checker->differences, '\n');
    checker->count++;
}

/* A name as it is, or as it stands in a file that was written here. */
static bool is_same(const char *value, const char *expected)
{
    struct text cell = TEXT_INIT;
    csv_add_cell(&cell, value);
    bool same = strcmp(value, expected) == 0 || strcmp(text_string(&cell), expected) == 0;
    text_release(&cell);
    return same;
}

static int find_column(const char *name)
{
    if (strcmp(name, "phase") == 0)
        return PHASE;
    if (strcmp(name, "status") == 0)
        return STATUS;
    for (int i = 0; i < REPLAY_FIGURE_COUNT; i++) {
        if (strcmp(name, replay_figure_names[i]) == 0)
            return FIRST_FIGURE + i;
    }
    return -1;
}

static int read_header(struct checker *checker, char **fields, size_t count)
{
    if (count > FIELDS_MOST || strcmp(fields[PHASE], "phase") != 0) {
        text_add(&checker->reason,
                 "not a file of expected figures: the first column is not phase");
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        checker->columns[i] = find_column(fields[i]);
        if (checker->columns[i] < 0) {
            text_addf(&checker->reason, "no such column: \"%s\"", fields[i]);
            return -1;
        }
    }
    checker->fields = count;
    return 0;
}

static void compare_field(struct checker *checker, const struct replay_phase *phase, int column,
                          const char *expected)
{
    char got[24] = "";
    const char *name = column == PHASE ? "phase" : "status";
    const char *value = column == PHASE ? phase->name : replay_status(phase);
    if (column >= FIRST_FIGURE) {
        const struct reading figure = phase->figures[column - FIRST_FIGURE];
        name = replay_figure_names[column - FIRST_FIGURE];
        if (figure.known)
            snprintf(got, sizeof(got), "%" PRIu64, figure.value);
        value = got;
    }
    if (!is_same(value, expected))
        differ(checker, phase->name, name, value, expected);
}

static int check_record(void *user, char **fields, size_t count, uint64_t line)
{
    struct checker *checker = user;
    (void)line;
    if (!checker->fields)
        return read_header(checker, fields, count);
    if (count != checker->fields) {
        text_addf(&checker->reason, "%zu fields where the header has %zu", count,
                  checker->fields);
        return -1;
    }
    const size_t row = checker->row++;
    if (row >= checker->result->count) {
        differ(checker, fields[PHASE], "phase", "", fields[PHASE]);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        compare_field(checker, &checker->result->phases[row], checker->columns[i], fields[i]);
    return 0;
}

int replay_check(const struct replay_result *result, const char *path, struct text *differences,
                 uint64_t *count, struct text *why)
{
    struct checker checker = {.result = result, .differences = differences};
    struct text reason = TEXT_INIT;
    uint64_t line = 0;
    int failed = csv_read(path, check_record, &checker, &line, &reason);
    if (!failed && !checker.fields) {
        text_add(&checker.reason, "the file is empty");
        line = 1;
        failed = -1;
    }
    for (size_t i = checker.row; !failed && i < result->count; i++)
        differ(&checker, result->phases[i].name, "phase", result->phases[i].name, "");
    if (failed && line)
        text_addf(why, "%s:%" PRIu64 ": %s", path, line,
                  text_string(checker.reason.length ? &checker.reason : &reason));
    else if (failed)
        text_add(why, text_string(&reason));
    else
        *count = checker.count;
    text_release(&reason);
    text_release(&checker.reason);
    return failed;
}
