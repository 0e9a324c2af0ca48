/* Forecasts from recordings of PyTorch: what larger runs really took, the limit of a card, and
 * what is framed. */
#include "harness/forecast/limit.h"
#include "harness/record/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DATA TEST_DATA "/forecast"
#define MOST 4

struct family {
    struct take takes[MOST];
    size_t count;
    struct script script;
};

static void open_family(struct family *family, const char *name, const uint64_t *values)
{
    struct text why = TEXT_INIT;
    *family = (struct family){.count = 0};
    for (; values[family->count]; family->count++) {
        char *path =
            xasprintf("%s/%s_%" PRIu64 ".trace.csv", DATA, name, values[family->count]);
        if (take_read(path, values[family->count], &family->takes[family->count], &why))
            fail_msg("%s", text_string(&why));
        free(path);
    }
    if (script_find(family->takes, family->count, &family->script, &why))
        fail_msg("%s: %s", name, text_string(&why));
    text_release(&why);
}

static void close_family(struct family *family)
{
    script_release(&family->script);
    for (size_t i = 0; i < family->count; i++)
        take_release(&family->takes[i]);
}

static const struct foretell_setting native = {.allocator = "caching"};

static struct foretold foretell_at(const struct family *family,
                                   const struct foretell_setting *setting, uint64_t value)
{
    struct foretold f;
    struct text why = TEXT_INIT;
    if (foretell(&family->script, setting, value, &f, &why))
        fail_msg("%s", text_string(&why));
    text_release(&why);
    return f;
}

/* --- what PyTorch's counters said --- */

struct truth {
    uint64_t allocated[32], reserved[32];
    size_t phases;
    uint64_t allocated_peak, reserved_peak;
};

static int add_truth(void *user, char **fields, size_t count, uint64_t line)
{
    struct truth *truth = user;
    if (line == 1)
        return 0;
    assert_true(count > 6 && truth->phases < 32);
    const uint64_t allocated = strtoull(fields[3], NULL, 10);
    const uint64_t reserved = strtoull(fields[6], NULL, 10);
    truth->allocated[truth->phases] = allocated;
    truth->reserved[truth->phases++] = reserved;
    if (allocated > truth->allocated_peak)
        truth->allocated_peak = allocated;
    if (reserved > truth->reserved_peak)
        truth->reserved_peak = reserved;
    return 0;
}

static struct truth read_truth(const char *name, uint64_t value)
{
    struct truth truth = {.phases = 0};
    struct text why = TEXT_INIT;
    uint64_t line;
    char *path = xasprintf("%s/%s_%" PRIu64 ".expected.csv", DATA, name, value);
    if (csv_read(path, add_truth, &truth, &line, &why))
        fail_msg("%s", text_string(&why));
    free(path);
    text_release(&why);
    return truth;
}

static const struct {
    const char *name;
    uint64_t values[MOST], at;
} exact[] = {
    {"tb", {2, 3}, 8},        {"tb", {2, 3}, 32},
    {"tb", {2, 8}, 32},       {"tb", {2, 3, 8}, 32},
    {"tc", {512, 768}, 8192}, {"gb", {1, 2}, 16},
    {"mw", {256, 512}, 2048}, {"mw", {256, 512, 768}, 2048},
};

/* The reserved peak to the byte, the allocated one within a thousandth; no interval. */
static void test_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        struct family family;
        open_family(&family, exact[i].name, exact[i].values);
        struct foretold f = foretell_at(&family, &native, exact[i].at);
        const struct truth truth = read_truth(exact[i].name, exact[i].at);
        assert_true(bounds_are_exact(&f.reserved_peak));
        assert_true(bounds_are_exact(&f.allocated_peak));
        assert_int_equal(f.reserved_peak.most.value, truth.reserved_peak);
        const double error =
            (double)f.allocated_peak.most.value / (double)truth.allocated_peak - 1;
        assert_true(error < 0.001 && error > -0.001);
        assert_int_equal(f.phase_count, truth.phases);
        foretold_release(&f);
        close_family(&family);
    }
}

/* Convolutions: the truth lies in an interval that is at most 15 % wide. */
static const struct {
    const char *name;
    uint64_t values[MOST], at;
} framed[] = {
    {"ub", {2, 3, 4}, 16},
    {"ub", {2, 3}, 4},
    {"rb", {16, 32}, 128},
};

static void assert_frames(const struct bounds *range, uint64_t truth, double widest)
{
    assert_true(range->least.known && range->most.known);
    assert_true(range->least.value <= truth && truth <= range->most.value);
    const double width = (double)(range->most.value - range->least.value);
    assert_true(width <= widest * (double)truth);
}

static void test_framed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof framed / sizeof *framed; i++) {
        struct family family;
        open_family(&family, framed[i].name, framed[i].values);
        assert_true(script_is_doubtful(&family.script));
        struct foretold f = foretell_at(&family, &native, framed[i].at);
        const struct truth truth = read_truth(framed[i].name, framed[i].at);
        const double widest = framed[i].values[2] || framed[i].at == 128 ? 0.15 : 0.2;
        assert_frames(&f.reserved_peak, truth.reserved_peak, widest);
        assert_frames(&f.allocated_peak, truth.allocated_peak, widest);
        foretold_release(&f);
        close_family(&family);
    }
}

/* What the 1.2 billion parameters did on a card of 150 GB, from batches 2 and 3. */
#define OUTSIDE UINT64_C(804061184)
static const struct {
    uint64_t value, allocated, reserved;
    bool fits;
} real[] = {
    {13, 102023256064, 111306342400, true},  {15, 116567054336, 128043712512, true},
    {16, 123841312768, 136413446144, true},  {17, 131115046912, 144783179776, true},
    {18, 133405677568, 134238699520, false},
};

static void test_limit(void **state)
{
    (void)state;
    struct foretell_setting setting = native;
    struct family family;
    struct foretold_limit limit;
    struct text why = TEXT_INIT;
    setting.room = reading_of(UINT64_C(150109880320) - OUTSIDE);
    open_family(&family, "l", (const uint64_t[]){2, 3, 0});
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        struct foretold f = foretell_at(&family, &setting, real[i].value);
        assert_int_equal(f.reserved_peak.most.value, real[i].reserved);
        const double error =
            (double)f.allocated_peak.most.value / (double)real[i].allocated - 1;
        assert_true(error < 0.00002 && error > -0.00002);
        assert_int_equal(foretold_fits(&f), real[i].fits);
        assert_int_equal(foretold_refused(&f), !real[i].fits);
        foretold_release(&f);
    }
    assert_int_equal(foretell_limit(&family.script, &setting, &limit, &why), 0);
    assert_int_equal(limit.fits.value, 17);
    assert_int_equal(limit.beyond.value, 18);
    assert_false(limit.most.known || limit.none || limit.endless);
    assert_string_equal(limit.beyond.versions[0].failed_phase, "backward_1");
    assert_int_equal(limit.beyond.versions[0].retries, 1);
    foretold_limit_release(&limit);
    setting.room = reading_of(UINT64_C(10) << 30); /* not even 2 */
    assert_int_equal(foretell_limit(&family.script, &setting, &limit, &why), 0);
    assert_true(limit.none);
    foretold_limit_release(&limit);
    close_family(&family);
    text_release(&why);
}

/* Each from the two others, as a check. */
static void test_check(void **state)
{
    (void)state;
    struct foretold_check checks[MOST];
    struct text why = TEXT_INIT;
    struct family family;
    open_family(&family, "mw", (const uint64_t[]){256, 512, 768, 0});
    assert_int_equal(foretell_check(family.takes, family.count, &native, checks, &why), 0);
    for (size_t i = 0; i < family.count; i++) {
        assert_null(checks[i].refused);
        assert_true(bounds_are_exact(&checks[i].reserved));
        assert_int_equal(checks[i].reserved.most.value, checks[i].true_reserved.value);
        assert_int_equal(checks[i].allocated.most.value, checks[i].true_allocated);
        assert_string_equal(checks[i].phase, checks[i].true_phase);
        foretold_check_release(&checks[i]);
    }
    close_family(&family);
    text_release(&why);
}

/* Two programs, or a value that is wrong, are told from one. */
static void test_other_programs(void **state)
{
    static const struct {
        const char *one, *other;
    } pairs[] = {{"tb_2", "gb_2"}, {"ub_2", "rb_16"},  {"rb_16", "ub_2"},
                 {"tb_2", "l_3"},  {"mw_256", "tb_3"}, {"l_2", "tb_3"}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct take takes[2];
        struct script script;
        struct text why = TEXT_INIT;
        char *one = xasprintf("%s/%s.trace.csv", DATA, pairs[i].one);
        char *other = xasprintf("%s/%s.trace.csv", DATA, pairs[i].other);
        assert_int_equal(take_read(one, 2, &takes[0], &why), 0);
        assert_int_equal(take_read(other, 3, &takes[1], &why), 0);
        if (script_find(takes, 2, &script, &why) == 0)
            fail_msg("%s and %s are taken for one program", pairs[i].one, pairs[i].other);
        assert_true(why.length > 0);
        take_release(&takes[0]);
        take_release(&takes[1]);
        free(one);
        free(other);
        text_release(&why);
    }
}

/* --- polynomials --- */

static void assert_fit(const uint64_t *values, const uint64_t *numbers, size_t count,
                       uint64_t at, uint64_t expected, bool checked)
{
    struct polynomial p;
    uint64_t number = 0;
    assert_true(polynomial_fit(values, numbers, count, &p));
    assert_int_equal(polynomial_at(&p, at, &number), POLYNOMIAL_OK);
    assert_int_equal(number, expected);
    assert_int_equal(p.checked, checked);
}

static void test_polynomials(void **state)
{
    static const uint64_t two[] = {2, 3}, three[] = {2, 3, 4}, wide[] = {256, 512, 768};
    struct polynomial p;
    uint64_t number = 7;
    (void)state;
    assert_fit(two, (const uint64_t[]){5, 5}, 2, 100, 5, true);
    assert_fit(two, (const uint64_t[]){20, 30}, 2, 100, 1000, true);
    assert_fit(two, (const uint64_t[]){25, 35}, 2, 100, 1005, false);
    assert_fit(two, (const uint64_t[]){40, 90}, 2, 10, 1000, true); /* 10 x^2 */
    assert_fit(two, (const uint64_t[]){10, 20}, 2, 10, 90, false);  /* 10 (x - 1) */
    assert_fit(three, (const uint64_t[]){25, 35, 45}, 3, 100, 1005, true);
    assert_fit(three, (const uint64_t[]){30, 20, 10}, 3, 5, 0, true);
    assert_fit(three, (const uint64_t[]){7, 12, 19}, 3, 10, 103, true); /* x^2 + 3 */
    assert_fit(wide, (const uint64_t[]){1048576, 4194304, 9437184}, 3, 2048, 67108864, true);
    assert_false(polynomial_fit(two, (const uint64_t[]){30, 20}, 2, &p));
    assert_false(polynomial_fit(two, (const uint64_t[]){10, 100}, 2, &p));
    assert_false(polynomial_fit(three, (const uint64_t[]){10, 30, 40}, 3, &p));
    assert_true(polynomial_fit(three, (const uint64_t[]){30, 20, 10}, 3, &p));
    assert_int_equal(polynomial_at(&p, 6, &number), POLYNOMIAL_NEGATIVE);
    assert_true(polynomial_fit((const uint64_t[]){2, 4}, (const uint64_t[]){5, 10}, 2, &p));
    assert_int_equal(polynomial_at(&p, 5, &number), POLYNOMIAL_FRACTION);
    assert_true(
        polynomial_fit(two, (const uint64_t[]){UINT64_C(2) << 58, UINT64_C(3) << 58}, 2, &p));
    assert_int_equal(polynomial_at(&p, 100, &number), POLYNOMIAL_TOO_LARGE);
    assert_int_equal(number, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),          cmocka_unit_test(test_framed),
        cmocka_unit_test(test_limit),          cmocka_unit_test(test_check),
        cmocka_unit_test(test_other_programs), cmocka_unit_test(test_polynomials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
