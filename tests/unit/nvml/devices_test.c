#include "harness/nvml/devices.h"
#include "harness/nvml/seat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Two unlike cards in PCI order; NVML's indices are turned on purpose. */
static const struct nvml_device two[] = {
    {.index = 1, .name = "Slow", .uuid = "GPU-8932f937-d72c", .pci = "00000000:17:00.0"},
    {.index = 0, .name = "Fast", .uuid = "GPU-89aabbcc-0001", .pci = "00000000:3B:00.0"},
};
static const struct nvml_device alike[] = {
    {.index = 0, .name = "Same", .uuid = "GPU-1", .pci = "00000000:17:00.0"},
    {.index = 1, .name = "Same", .uuid = "GPU-2", .pci = "00000000:3B:00.0"},
};
/* A card cut in two, then a whole one. */
static const struct nvml_device cut[] = {
    {.index = 0, .name = "A", .uuid = "GPU-a", .pci = "00000000:17:00.0", .partitioned = true},
    {.index = 0, .name = "A", .uuid = "MIG-1", .pci = "00000000:17:00.0", .parent = "GPU-a"},
    {.index = 0, .name = "A", .uuid = "MIG-2", .pci = "00000000:17:00.0", .parent = "GPU-a"},
    {.index = 1, .name = "A", .uuid = "GPU-b", .pci = "00000000:3B:00.0"},
};

struct question {
    const struct nvml_device *all;
    size_t count;
    const char *visible, *order, *wanted;
};

static void add_uuids(const struct nvml_device *chosen, size_t count, struct text *answer)
{
    struct seat seats[8] = {{.shared = false}};
    assert_in_range(count, 1, 8);
    for (size_t i = 0; i < count; i++)
        seats[i].card = chosen[i];
    seats_mark_shared(seats, count);
    for (size_t i = 0; i < count; i++)
        text_addf(answer, "%s%s%s", i > 0 ? " " : "", seats[i].card.uuid,
                  seats[i].shared ? "*" : "");
}

/* The UUIDs chosen, with * behind shared ones, or "refused: " and the reason. */
static void ask(const struct question *question, struct text *answer)
{
    struct nvml_device *chosen = NULL;
    size_t count = 0;
    struct text why = TEXT_INIT;
    text_clear(answer);
    if (devices_choose(question->all, question->count, question->visible, question->order,
                       question->wanted, &chosen, &count, &why) != 0) {
        assert_true(why.length > 0);
        text_addf(answer, "refused: %s", text_string(&why));
    } else {
        add_uuids(chosen, count, answer);
    }
    free(chosen);
    text_release(&why);
}

static void assert_chosen(const struct question *question, const char *wanted)
{
    struct text answer = TEXT_INIT;
    ask(question, &answer);
    assert_string_equal(text_string(&answer), wanted);
    text_release(&answer);
}

static void assert_refused(const struct question *question, const char *reason)
{
    struct text answer = TEXT_INIT;
    ask(question, &answer);
    assert_true(text_starts_with(text_string(&answer), "refused: "));
    assert_non_null(strstr(text_string(&answer), reason));
    text_release(&answer);
}

#define SLOW "GPU-8932f937-d72c"
#define FAST "GPU-89aabbcc-0001"

static void visible_is_read_as_cuda_reads_it(void **state)
{
    (void)state;
    static const struct {
        const char *visible, *chosen; /* NULL: no device */
    } cases[] = {
        {NULL, SLOW " " FAST},
        {"", NULL},
        {" ", NULL},
        {"-1", NULL},
        {"0,-1,1", SLOW},
        {"0,0", NULL},
        {"0,1,0", NULL},
        {"1gpu2,0x", FAST " " SLOW},
        {"GPU-8932f9", SLOW},
        {"GPU-89", NULL}, /* the beginning of both */
        {"GPU-8932f937-d72c,0", SLOW},
        {"0,GPU-89aabbcc-0001", SLOW},
        {"GPU-89aa,GPU-8932", FAST " " SLOW},
        {"GPU-89aa,GPU-89aabbcc-0001", NULL},
        {"7", NULL},
        {"1,7,0", FAST},
        {" 0 , 1 ", SLOW " " FAST},
        {"1,0", FAST " " SLOW},
        {"+1", FAST},
        {"x", NULL},
        {"1,,0", FAST},
        {"99999999999999999999", NULL},
        {"18446744073709551616", NULL}, /* not 0 */
        {"NoDevFiles", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct question question = {two, 2, cases[i].visible, NULL, "all"};
        if (cases[i].chosen != NULL)
            assert_chosen(&question, cases[i].chosen);
        else
            assert_refused(&question, "no device is visible");
    }
}

static void wanted_is_in_pci_order_and_visible(void **state)
{
    (void)state;
    assert_chosen(&(struct question){two, 2, NULL, NULL, "0"}, SLOW);
    assert_chosen(&(struct question){two, 2, NULL, NULL, "1, 0"}, FAST " " SLOW);
    assert_chosen(&(struct question){two, 2, "1,0", NULL, "0"},
                  SLOW); /* not the list's first */
    assert_chosen(&(struct question){two, 2, NULL, NULL, "GPU-89aa"}, FAST);
    assert_chosen(&(struct question){two, 2, NULL, NULL, "1,1,0"}, FAST "* " FAST "* " SLOW);
    assert_refused(&(struct question){two, 2, "1", NULL, "0"}, "outside CUDA_VISIBLE_DEVICES");
    assert_refused(&(struct question){two, 2, NULL, NULL, "2"}, "no device 2");
    assert_refused(&(struct question){two, 2, NULL, NULL, "GPU-89"}, "GPU-89");
    assert_refused(&(struct question){two, 2, NULL, NULL, "one"}, "neither");
    assert_refused(&(struct question){two, 2, NULL, NULL, "0,"}, "neither");
    assert_refused(&(struct question){two, 2, NULL, NULL, "-1"}, "neither");
    assert_refused(&(struct question){two, 0, NULL, NULL, "all"}, "knows no device");
}

static void numbers_mean_nothing_where_the_fastest_is_first(void **state)
{
    (void)state;
    assert_chosen(&(struct question){two, 2, "1", NULL, "all"}, FAST);
    assert_chosen(&(struct question){two, 2, "1", "PCI_BUS_ID", "all"}, FAST);
    assert_refused(&(struct question){two, 2, "1", "FASTEST_FIRST", "all"}, "FASTEST_FIRST");
    assert_refused(&(struct question){two, 2, NULL, "FASTEST_FIRST", "0"}, "FASTEST_FIRST");
    assert_chosen(&(struct question){two, 2, NULL, "FASTEST_FIRST", "all"}, SLOW " " FAST);
    assert_chosen(&(struct question){two, 2, FAST, "FASTEST_FIRST", "all"}, FAST);
    assert_chosen(&(struct question){alike, 2, "1", "FASTEST_FIRST", "all"}, "GPU-2");
}

static void slices_stand_for_a_card_that_is_cut(void **state)
{
    (void)state;
    assert_chosen(&(struct question){cut, 4, NULL, NULL, "all"}, "MIG-1 MIG-2 GPU-b");
    assert_chosen(&(struct question){cut, 4, "MIG-2", NULL, "all"}, "MIG-2");
    assert_chosen(&(struct question){cut, 4, "0", NULL, "all"}, "MIG-1");
    assert_chosen(&(struct question){cut, 4, "1", NULL, "all"}, "GPU-b");
    assert_chosen(&(struct question){cut, 4, NULL, NULL, "1"}, "GPU-b");
    assert_refused(&(struct question){cut, 1, "0", NULL, "all"}, "no device is visible");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visible_is_read_as_cuda_reads_it),
        cmocka_unit_test(wanted_is_in_pci_order_and_visible),
        cmocka_unit_test(numbers_mean_nothing_where_the_fastest_is_first),
        cmocka_unit_test(slices_stand_for_a_card_that_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
