/* When a card is another: what is told and different, beyond what may move by itself. */
#include "harness/record/card_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

static void card(struct row *row)
{
    row_set_text(row, COLUMN_device_uuid, "GPU-a");
    row_set_count(row, COLUMN_device_capacity_bytes, 80 * GIB);
    row_set_count(row, COLUMN_nvml_reserved_bytes, GIB / 2);
    row_set_text(row, COLUMN_ecc, "on");
    row_set_text(row, COLUMN_mig, "off");
    row_set_text(row, COLUMN_driver_version, "580.1");
}

static void shows(struct card_facts *facts, const struct row *row, const char *wanted)
{
    struct text difference = TEXT_INIT;
    bool changed = card_facts_take(facts, row, &difference);
    assert_string_equal(text_string(&difference), wanted);
    assert_true(changed == (wanted[0] != '\0'));
    text_release(&difference);
}

static void each_fact_counts(void **state)
{
    (void)state;
    struct card_facts facts = {.known = ROW_INIT};
    struct row row = ROW_INIT;
    card(&row);
    shows(&facts, &row, "");
    shows(&facts, &row, "");
    row_set_text(&row, COLUMN_device_uuid, "GPU-b");
    shows(&facts, &row, "device_uuid GPU-a is now GPU-b");
    row_set_count(&row, COLUMN_device_capacity_bytes, 80 * GIB - 1);
    shows(&facts, &row, "device_capacity_bytes 85899345920 is now 85899345919");
    row_set_text(&row, COLUMN_ecc, "off");
    row_set_text(&row, COLUMN_mig, "on");
    shows(&facts, &row, "ecc on is now off, mig off is now on");
    row_set_text(&row, COLUMN_driver_version, "590.1");
    shows(&facts, &row, "driver_version 580.1 is now 590.1");
    row_set_count(&row, COLUMN_nvml_reserved_bytes, GIB);
    shows(&facts, &row, "nvml_reserved_bytes 536870912 is now 1073741824");
    shows(&facts, &row, "");
    row_set_text(&row, COLUMN_host, "h-b"); /* no fact of the card */
    row_set_count(&row, COLUMN_device_used_before_bytes, GIB);
    shows(&facts, &row, "");
    row_release(&row);
    card_facts_release(&facts);
}

/* Somebody who came for good between two nights; not one whom the card was dirty of. */
static void what_others_hold_for_good(void **state)
{
    (void)state;
    struct card_facts facts = {.known = ROW_INIT};
    struct row row = ROW_INIT;
    row_set_count(&row, COLUMN_device_used_before_bytes, GIB);
    shows(&facts, &row, "");
    row_set_count(&row, COLUMN_device_used_before_bytes, GIB + 64 * MIB);
    shows(&facts, &row, "");
    row_set_count(&row, COLUMN_device_used_before_bytes, 60 * GIB);
    row_set_status(&row, STATUS_dirty);
    shows(&facts, &row, "");
    row_set_status(&row, STATUS_ok);
    shows(&facts, &row, "device_used_before_bytes 1073741824 is now 64424509440");
    shows(&facts, &row, "");
    row_release(&row);
    card_facts_release(&facts);
}

/* A rank that said nothing is no change, and what was known before it still is. */
static void silence_is_no_change(void **state)
{
    (void)state;
    struct card_facts facts = {.known = ROW_INIT};
    struct row row = ROW_INIT, silent = ROW_INIT;
    card(&row);
    row_clear(&row, COLUMN_ecc);
    shows(&facts, &silent, "");
    shows(&facts, &row, "");
    shows(&facts, &silent, "");
    row_set_text(&row, COLUMN_ecc, "off"); /* told for the first time */
    shows(&facts, &row, "");
    shows(&facts, &silent, "");
    row_set_text(&row, COLUMN_ecc, "on");
    shows(&facts, &row, "ecc off is now on");
    row_release(&row);
    card_facts_release(&facts);
}

/* What the driver keeps for itself moves a little; creeping is seen when it is much. */
static void the_reserve_may_move_a_little(void **state)
{
    (void)state;
    struct card_facts facts = {.known = ROW_INIT};
    struct row row = ROW_INIT;
    card(&row);
    shows(&facts, &row, "");
    row_set_count(&row, COLUMN_nvml_reserved_bytes, 552 * MIB);
    shows(&facts, &row, "");
    row_set_count(&row, COLUMN_nvml_reserved_bytes, 500 * MIB);
    shows(&facts, &row, "");
    row_set_count(&row, COLUMN_nvml_reserved_bytes, 576 * MIB);
    shows(&facts, &row, "");
    row_set_count(&row, COLUMN_nvml_reserved_bytes, 577 * MIB);
    shows(&facts, &row, "nvml_reserved_bytes 536870912 is now 605028352");
    row_release(&row);
    card_facts_release(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fact_counts),
        cmocka_unit_test(silence_is_no_change),
        cmocka_unit_test(what_others_hold_for_good),
        cmocka_unit_test(the_reserve_may_move_a_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
