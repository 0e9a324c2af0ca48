#include "harness/setting/dimension.h"
#include "harness/record/row.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void assert_cell(const struct row *row, enum column column, const char *wanted)
{
    struct text out = TEXT_INIT;
    row_format_cell(row, column, &out);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
}

static void columns_are_those_of_the_contract(void **state)
{
    (void)state;
    assert_string_equal(column_facts[0].name, "evidence");
    assert_int_equal(column_find("schema"), COLUMNS - 1);
    assert_int_equal(column_find("allocated_peak_bytes"), COLUMN_allocated_peak_bytes);
    assert_int_equal(column_find(""), -1);
    assert_int_equal(column_find("allocated_peak"), -1);
    for (int i = 0; i < COLUMNS; i++) {
        assert_int_equal(column_find(column_facts[i].name), i);
        assert_true(strlen(column_facts[i].definition) > 5);
    }
    assert_true(column_facts[COLUMN_allocated_peak_bytes].deterministic);
    assert_false(column_facts[COLUMN_started_utc].deterministic);
    assert_int_equal(status_find("oom"), STATUS_oom);
    assert_int_equal(status_find("OOM"), -1);
    assert_int_equal(dimension_find("sequences"), DIMENSION_sequences);
    assert_int_equal(dimension_find("repeats"), -1);
}

static void missing_is_an_empty_cell(void **state)
{
    (void)state;
    struct row row = ROW_INIT;
    for (enum column column = 0; column < COLUMNS; column++)
        assert_cell(&row, column, "");
    assert_false(row_count(&row, COLUMN_batch).known);
    assert_null(row_text(&row, COLUMN_error));
    assert_int_equal(row_status(&row), -1);
    row_set_count(&row, COLUMN_batch, 0);
    assert_cell(&row, COLUMN_batch, "0");
    assert_true(row_count(&row, COLUMN_batch).known);
    row_set_reading(&row, COLUMN_batch, reading_missing());
    assert_cell(&row, COLUMN_batch, "");
    row_set_text(&row, COLUMN_error, "x");
    row_set_text(&row, COLUMN_error, "y");
    row_set_text(&row, COLUMN_error, "");
    assert_null(row_text(&row, COLUMN_error));
    row_set_text(&row, COLUMN_error, "z");
    row_set_text(&row, COLUMN_error, NULL);
    assert_null(row_text(&row, COLUMN_error));
    row_set_real(&row, COLUMN_result_value, NAN);
    assert_cell(&row, COLUMN_result_value, "");
    row_set_real(&row, COLUMN_result_value, -INFINITY);
    assert_cell(&row, COLUMN_result_value, "");
    row_release(&row);
}

static void texts_are_one_clean_line(void **state)
{
    (void)state;
    struct row row = ROW_INIT;
    row_set_text(&row, COLUMN_error, "a \\ b\t日本");
    assert_string_equal(row_text(&row, COLUMN_error), "a \\ b\t日本");
    row_set_text(&row, COLUMN_error, "a\nb");
    assert_string_equal(row_text(&row, COLUMN_error), "a\\nb");
    row_set_text(&row, COLUMN_error, "a\u202e");
    assert_string_equal(row_text(&row, COLUMN_error), "a\\xe2\\x80\\xae");
    row_set_text(&row, COLUMN_error, "a\xff");
    assert_string_equal(row_text(&row, COLUMN_error), "a\\xff");
    row_set_escaped(&row, COLUMN_error, "abc\0def\n", 8);
    assert_string_equal(row_text(&row, COLUMN_error), "abc\\0def\\n");
    char flood[5000];
    memset(flood, '\n', sizeof flood);
    flood[0] = 'x';
    row_set_escaped(&row, COLUMN_error, flood, sizeof flood);
    assert_int_equal(strlen(row_text(&row, COLUMN_error)), 499); /* no half escape */
    row_release(&row);
}

static void status_and_fits(void **state)
{
    (void)state;
    struct row row = ROW_INIT;
    row_set_text(&row, COLUMN_phase, "prefill");
    row_set_status(&row, STATUS_ok);
    assert_null(row_text(&row, COLUMN_fits)); /* phases never say it */
    assert_false(row_is_closing(&row));
    row_set_text(&row, COLUMN_phase, "run");
    assert_true(row_is_closing(&row));
    row_set_status(&row, STATUS_ok);
    assert_string_equal(row_text(&row, COLUMN_fits), "yes");
    row_set_status(&row, STATUS_oom);
    assert_string_equal(row_text(&row, COLUMN_fits), "no");
    row_set_status(&row, STATUS_timeout);
    assert_null(row_text(&row, COLUMN_fits));
    assert_int_equal(row_status(&row), STATUS_timeout);
    for (int i = 0; i < STATUSES; i++)
        assert_true((status_facts[i].judged == FITS_YES) == (i == STATUS_ok));
    row_release(&row);
}

static void copies_and_fills(void **state)
{
    (void)state;
    struct row a = ROW_INIT, b = ROW_INIT;
    row_set_text(&a, COLUMN_error, "a's");
    row_set_count(&a, COLUMN_batch, 1);
    row_set_text(&b, COLUMN_error, "b's");
    row_set_text(&b, COLUMN_warning, "b's");
    row_set_count(&b, COLUMN_context, 2);
    row_fill(&a, &b);
    assert_string_equal(row_text(&a, COLUMN_error), "a's");
    assert_string_equal(row_text(&a, COLUMN_warning), "b's");
    assert_cell(&a, COLUMN_context, "2");
    row_copy(&b, &a);
    assert_string_equal(row_text(&b, COLUMN_error), "a's");
    assert_ptr_not_equal(row_text(&b, COLUMN_error), row_text(&a, COLUMN_error));
    row_copy(&b, &b);
    assert_cell(&b, COLUMN_batch, "1");
    row_release(&a);
    row_release(&b);
    struct point point = {.value = {[DIMENSION_batch] = {4, true}}};
    row_set_count(&a, COLUMN_width, 7);
    point_to_row(&point, &a);
    assert_cell(&a, COLUMN_batch, "4");
    assert_cell(&a, COLUMN_width, ""); /* a dimension that the point does not have */
    row_release(&a);
}

static void whole_numbers_are_plain(void **state)
{
    (void)state;
    struct row row = ROW_INIT;
    row_set_real(&row, COLUMN_result_value, 883847160); /* a digest: 8.8384716e+08 is shorter */
    assert_cell(&row, COLUMN_result_value, "883847160");
    row_set_real(&row, COLUMN_result_value, -4e9);
    assert_cell(&row, COLUMN_result_value, "-4000000000");
    row_set_real(&row, COLUMN_result_value, 0.0625);
    assert_cell(&row, COLUMN_result_value, "0.0625");
    row_set_real(&row, COLUMN_result_value, 1e22);
    assert_cell(&row, COLUMN_result_value, "1e+22");
    row_release(&row);
}

static void cells_come_back(void **state)
{
    (void)state;
    static const double reals[] = {0,         0.1,     -0.1,    1.0 / 3, 1e22,
                                   -2.5e-300, DBL_MAX, DBL_MIN, 5e-324,  123456789.125};
    struct row row = ROW_INIT, back = ROW_INIT;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        struct text out = TEXT_INIT;
        row_set_real(&row, COLUMN_result_value, reals[i]);
        row_format_cell(&row, COLUMN_result_value, &out);
        assert_int_equal(row_parse_cell(&back, COLUMN_result_value, out.data, out.length), 0);
        assert_true(back.cell[COLUMN_result_value].real == reals[i]);
        text_release(&out);
    }
    assert_int_equal(row_parse_cell(&back, COLUMN_batch, "18446744073709551615", 20), 0);
    assert_true(row_count(&back, COLUMN_batch).value == UINT64_MAX);
    assert_int_equal(row_parse_cell(&back, COLUMN_batch, "", 0), 0);
    assert_false(row_count(&back, COLUMN_batch).known);
    assert_int_equal(row_parse_cell(&back, COLUMN_error, "=1,\"x\"", 6), 0);
    assert_string_equal(row_text(&back, COLUMN_error), "=1,\"x\"");
    assert_int_equal(row_parse_cell(&back, COLUMN_error, "abcdef", 3), 0);
    assert_string_equal(row_text(&back, COLUMN_error), "abc");
    row_release(&row);
    row_release(&back);
}

static void ill_typed_cells_are_refused(void **state)
{
    (void)state;
    static const char *const counts[] = {"-1",  "+1", "01", "1.0", "1e3",
                                         " 1",  "1 ", "x",  "0x1", "18446744073709551616",
                                         "nan", NULL};
    static const char *const reals[] = {"nan",   "inf", "-",     ".5",  "5.",
                                        "0x1p3", "1e",  "1e+",   " 1",  "1 ",
                                        "+1",    "1,5", "1e999", "--1", NULL};
    struct row row = ROW_INIT;
    row_set_count(&row, COLUMN_batch, 42);
    row_set_real(&row, COLUMN_result_value, 42);
    row_set_text(&row, COLUMN_error, "old");
    for (size_t i = 0; counts[i] != NULL; i++)
        assert_int_equal(row_parse_cell(&row, COLUMN_batch, counts[i], strlen(counts[i])), -1);
    for (size_t i = 0; reals[i] != NULL; i++)
        assert_int_equal(row_parse_cell(&row, COLUMN_result_value, reals[i], strlen(reals[i])),
                         -1);
    assert_int_equal(row_parse_cell(&row, COLUMN_batch, "1\0002", 3), -1);
    assert_int_equal(row_parse_cell(&row, COLUMN_result_value, "1\0002", 3), -1);
    assert_int_equal(row_parse_cell(&row, COLUMN_error, "a\0b", 3), -1);
    assert_int_equal(row_parse_cell(&row, COLUMN_error, "a\nb", 3), -1);
    assert_int_equal(row_parse_cell(&row, COLUMN_error, "a\xff", 2), -1);
    assert_cell(&row, COLUMN_batch, "42");
    assert_cell(&row, COLUMN_result_value, "42");
    assert_cell(&row, COLUMN_error, "old");
    row_release(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_those_of_the_contract),
        cmocka_unit_test(missing_is_an_empty_cell),
        cmocka_unit_test(texts_are_one_clean_line),
        cmocka_unit_test(status_and_fits),
        cmocka_unit_test(copies_and_fills),
        cmocka_unit_test(whole_numbers_are_plain),
        cmocka_unit_test(cells_come_back),
        cmocka_unit_test(ill_typed_cells_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
