/* What makes two studies the same (case 75). */
#include "harness/study/compare.h"
#include "harness/study/study_options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD                                                                                   \
    "[study]\nname=n\nquestion=q\nworkload=dense\ntrials=2\n[device]\nbackend=simulated\n"     \
    "capacity=80GiB\n"
#define PLAIN HEAD "[sweep batch]\nvalues=1,2,4\n[input a]\ncontext=64\n"

static void parse(const char *bytes, const char *set, struct study *study)
{
    const char *const sets[] = {set};
    struct text text = TEXT_INIT, errors = TEXT_INIT;
    text_add(&text, bytes);
    if (study_parse("F", &text, sets, set ? 1 : 0, study, &errors) != 0)
        fail_msg("%s", text_string(&errors));
    text_release(&text);
    text_release(&errors);
}

static void check(const char *other, const char *set, enum study_change wanted,
                  const char *words)
{
    struct study a, b;
    struct text difference = TEXT_INIT;
    parse(PLAIN, NULL, &a);
    parse(other, set, &b);
    enum study_change change = study_compare(&a, &b, &difference);
    if (change != wanted || strcmp(text_string(&difference), words) != 0)
        fail_msg("%s: %d: %s", set ? set : other, (int)change, text_string(&difference));
    assert_true((strcmp(a.hash, b.hash) == 0) == (wanted == STUDY_SAME));
    study_release(&a);
    study_release(&b);
    text_release(&difference);
}

static void test_same(void **state)
{
    (void)state;
    check(PLAIN, NULL, STUDY_SAME, "");
    check("; a comment\n" PLAIN, NULL, STUDY_SAME, "");
    check("[input a]\ncontext=64\n[sweep batch]\n  values = 1:4:x2 ; c\n" HEAD, NULL,
          STUDY_SAME, "");
    check(PLAIN, "device.capacity=85899345920", STUDY_SAME, "");
    check(PLAIN, "study.timeout=10m", STUDY_SAME, "");
    check(PLAIN, "point.context=2048", STUDY_SAME, "");
    check(PLAIN, "launch.allow_root=yes", STUDY_SAME, "");
}

static void test_grown(void **state)
{
    (void)state;
    check(PLAIN, "sweep batch.values=1,2,4,8,16", STUDY_GROWN,
          "sweep batch: 2 values new, first 8\n");
    check(PLAIN, "sweep batch.values=4,2,3,1", STUDY_GROWN,
          "sweep batch: 1 value new, first 3\n");
    check(PLAIN, "study.trials=3", STUDY_GROWN, "study.trials: 2 is now 3\n");
    check(PLAIN, "sweep width.values=64", STUDY_GROWN, "sweep width: 1 value new, first 64\n");
    check(PLAIN "[input b]\n", NULL, STUDY_GROWN, "input b: new\n");
    check(PLAIN, "study.timeout=60s", STUDY_GROWN, "study.timeout: 10m is now 1m\n");
    check(PLAIN, "study.question=why?", STUDY_GROWN, "study.question: q is now why?\n");
    check(PLAIN, "study.order=shuffled", STUDY_GROWN, "study.order: listed is now shuffled\n");
}

static void test_other(void **state)
{
    (void)state;
    check(PLAIN, "sweep batch.values=1,2", STUDY_OTHER, "sweep batch: 1 value gone, first 4\n");
    check(PLAIN, "sweep batch.values=1,2,8", STUDY_OTHER,
          "sweep batch: 1 value gone, first 4\nsweep batch: 1 value new, first 8\n");
    check(PLAIN, "study.trials=1", STUDY_OTHER, "study.trials: 2 is now 1\n");
    check(PLAIN, "input a.context=128", STUDY_OTHER, "input a.context: another value\n");
    check(HEAD "[sweep batch]\nvalues=1,2,4\n", NULL, STUDY_OTHER, "input a: gone\n");
    check(PLAIN, "point.repeats=3", STUDY_OTHER, "point.repeats: 5 is now 3\n");
    check(PLAIN, "device.capacity=24GiB", STUDY_OTHER,
          "device.capacity: 85899345920 is now 25769803776\n");
    check(PLAIN, "device.fault=warmup:oom", STUDY_OTHER,
          "device.fault: nothing is now warmup:oom\n");
    check(PLAIN, "identity.model_revision=b", STUDY_OTHER,
          "identity.model_revision: nothing is now b\n");
    /* a fixed value of [point] changes every sweep, and the inputs that inherit it */
    check(PLAIN, "point.width=64", STUDY_OTHER,
          "point.width: 4096 is now 64\ninput a.width: another value\n");
}

/* Boundaries, which a study file may not have yet. */
static void test_boundaries(void **state)
{
    (void)state;
    static const struct study_boundary kinds[] = {
        {.dimension = DIMENSION_batch, .from = 1, .to = 64, .step = 1, .confirm = 2},
        {.dimension = DIMENSION_batch, .from = 1, .to = 128, .step = 1, .confirm = 2},
        {.dimension = DIMENSION_batch, .from = 1, .to = 64, .step = 1, .confirm = 3},
        {.dimension = DIMENSION_batch, .from = 2, .to = 64, .step = 1, .confirm = 2},
        {.dimension = DIMENSION_batch, .from = 1, .to = 64, .step = 2, .confirm = 2},
    };
    static const enum study_change wanted[] = {STUDY_SAME, STUDY_GROWN, STUDY_GROWN,
                                               STUDY_OTHER, STUDY_OTHER};
    struct study a, b;
    struct text difference = TEXT_INIT;
    parse(PLAIN, NULL, &a);
    parse(PLAIN, NULL, &b);
    b.boundaries = xmalloc(sizeof *b.boundaries);
    b.boundaries[0] = kinds[0];
    b.boundary_count = 1;
    assert_int_equal(study_compare(&a, &b, &difference), STUDY_GROWN);
    assert_int_equal(study_compare(&b, &a, &difference), STUDY_OTHER);
    a.boundaries = xmalloc(sizeof *a.boundaries);
    a.boundaries[0] = kinds[0];
    a.boundary_count = 1;
    for (size_t i = 0; i < 5; i++) {
        b.boundaries[0] = kinds[i];
        assert_int_equal(study_compare(&a, &b, &difference), wanted[i]);
    }
    study_release(&a);
    study_release(&b);
    text_release(&difference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_grown),
        cmocka_unit_test(test_other),
        cmocka_unit_test(test_boundaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
