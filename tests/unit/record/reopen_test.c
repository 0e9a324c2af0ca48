#include "harness/base/clock.h"
#include "harness/record/table.h"
#include "tests/unit/record/results_bed.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static const char *const runs[] = {"r-1", "r-2", "r-3"};
static const enum status statuses[] = {STATUS_ok, STATUS_oom, STATUS_timeout};

static struct text make_night(const char *folder, size_t ends[4])
{
    struct results results = create_well(folder);
    ends[0] = results.rows_bytes;
    for (size_t i = 0; i < 3; i++) {
        append(&results, runs[i], i + 1, statuses[i]);
        ends[i + 1] = results.rows_bytes;
    }
    close_well(&results);
    struct text path = TEXT_INIT;
    text_setf(&path, "%s/rows.csv", folder);
    struct text rows = contents_of(text_string(&path));
    text_release(&path);
    return rows;
}

/* Opened again after a cut at any byte, the missing runs done again: the same file. */
static void reopens_after_every_cut(void **state)
{
    (void)state;
    size_t ends[4];
    struct text good = make_night("cut", ends);
    struct text why = TEXT_INIT;
    for (size_t length = 0; length <= good.length; length += length % 50 == 7 ? 13 : 1) {
        assert_int_equal(file_replace("cut/rows.csv", good.data, length, &why), 0);
        size_t whole = 0;
        while (whole < 3 && ends[whole + 1] <= length)
            whole++;
        size_t kept = length < ends[0] ? 0 : ends[whole];
        struct results results;
        struct results_reopened reopened;
        if (results_reopen(&results, "cut", NULL, &reopened, &why) != RESULTS_OK)
            fail_msg("%s", text_string(&why));
        assert_int_equal(reopened.done.count, whole);
        assert_int_equal(reopened.done.last_order, whole);
        assert_int_equal(reopened.rows, whole * ROWS);
        assert_int_equal(reopened.cut_bytes, length - kept);
        assert_true((reopened.said.length > 0) == (length != kept || length == 0));
        for (size_t i = 0; i < 3; i++) {
            const struct run_record *run = run_set_find(&reopened.done, runs[i]);
            assert_true((run != NULL) == (i < whole));
            if (run == NULL)
                append(&results, runs[i], i + 1, statuses[i]);
            else
                assert_int_equal(run->statuses, 1u << STATUS_ok | 1u << statuses[i]);
        }
        close_well(&results);
        struct text again = contents_of("cut/rows.csv");
        assert_string_equal(text_string(&again), text_string(&good));
        text_release(&again);
        if (length != kept) {
            struct text aside = contents_of("cut/rows.cut-1.csv");
            assert_int_equal(aside.length, length - kept);
            assert_memory_equal(aside.data, good.data + kept, length - kept);
            text_release(&aside);
        }
        unlink("cut/rows.cut-1.csv");
        results_reopened_release(&reopened);
    }
    assert_int_equal(entries_of("cut"), 5);
    text_release(&good);
    text_release(&why);
}

/* Opens "damaged" with these bytes: how many runs are whole, and how much was cut. */
static void assert_reopened(const struct text *bytes, size_t whole, size_t cut_bytes,
                            const char *words)
{
    struct results results;
    struct results_reopened reopened;
    struct text why = TEXT_INIT;
    assert_int_equal(file_replace("damaged/rows.csv", bytes->data, bytes->length, &why), 0);
    if (results_reopen(&results, "damaged", NULL, &reopened, &why) != RESULTS_OK)
        fail_msg("%s", text_string(&why));
    assert_int_equal(reopened.done.count, whole);
    assert_int_equal(reopened.cut_bytes, cut_bytes);
    assert_non_null(strstr(text_string(&reopened.said), words));
    struct stat status;
    assert_int_equal(stat("damaged/rows.csv", &status), 0);
    assert_int_equal((size_t)status.st_size, bytes->length - cut_bytes);
    results_reopened_release(&reopened);
    close_well(&results);
}

static void reopens_after_damage(void **state)
{
    (void)state;
    size_t ends[4];
    struct text good = make_night("damaged", ends), bytes = TEXT_INIT;
    char hole[8192] = {0};
    text_add_bytes(&bytes, good.data, good.length);
    assert_reopened(&bytes, 3, 0, "");
    text_add_bytes(&bytes, hole, sizeof hole); /* after a power cut */
    assert_reopened(&bytes, 3, sizeof hole, "no newline");
    /* damage in the middle: nothing behind it counts, and all of it is kept aside */
    text_clear(&bytes);
    text_add_bytes(&bytes, good.data, good.length);
    memset(bytes.data + ends[1] + 20, 0, 10);
    assert_reopened(&bytes, 1, good.length - ends[1], "NUL");
    assert_reopened(&bytes, 1, good.length - ends[1],
                    "cut off, rows of 2 runs among them; kept");
    memcpy(bytes.data + ends[1] + 20, good.data + ends[1] + 20, 10);
    bytes.data[ends[1] + 20] = '"'; /* what follows is inside it */
    assert_reopened(&bytes, 1, good.length - ends[1], "rows of 2 runs among them; kept");
    memset(bytes.data + ends[1] + 20, 0, 10);
    struct text aside = contents_of("damaged/rows.cut-2.csv");
    assert_memory_equal(aside.data, bytes.data + ends[1], good.length - ends[1]);
    text_release(&aside);
    /* a run that another one follows before it was closed */
    text_clear(&bytes);
    text_add_bytes(&bytes, good.data, ends[2] - 1);
    while (bytes.data[bytes.length - 1] != '\n')
        bytes.length--;
    size_t before = bytes.length;
    text_add_bytes(&bytes, good.data + ends[2], ends[3] - ends[2]);
    assert_reopened(&bytes, 1, before - ends[1] + ends[3] - ends[2], "r-2");
    /* the same run once more: the newest word counts */
    text_clear(&bytes);
    text_add_bytes(&bytes, good.data, ends[2]);
    text_add_bytes(&bytes, good.data + ends[1], ends[2] - ends[1]);
    assert_reopened(&bytes, 2, 0, "");
    text_release(&bytes);
    text_release(&good);
}

/* Looks at "looked" with these bytes: whole runs, where they end, what is said of the rest. */
static void assert_looked(const char *data, size_t length, size_t whole, uint64_t end,
                          const char *words)
{
    struct whole_runs found;
    struct text why = TEXT_INIT;
    assert_int_equal(file_replace("looked/rows.csv", data, length, &why), 0);
    if (whole_runs_read("looked", true, NULL, &found, &why) != 0)
        fail_msg("%s", text_string(&why));
    assert_int_equal(found.done.count, whole);
    assert_int_equal(found.end, end);
    assert_int_equal(found.damage.length > 0, words[0] != '\0');
    assert_non_null(strstr(text_string(&found.damage), words));
    whole_runs_release(&found);
    struct text after = contents_of("looked/rows.csv");
    assert_int_equal(after.length, length);
    text_release(&after);
}

/* The night again; the folder is made once. */
static struct text make_looked(size_t ends[4])
{
    struct text why = TEXT_INIT;
    if (folder_remove("looked", &why) != 0)
        fail_msg("%s", text_string(&why));
    return make_night("looked", ends);
}

static void looking_tells_of_damage(void **state)
{
    (void)state;
    size_t ends[4];
    struct text good = make_looked(ends);
    assert_looked(good.data, good.length, 3, ends[3], "");
    assert_looked(good.data, ends[0], 0, ends[0], "");
    assert_looked(good.data, good.length - 1, 2, ends[2], "has no newline");
    assert_looked(good.data, ends[0] - 5, 0, 0, "header was cut off");
    good.data[ends[1] + 20] = '\0';
    assert_looked(good.data, good.length, 1, ends[1], "NUL");
    text_release(&good);
}

/* The first columns of ours, as an older version wrote them: looked at, not gone on with. */
static void older_tables_are_looked_at(void **state)
{
    (void)state;
    size_t ends[4];
    struct text good = make_looked(ends), older = TEXT_INIT, why = TEXT_INIT;
    for (const char *line = good.data; *line != '\0';) {
        const char *end = strchr(line, '\n'), *cut = end;
        while (cut[-1] != ',') /* no comma is in the last column */
            cut--;
        text_add_bytes(&older, line, (size_t)(cut - 1 - line));
        text_add_char(&older, '\n');
        line = end + 1;
    }
    assert_looked(older.data, older.length, 3, older.length, "");
    struct results results;
    struct results_reopened reopened;
    assert_int_equal(results_reopen(&results, "looked", NULL, &reopened, &why), RESULTS_FAILED);
    assert_non_null(strstr(text_string(&why), "columns are not ours"));
    text_release(&why);
    text_release(&older);
    text_release(&good);
}

static void a_table_saved_by_another_program(void **state)
{
    (void)state;
    size_t ends[4];
    struct text good = make_looked(ends), crlf = TEXT_INIT, why = TEXT_INIT;
    for (size_t i = 0; i < good.length; i++) {
        if (good.data[i] == '\n')
            text_add_char(&crlf, '\r');
        text_add_char(&crlf, good.data[i]);
    }
    struct whole_runs found;
    assert_int_equal(file_replace("looked/rows.csv", crlf.data, crlf.length, &why), 0);
    assert_int_equal(whole_runs_read("looked", true, NULL, &found, &why), -1);
    assert_non_null(strstr(text_string(&why), "CR LF"));
    text_release(&why);
    text_release(&crlf);
    text_release(&good);
}

/* A run's closing rows with these ranks; `of` is what their cells say of all ranks. */
static void assert_closed(const uint64_t *ranks, size_t count, uint64_t of, size_t whole)
{
    struct text bytes = TEXT_INIT;
    struct row row = ROW_INIT;
    table_add_header(&bytes);
    uint64_t start = bytes.length;
    for (size_t i = 0; i < count; i++) {
        row_set_text(&row, COLUMN_run, "r-1");
        row_set_count(&row, COLUMN_ranks, of);
        row_set_count(&row, COLUMN_rank, ranks[i]);
        row_set_text(&row, COLUMN_phase, "run");
        row_set_status(&row, STATUS_ok);
        table_add_row(&bytes, &row);
    }
    assert_looked(bytes.data, bytes.length, whole, whole > 0 ? bytes.length : start,
                  whole > 0 ? "" : "r-1 has not one closing row of each rank");
    row_release(&row);
    text_release(&bytes);
}

static void each_rank_closes_once(void **state)
{
    (void)state;
    size_t ends[4];
    struct text good = make_looked(ends);
    assert_closed((const uint64_t[]){0, 1, 2}, 3, 3, 1);
    assert_closed((const uint64_t[]){2, 0, 1}, 3, 3, 1);
    assert_closed((const uint64_t[]){0, 0, 1}, 3, 3, 0);
    assert_closed((const uint64_t[]){0, 1, 1}, 3, 3, 0);
    assert_closed((const uint64_t[]){1, 2, 3}, 3, 3, 0);
    assert_closed((const uint64_t[]){0, 1}, 2, 3, 0);
    assert_closed((const uint64_t[]){1}, 1, 1, 0);
    assert_closed((const uint64_t[]){0}, 1, 0, 0);
    text_release(&good);
}

static void reopening_refuses(void **state)
{
    (void)state;
    struct results results = {.folder = NULL};
    struct results_reopened reopened;
    struct text why = TEXT_INIT;
    assert_int_equal(results_reopen(&results, "absent", NULL, &reopened, &why), RESULTS_FAILED);
    assert_non_null(strstr(text_string(&why), "absent/rows.csv"));
    text_clear(&why);
    size_t ends[4];
    struct text good = make_night("other", ends);
    good.data[2] = 'X'; /* another set of columns */
    assert_int_equal(file_replace("other/rows.csv", good.data, good.length, &why), 0);
    assert_int_equal(results_reopen(&results, "other", NULL, &reopened, &why), RESULTS_FAILED);
    assert_non_null(strstr(text_string(&why), "column 1"));
    struct text after = contents_of("other/rows.csv");
    assert_string_equal(text_string(&after), text_string(&good));
    assert_false(results_in_use("other"));
    assert_null(results.folder);
    text_release(&after);
    text_release(&good);
    text_release(&why);
}

static void torn_event_stays_alone(void **state)
{
    (void)state;
    size_t ends[4];
    struct text good = make_night("night", ends), why = TEXT_INIT;
    struct results results;
    struct results_reopened reopened;
    assert_int_equal(file_replace("night/events.log", "torn", 4, &why), 0);
    assert_int_equal(results_reopen(&results, "night", NULL, &reopened, &why), RESULTS_OK);
    assert_int_equal(results_event(&results, &why, "resumed"), 0);
    struct text events = contents_of("night/events.log");
    assert_true(text_starts_with(text_string(&events), "torn\n20"));
    results_reopened_release(&reopened);
    close_well(&results);
    text_release(&events);
    text_release(&good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reopens_after_every_cut),
        cmocka_unit_test(reopens_after_damage),
        cmocka_unit_test(reopening_refuses),
        cmocka_unit_test(torn_event_stays_alone),
        cmocka_unit_test(looking_tells_of_damage),
        cmocka_unit_test(older_tables_are_looked_at),
        cmocka_unit_test(each_rank_closes_once),
        cmocka_unit_test(a_table_saved_by_another_program),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
