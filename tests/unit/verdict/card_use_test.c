#include "harness/verdict/card_use.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define GIB ((uint64_t)1 << 30)
#define BESIDE ((uint64_t)623706112) /* context and libraries, as seen on a card */
#define CAPACITY (140 * GIB)

static const struct card_use quiet = {.watched = true};

static bool moved(const struct card_use *use, const struct phase_record *record,
                  const char *wanted)
{
    struct text what = TEXT_INIT;
    bool result = card_use_moved(use, record, &what);
    assert_string_equal(text_string(&what), wanted);
    text_release(&what);
    return result;
}

static const struct phase_record silence = {.hello = ROW_INIT};

static void before_and_after(void **state)
{
    (void)state;
    struct card_use use = quiet;
    assert_false(moved(&use, &silence, ""));
    use.before = reading_of(GIB);
    use.after = reading_of(GIB + CARD_TOLERANCE);
    assert_false(moved(&use, &silence, ""));
    use.after = reading_of(GIB + CARD_TOLERANCE + 1);
    assert_true(moved(&use, &silence, "1073741824 bytes, 1140850689 after it"));
    use.foreign_before = reading_of(2 * GIB);
    use.foreign_after = reading_of(GIB);
    assert_true(moved(&use, &silence, "2147483648 bytes, 1073741824 after it"));
    use.watched = false; /* no card, or the other rank moves as we do */
    assert_false(moved(&use, &silence, ""));
}

static void taken_and_given_back_between_two_looks(void **state)
{
    (void)state;
    struct card_use use = quiet;
    use.foreign_before = use.foreign_after = reading_of(3 * GIB);
    use.others_least = use.others_most = reading_of(3 * GIB);
    assert_false(moved(&use, &silence, ""));
    use.others_least = reading_of(GIB);
    assert_true(moved(&use, &silence, "3221225472 bytes, 1073741824 while it ran"));
    use.others_most = reading_of(33 * GIB);
    assert_true(moved(&use, &silence, "3221225472 bytes, 35433480192 while it ran"));
    use.foreign_before = reading_missing();
    assert_false(moved(&use, &silence, ""));
}

/* --- before a child --- */

static void assert_settles(struct reading used, struct reading baseline, bool late,
                           enum card_use_outcome outcome, const char *wanted)
{
    struct text why = TEXT_INIT;
    assert_int_equal(card_use_settles(used, baseline, late, &why), outcome);
    assert_string_equal(text_string(&why), wanted);
    text_release(&why);
}

static void a_card_settles_or_it_does_not(void **state)
{
    (void)state;
    const struct reading base = reading_of(GIB), near = reading_of(GIB + CARD_TOLERANCE),
                         far = reading_of(GIB + CARD_TOLERANCE + 1);
    for (int late = 0; late < 2; late++) {
        assert_settles(near, base, late, CARD_SETTLED, "");
        assert_settles(reading_of(0), base, late, CARD_SETTLED, ""); /* others went away */
        assert_settles(far, reading_missing(), late, CARD_SETTLED, "");
    }
    assert_settles(far, base, false, CARD_STILL_IN_USE, "");
    assert_settles(far, base, true, CARD_NOT_SETTLED,
                   "1140850689 bytes are in use on the card, 1073741824 were when the study "
                   "began");
}

/* --- what the child itself read --- */

struct told {
    struct row rows[3];
    struct phase_record record;
};

static void start(struct row *row, const char *phase, uint64_t reserved, uint64_t beside)
{
    row_set_text(row, COLUMN_phase, phase);
    row_set_count(row, COLUMN_reserved_start_bytes, reserved);
    row_set_count(row, COLUMN_device_used_start_bytes, reserved + beside);
}

static void end(struct row *row, uint64_t reserved, uint64_t beside)
{
    row_set_count(row, COLUMN_reserved_end_bytes, reserved);
    row_set_count(row, COLUMN_device_used_end_bytes, reserved + beside);
}

static void tell(struct told *told)
{
    *told = (struct told){.record = {.hello = ROW_INIT}};
    start(&told->rows[0], "libraries", 0, BESIDE / 2); /* they are still being loaded */
    end(&told->rows[0], GIB, BESIDE);
    start(&told->rows[1], "model_load", GIB, BESIDE);
    end(&told->rows[1], 20 * GIB, BESIDE + 2097152);
    start(&told->rows[2], "cold_forward", 20 * GIB, BESIDE + 2097152);
    row_set_count(&told->record.hello, COLUMN_device_capacity_bytes, CAPACITY);
    told->record.rows = told->rows;
    told->record.count = 3;
}

static void untell(struct told *told)
{
    for (size_t i = 0; i < 3; i++)
        row_release(&told->rows[i]);
    row_release(&told->record.hello);
}

static void seen_by_the_child(void **state)
{
    (void)state;
    struct told told;
    tell(&told);
    assert_false(moved(&quiet, &told.record, ""));
    end(&told.rows[2], 30 * GIB, BESIDE + 30 * GIB);
    assert_true(moved(&quiet, &told.record, "623706112 bytes, 32835960832 cold_forward"));
    row_clear(&told.rows[2], COLUMN_reserved_end_bytes); /* an allocator without a cache */
    assert_false(moved(&quiet, &told.record, ""));
    end(&told.rows[2], 30 * GIB, BESIDE - CARD_TOLERANCE - 1);
    assert_true(moved(&quiet, &told.record, "623706112 bytes, 556597247 cold_forward"));
    row_set_text(&told.rows[0], COLUMN_phase, "imports"); /* nobody knows when it is done */
    assert_false(moved(&quiet, &told.record, ""));
    untell(&told);
}

static void refused_beside_a_neighbour(void **state)
{
    (void)state;
    struct told told;
    tell(&told);
    row_set_count(&told.rows[2], COLUMN_reserved_peak_bytes, 100 * GIB);
    row_set_count(&told.rows[2], COLUMN_free_bytes_at_failure, 40 * GIB - BESIDE);
    assert_false(moved(&quiet, &told.record, ""));
    row_set_count(&told.rows[2], COLUMN_free_bytes_at_failure, 10 * GIB - BESIDE);
    assert_true(
        moved(&quiet, &told.record, "623706112 bytes, 32835960832 when it was refused"));
    /* It gave its cache back before it failed: more is free than the peak says, by itself. */
    row_set_count(&told.rows[2], COLUMN_free_bytes_at_failure, 70 * GIB);
    assert_false(moved(&quiet, &told.record, ""));
    untell(&told);
}

/* From before the context to the refusal, where processes are not told. */
static void there_before_the_libraries(void **state)
{
    (void)state;
    struct told told;
    struct card_use use = quiet;
    use.before = reading_of(GIB / 4);
    tell(&told);
    row_set_text(&told.record.hello, COLUMN_framework, "highwater");
    assert_false(moved(&use, &told.record, ""));
    end(&told.rows[0], GIB, 60 * GIB + BESIDE);
    assert_true(moved(&use, &told.record, "268435456 bytes, 65048215552 beside the child"));
    row_set_text(&told.record.hello, COLUMN_framework, "torch"); /* may load what it likes */
    told.record.count = 1;
    assert_false(moved(&use, &told.record, ""));
    row_set_text(&told.record.hello, COLUMN_framework, "highwater");
    untell(&told);

    tell(&told); /* refused while the libraries are loaded */
    row_set_text(&told.record.hello, COLUMN_framework, "highwater");
    row_clear(&told.rows[0], COLUMN_reserved_end_bytes);
    row_set_count(&told.rows[0], COLUMN_reserved_peak_bytes, 0);
    row_set_count(&told.rows[0], COLUMN_free_bytes_at_failure, CAPACITY - 79 * GIB);
    told.record.count = 1;
    assert_true(moved(&use, &told.record, "268435456 bytes, 84825604096 beside the child"));
    untell(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_and_after),
        cmocka_unit_test(taken_and_given_back_between_two_looks),
        cmocka_unit_test(a_card_settles_or_it_does_not),
        cmocka_unit_test(seen_by_the_child),
        cmocka_unit_test(refused_beside_a_neighbour),
        cmocka_unit_test(there_before_the_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
