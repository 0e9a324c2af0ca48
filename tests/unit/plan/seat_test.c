#include "harness/plan/placement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void assert_told(const struct seat *seat, const char *words, const char *environment)
{
    struct words told = WORDS_INIT, shown = WORDS_INIT;
    struct text line = TEXT_INIT;
    seat_add_words(seat, &told);
    words_quote(&told, &line);
    assert_string_equal(text_string(&line), words);
    text_clear(&line);
    seat_add_environment(seat, &shown);
    words_quote(&shown, &line);
    assert_string_equal(text_string(&line), environment);
    words_release(&told);
    words_release(&shown);
    text_release(&line);
}

/* The size of a card is its own to say: its child is told a limit, if there is one. */
static void a_child_is_told_a_limit_or_a_size(void **state)
{
    (void)state;
    const struct reading size = reading_of(500), limit = reading_of(300);
    unsetenv("CUDA_DEVICE_ORDER");
    assert_told(&(struct seat){.capacity = size}, "--capacity=500", "");
    assert_told(&(struct seat){.capacity = size, .overhead = 7}, "--capacity=500 --overhead=7",
                "");
    assert_told(&(struct seat){.card.uuid = "GPU-a", .capacity = size, .overhead = 7},
                "--expect-uuid=GPU-a",
                "CUDA_VISIBLE_DEVICES=GPU-a CUDA_DEVICE_ORDER=PCI_BUS_ID");
    setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
    assert_told(&(struct seat){.card.uuid = "MIG-b", .capacity = size, .limit = limit},
                "--capacity=300 --expect-uuid=MIG-b", "CUDA_VISIBLE_DEVICES=MIG-b");
    unsetenv("CUDA_DEVICE_ORDER");
}

/* A UUID has a fixed room. */
static void a_word_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct seat seat = {.shared = false};
    struct text word = TEXT_INIT, why = TEXT_INIT;
    const size_t most = sizeof seat.card.uuid - 1;
    text_addf(&word, "uuid=%0*d", (int)most, 7);
    assert_int_equal(seat_parse(text_string(&word), &seat, &why), 0);
    assert_int_equal(strlen(seat.card.uuid), most);
    text_add_char(&word, '7');
    assert_int_equal(seat_parse(text_string(&word), &seat, &why), -1);
    assert_true(text_starts_with(text_string(&why), "uuid=0"));
    text_release(&word);
    text_release(&why);
}

static void what_is_usable_is_less_the_overhead(void **state)
{
    (void)state;
    struct seat seat = {.capacity = reading_of(SEAT_ASSUMED_OVERHEAD + 5),
                        .overhead = SEAT_ASSUMED_OVERHEAD};
    assert_true(seat_usable(&seat).known);
    assert_int_equal(seat_usable(&seat).value, 5);
    seat.capacity = reading_of(3); /* never below nothing */
    assert_int_equal(seat_usable(&seat).value, 0);
    seat.capacity = reading_missing();
    assert_false(seat_usable(&seat).known);
}

static void assert_shared(const struct placement *placement, const char *marks)
{
    for (size_t i = 0; i < placement->ranks; i++)
        assert_int_equal(placement->seats[i].shared, marks[i] == '*');
    assert_int_equal(placement->ranks, strlen(marks));
}

/* A card is shared by the ranks that there are, and by those that run at one time. */
static void seats_that_go_share_nothing(void **state)
{
    (void)state;
    static const char *const marks[] = {"-", "--", "*-*", "****"};
    struct study study = {.placement = PLACEMENT_TOGETHER};
    for (uint64_t ranks = 1; ranks <= 5; ranks++) {
        struct seat seats[4] = {{.card.uuid = "GPU-a"},
                                {.card.uuid = "GPU-b"},
                                {.card.uuid = "GPU-a"},
                                {.card.uuid = "GPU-b"}};
        struct placement placement = {.seats = seats, .ranks = 4};
        study.placement = PLACEMENT_ALONE;
        placement_cut(&placement, &study, ranks);
        assert_shared(&placement, &"----"[ranks < 4 ? 4 - ranks : 0]);
        study.placement = PLACEMENT_TOGETHER;
        placement_cut(&placement, &study, ranks);
        assert_shared(&placement, marks[ranks < 4 ? ranks - 1 : 3]);
        struct placement last = placement_of_run(&placement, placement.ranks);
        assert_int_equal(last.ranks, 1);
        assert_ptr_equal(last.seats, &seats[placement.ranks - 1]);
    }
}

static void a_study_says_what_its_seats_are(void **state)
{
    (void)state;
    uint64_t sizes[] = {30, 20};
    struct study study = {.capacity = sizes, .capacities = 2};
    study.setting.backend = BACKEND_SIMULATED;
    study.setting.memory.device.overhead = 7;
    struct placement placement;
    assert_int_equal(placement_ranks(&study), 2);
    placement_configure(&placement, &study, 2);
    assert_int_equal(placement.seats[1].capacity.value, 20);
    assert_int_equal(placement.seats[1].overhead, 7);
    assert_false(placement.seats[1].limit.known);
    assert_false(seat_has_card(&placement.seats[1]));
    placement_close(&placement);
    study.setting.backend = BACKEND_CUDA; /* there they are limits */
    placement_configure(&placement, &study, 2);
    assert_false(placement.seats[0].capacity.known);
    assert_int_equal(placement.seats[0].limit.value, 30);
    placement_close(&placement);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_is_told_a_limit_or_a_size),
        cmocka_unit_test(a_word_that_is_too_long_is_refused),
        cmocka_unit_test(what_is_usable_is_less_the_overhead),
        cmocka_unit_test(seats_that_go_share_nothing),
        cmocka_unit_test(a_study_says_what_its_seats_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
