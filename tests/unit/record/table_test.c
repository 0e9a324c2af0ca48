#include "harness/base/lines.h"
#include "harness/record/table.h"
#include "tests/unit/folder_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void put(const char *path, const char *bytes, size_t length)
{
    struct text why = TEXT_INIT;
    if (file_replace(path, bytes, length, &why) != 0)
        fail_msg("%s", text_string(&why));
}

/* What a reading gave, as the table that would be written from it. */
struct seen {
    struct text rows;
    uint64_t count, stop_after;
};

static bool on_row(void *user, const struct row *row, uint64_t end_offset)
{
    struct seen *seen = user;
    struct text header = TEXT_INIT;
    table_add_header(&header);
    table_add_row(&seen->rows, row);
    assert_true(end_offset == header.length + seen->rows.length);
    text_release(&header);
    return ++seen->count != seen->stop_after;
}

/* Reads "t.csv"; the rows must be the first `rows` of what `good` holds. */
static struct table_reading read_table(bool allow_older, struct seen *seen)
{
    struct table_reading reading;
    struct text why = TEXT_INIT;
    text_clear(&seen->rows);
    seen->count = 0;
    if (table_read("t.csv", allow_older, on_row, seen, &reading, &why) != 0)
        fail_msg("%s", text_string(&why));
    assert_int_equal(why.length, 0);
    assert_true(seen->count == reading.rows);
    return reading;
}

static void assert_not_ours(const char *bytes, size_t length, bool allow_older,
                            const char *words)
{
    struct table_reading reading = {.good_end = 42};
    struct text why = TEXT_INIT;
    struct seen seen = {.rows = TEXT_INIT};
    put("t.csv", bytes, length);
    assert_int_equal(table_read("t.csv", allow_older, on_row, &seen, &reading, &why), -1);
    assert_int_equal(reading.good_end, 42);
    if (strstr(text_string(&why), words) == NULL || strstr(text_string(&why), "t.csv") == NULL)
        fail_msg("neither \"%s\" nor the file in: %s", words, text_string(&why));
    text_release(&why);
}

static void fill(struct row *row, uint64_t number)
{
    row_set_text(row, COLUMN_evidence, "computed");
    row_set_text(row, COLUMN_phase, number % 3 == 2 ? "run" : "prefill");
    row_set_status(row, number % 3 == 2 ? STATUS_oom : STATUS_ok);
    row_set_count(row, COLUMN_trial, number);
    row_set_count(row, COLUMN_allocated_peak_bytes, 13958643712 + number);
    row_set_text(row, COLUMN_error, number % 2 == 0 ? "a \"quoted\", b\\r\\nline2" : "=1+1");
    row_set_real(row, COLUMN_result_value, -0.25 * (double)number);
    row_set_text(row, COLUMN_run, "r-batch-8-t1");
    row_set_text(row, COLUMN_started_utc, "2026-11-29 16:26:30");
    row_set_count(row, COLUMN_schema, ROW_SCHEMA);
}

static void add_good_table(struct text *out, uint64_t rows)
{
    table_add_header(out);
    for (uint64_t i = 0; i < rows; i++) {
        struct row row = ROW_INIT;
        fill(&row, i);
        table_add_row(out, &row);
        row_release(&row);
    }
}

static void writes(void **state)
{
    (void)state;
    struct text out = TEXT_INIT;
    struct row row = ROW_INIT;
    fill(&row, 1);
    table_add_row(&out, &row);
    const char *line = text_string(&out);
    assert_non_null(strstr(line, ",\"'=1+1\","));
    assert_non_null(strstr(line, ",13958643713,"));
    assert_non_null(strstr(line, ",-0.25,"));
    assert_non_null(strstr(line, ",\"2026-11-29 16:26:30\","));
    assert_non_null(strstr(line, ",\"r-batch-8-t1\","));
    assert_true(text_starts_with(line, "\"computed\",,,,,1,,,\"prefill\""));
    text_clear(&out);
    row_set_text(&row, COLUMN_error, "a \"quoted\", b");
    table_add_row(&out, &row);
    assert_non_null(strstr(text_string(&out), ",\"a \"\"quoted\"\", b\","));
    int commas = 0;
    text_clear(&out);
    table_add_header(&out);
    for (size_t i = 0; i < out.length; i++)
        commas += out.data[i] == ',';
    assert_int_equal(commas, COLUMNS - 1);
    assert_true(text_starts_with(text_string(&out), "evidence,study,role,dimension,value,"));
    text_release(&out);
    row_release(&row);
}

static void any_text_comes_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "=1",   "'",     "''", "'=1",         "'''x", "\"",   "\"\"",       ",",    "a,b",
        " x",   "x ",    " ",  "\t",          "1",    "007",  "2026-11-29", "TRUE", "nan",
        "日本", "a\\nb", "\\", "\"x\",\"y\"", "x\"",  "''1'", NULL};
    struct text table = TEXT_INIT;
    struct seen seen = {.rows = TEXT_INIT};
    table_add_header(&table);
    size_t start = table.length;
    for (size_t i = 0; texts[i] != NULL; i++) {
        struct row row = ROW_INIT;
        for (enum column column = 0; column < COLUMNS; column++)
            if (column_facts[column].type == COLUMN_TYPE_TEXT)
                row_set_text(&row, column, texts[i]);
        row_set_status(&row, STATUS_error);
        table_add_row(&table, &row);
        struct row back = ROW_INIT;
        row_release(&back);
        row_release(&row);
    }
    put("t.csv", table.data, table.length);
    struct table_reading reading = read_table(false, &seen);
    assert_false(reading.torn);
    assert_true(reading.good_end == table.length);
    assert_string_equal(text_string(&seen.rows), table.data + start);
    text_release(&seen.rows);
    text_release(&table);
    text_release(&reading.reason);
}

static bool assert_texts(void *user, const struct row *row, uint64_t end_offset)
{
    (void)end_offset;
    assert_string_equal(row_text(row, COLUMN_error), user);
    assert_string_equal(row_text(row, COLUMN_started_utc), user);
    return true;
}

/* Not only the same file again: the very text that was set. */
static void the_guard_is_taken_away(void **state)
{
    (void)state;
    static const char *const texts[] = {"=1", "'", "'x", "1e5", "x", "\"", NULL};
    for (size_t i = 0; texts[i] != NULL; i++) {
        struct text table = TEXT_INIT, why = TEXT_INIT;
        struct row row = ROW_INIT;
        struct table_reading reading;
        row_set_text(&row, COLUMN_error, texts[i]);
        row_set_text(&row, COLUMN_started_utc, texts[i]);
        row_set_status(&row, STATUS_ok);
        table_add_header(&table);
        table_add_row(&table, &row);
        put("t.csv", table.data, table.length);
        char *user = xstrdup(texts[i]);
        assert_int_equal(table_read("t.csv", false, assert_texts, user, &reading, &why), 0);
        assert_true(reading.rows == 1 && !reading.torn);
        free(user);
        row_release(&row);
        text_release(&table);
        text_release(&reading.reason);
    }
}

/* Cut a good file at every byte: never a row too many, never one too few. */
static void every_cut_keeps_the_whole_rows(void **state)
{
    (void)state;
    struct text table = TEXT_INIT;
    struct seen seen = {.rows = TEXT_INIT};
    add_good_table(&table, 6);
    put("t.csv", table.data, table.length);
    for (size_t length = table.length + 1; length-- > 0;) {
        assert_int_equal(truncate("t.csv", (off_t)length), 0);
        size_t whole = 0, lines = 0;
        for (size_t i = 0; i < length; i++)
            if (table.data[i] == '\n') {
                whole = i + 1;
                lines++;
            }
        struct table_reading reading = read_table(false, &seen);
        assert_true(reading.good_end == whole);
        assert_true(reading.rows == (lines > 0 ? lines - 1 : 0));
        assert_true(reading.torn == (length != whole || length == 0));
        assert_true(reading.torn == (reading.reason.length > 0));
        text_release(&reading.reason);
    }
    text_release(&seen.rows);
    text_release(&table);
}

/* A good row, then `bad`, then another good row: only the first counts. */
static void assert_tear(const char *bad, size_t length, const char *words)
{
    struct text table = TEXT_INIT, after = TEXT_INIT;
    struct seen seen = {.rows = TEXT_INIT};
    add_good_table(&table, 1);
    size_t good = table.length;
    text_add_bytes(&table, bad, length);
    struct row row = ROW_INIT;
    fill(&row, 4);
    table_add_row(&table, &row);
    put("t.csv", table.data, table.length);
    struct table_reading reading = read_table(false, &seen);
    if (!reading.torn || reading.good_end != good || reading.rows != 1 ||
        strstr(text_string(&reading.reason), words) == NULL ||
        strstr(text_string(&reading.reason), "line 3 ") == NULL)
        fail_msg("torn %d at %llu (%zu): %s", reading.torn,
                 (unsigned long long)reading.good_end, good, text_string(&reading.reason));
    row_release(&row);
    text_release(&reading.reason);
    text_release(&seen.rows);
    text_release(&table);
    text_release(&after);
}

/* One good row with `from` replaced by `to`. */
static void assert_tear_when(const char *from, const char *to, const char *words)
{
    struct text line = TEXT_INIT, bad = TEXT_INIT;
    struct row row = ROW_INIT;
    fill(&row, 3);
    table_add_row(&line, &row);
    const char *at = strstr(text_string(&line), from);
    assert_non_null(at);
    text_add_bytes(&bad, line.data, (size_t)(at - line.data));
    text_add(&bad, to);
    text_add(&bad, at + strlen(from));
    assert_tear(bad.data, bad.length, words);
    row_release(&row);
    text_release(&line);
    text_release(&bad);
}

static void damaged_rows_are_refused(void **state)
{
    (void)state;
    char hole[4096] = {0};
    assert_tear(hole, sizeof hole, "NUL");
    hole[sizeof hole - 1] = '\n';
    assert_tear(hole, sizeof hole, "NUL");
    assert_tear("\n", 1, "empty");
    assert_tear("x\n", 2, "1 fields");
    assert_tear("2,oom,\"CUDA out of mem", 22, "");
    assert_tear("2,oom,\"CUDA out of3,ok,\"b\"\n", 27, "CSV");
    assert_tear("2,oom,\"CUDA out of\n", 19, "quoted text");
    assert_tear_when("\"ok\"", "\"okay\"", "status");
    assert_tear_when("\"ok\"", "", "status");
    assert_tear_when(",13958643715,", ",13958643715x,", "allocated_peak_bytes");
    assert_tear_when(",13958643715,", ", 13958643715,", "allocated_peak_bytes");
    assert_tear_when(",13958643715,", ",-1,", "allocated_peak_bytes");
    assert_tear_when(",13958643715,", ",1.4E+10,", "allocated_peak_bytes");
    assert_tear_when(",13958643715,", ",13958643715,,", "fields");
    assert_tear_when(",-0.75,", ",nan,", "result_value");
    assert_tear_when(",-0.75,", ",\"-0.75\" ,", "CSV");
    assert_tear_when("\"computed\"", "\"comp\"uted\"", "CSV");
    assert_tear_when("\"computed\"", "comp\"uted", "CSV");
    assert_tear_when("\"computed\"", "\"comp\xff\"", "evidence");
    assert_tear_when(",1\n", ",1\r\n", "carriage return");
    struct text flood = TEXT_INIT;
    for (unsigned i = 0; i < LINE_LONGEST + 10; i++)
        text_add_char(&flood, 'x');
    assert_tear(flood.data, flood.length, "too long");
    text_release(&flood);
}

static void headers(void **state)
{
    (void)state;
    struct text ours = TEXT_INIT;
    struct seen seen = {.rows = TEXT_INIT};
    table_add_header(&ours);
    /* an older one of ours: later columns stay empty */
    const char *last = strrchr(text_string(&ours), ',');
    struct text older = TEXT_INIT;
    text_add_bytes(&older, ours.data, (size_t)(last - ours.data));
    text_add_char(&older, '\n');
    size_t header = older.length;
    for (int i = 0; i < COLUMNS - 1; i++)
        text_addf(&older, "%s%s", i == 0 ? "" : ",",
                  i == COLUMN_status  ? "ok"
                  : i == COLUMN_trial ? "7"
                                      : "");
    text_add_char(&older, '\n');
    put("t.csv", older.data, older.length);
    struct table_reading reading;
    struct text why = TEXT_INIT;
    assert_int_equal(table_read("t.csv", false, on_row, &seen, &reading, &why), -1);
    assert_non_null(strstr(text_string(&why), "schema"));
    text_clear(&why);
    put("t.csv", older.data, header);
    reading = read_table(true, &seen);
    assert_true(!reading.torn && reading.rows == 0 && reading.good_end == header);
    text_release(&reading.reason);

    assert_not_ours("a,b\n", 4, true, "\"a\"");
    assert_not_ours("\n", 1, true, "column 1");
    assert_not_ours("evidence,study,rule\n", 20, true, "column 3 is \"rule\"");
    assert_not_ours("evidence,study,ro\n", 18, true, "\"ro\"");
    assert_not_ours("evidence,stu\0", 13, true, "");
    text_add(&ours, "x");
    ours.data[ours.length - 2] = ',';
    text_add(&ours, "\n");
    assert_not_ours(ours.data, ours.length, true, "\"x\"");
    assert_not_ours("\xef\xbb\xbf"
                    "evidence,study\n",
                    18, true, "column 1");
    assert_int_equal(table_read("absent.csv", true, on_row, &seen, &reading, &why), -1);
    assert_non_null(strstr(text_string(&why), "absent.csv"));
    text_release(&why);
    text_release(&seen.rows);
    text_release(&older);
    text_release(&ours);
}

static void stops_when_asked(void **state)
{
    (void)state;
    struct text table = TEXT_INIT;
    struct seen seen = {.rows = TEXT_INIT, .stop_after = 2};
    add_good_table(&table, 5);
    put("t.csv", table.data, table.length);
    struct table_reading reading = read_table(false, &seen);
    assert_true(reading.rows == 2 && !reading.torn && reading.good_end < table.length);
    text_release(&reading.reason);
    text_release(&seen.rows);
    text_release(&table);
}

static void add_picked(void *user, const struct row *row)
{
    table_add_row(user, row);
}

/* A quote at any byte of the second row costs that row alone. */
static void picks_what_can_be_read(void **state)
{
    (void)state;
    struct text good = TEXT_INIT, header = TEXT_INIT, why = TEXT_INIT;
    add_good_table(&good, 4);
    table_add_header(&header);
    size_t second = (size_t)(strchr(good.data + header.length, '\n') + 1 - good.data);
    const char *third = strchr(good.data + second, '\n') + 1;
    for (char *at = good.data + second; at < third; at++) {
        struct text picked = TEXT_INIT;
        char was = *at;
        *at = '"';
        put("t.csv", good.data, good.length);
        *at = was;
        assert_int_equal(table_pick("t.csv", header.length, add_picked, &picked, &why), 0);
        size_t rest = strlen(third);
        assert_true(picked.length >= rest + second - header.length || was == '\n');
        if (was != '\n') /* there two rows became one line */
            assert_string_equal(picked.data + picked.length - rest, third);
        text_release(&picked);
    }
    text_release(&good);
    text_release(&header);
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes),
        cmocka_unit_test(any_text_comes_back),
        cmocka_unit_test(the_guard_is_taken_away),
        cmocka_unit_test(every_cut_keeps_the_whole_rows),
        cmocka_unit_test(damaged_rows_are_refused),
        cmocka_unit_test(headers),
        cmocka_unit_test(stops_when_asked),
        cmocka_unit_test(picks_what_can_be_read),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
