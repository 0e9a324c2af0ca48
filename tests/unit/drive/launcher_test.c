#include "harness/base/capture.h"
#include "harness/drive/childline.h"
#include "harness/drive/launcher.h"
#include "harness/protocol/rank_setting.h"
#include "harness/drive/rundir.h"

#include "harness/base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>
#include <cmocka.h>

static void assert_words(const struct words *words, const char *wanted)
{
    struct text line = TEXT_INIT;
    words_quote(words, &line);
    assert_string_equal(text_string(&line), wanted);
    text_release(&line);
}

static void assert_has(const struct words *words, const char *wanted, bool has)
{
    struct text line = TEXT_INIT;
    words_quote(words, &line);
    if ((strstr(text_string(&line), wanted) != NULL) != has)
        fail_msg("%s %s in: %s", wanted, has ? "is not" : "is", text_string(&line));
    text_release(&line);
}

static void words_survive_a_shell(void **state)
{
    (void)state;
    struct words words = WORDS_INIT;
    words_add(&words, "plain-word_1.0,x=/y");
    words_add(&words, "");
    words_add(&words, "it's");
    words_addf(&words, "%s %d", "two", 2);
    words_add(&words, "a$b`c`\\\"\n");
    assert_words(&words, "plain-word_1.0,x=/y '' 'it'\\''s' 'two 2' 'a$b`c`\\\"\n'");
    words_release(&words);
}

static void settings_of_a_rank_go_there_and_back(void **state)
{
    (void)state;
    struct seat seats[3] = {
        {.card.uuid = "GPU-a", .baseline = reading_of(5), .overhead = 77, .shared = true},
        {.capacity = reading_of(0), .limit = reading_of(6)},
        {.shared = false}};
    const struct rank_setting sent = {.run_folder = (char[]){"/r"},
                                      .live_folder = (char[]){"/l"},
                                      .timeout = 1500000000,
                                      .settle = 0,
                                      .sample = 100000000,
                                      .fault = (char[]){"inputs:kill:1"},
                                      .speaks_phases = true,
                                      .seats = seats,
                                      .ranks = 3};
    struct rank_setting got;
    struct words words = WORDS_INIT;
    struct text why = TEXT_INIT;
    int child = 0;
    words_add(&words, "highwater-rank");
    rank_setting_add_words(&sent, &words);
    assert_has(&words,
               " --seat=uuid=GPU-a,overhead=77,baseline=5,shared=yes --seat=capacity=0,limit=6 "
               "--seat=",
               true);
    words_add(&words, "--");
    words_add(&words, "highwater-workload");
    words_add(&words, "--run-folder=/not-ours");
    words_add(&words, "--seat=limit=1");
    assert_int_equal(rank_setting_read((int)words.count, words.word, &got, &child, &why), 0);
    assert_string_equal(words.word[child], "highwater-workload");
    assert_string_equal(got.run_folder, "/r");
    assert_int_equal(got.timeout, 1500000000);
    assert_int_equal(got.settle, 0);
    assert_true(got.speaks_phases);
    assert_int_equal(got.ranks, 3);
    struct words again = WORDS_INIT; /* what was read says the same words once more */
    words_add(&again, "highwater-rank");
    rank_setting_add_words(&got, &again);
    assert_int_equal(again.count + 1, (size_t)child);
    for (size_t i = 0; i < again.count; i++)
        assert_string_equal(again.word[i], words.word[i]);
    words_release(&again);
    rank_setting_release(&got);
    words_release(&words);
    text_release(&why);
}

/* Each lacks what the first has, or has what nothing reads. */
static void a_rank_refuses_other_settings(void **state)
{
    (void)state;
    static const char *const lines[][4] = {
        {"--live-folder=/l", "--seat=", "--", "child"},
        {"--run-folder=/r", "--live-folder=/l", "--seat=", "--"},
        {"--run-folder=/r", "--live-folder=/l", "--", "child"},
        {"--run-folder=/r", "--live-folder=/l", "--seat=uuid", "child"},
        {"--run-folder=/r", "--live-folder=/l", "--seat=size=5", "child"},
        {"--run-folder=/r", "--live-folder=/l", "--seat=limit=5,,", "child"},
        {"--run-folder=/r", "--live-folder=/l", "--seat=capacity=x", "child"},
        {"--no-such=1", "--live-folder=/l", "--seat=", "child"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct words words = WORDS_INIT;
        struct text why = TEXT_INIT;
        struct rank_setting got;
        int child = 0;
        words_add(&words, "highwater-rank");
        for (size_t k = 0; k < 4; k++)
            words_add(&words, lines[i][k]);
        if (i >= 3) {
            words_add(&words, "--");
            words_add(&words, "child");
        }
        if (rank_setting_read((int)words.count, words.word, &got, &child, &why) == 0)
            fail_msg("line %zu was taken", i);
        assert_true(why.length > 0);
        words_release(&words);
        text_release(&why);
    }
}

static void a_fault_may_be_of_one_rank(void **state)
{
    (void)state;
    const struct {
        const char *fault;
        uint64_t rank;
        const char *wanted;
    } cases[] = {{"inputs:oom", 5, "inputs:oom"}, {"inputs:oom:1", 1, "inputs:oom"},
                 {"inputs:oom:1", 0, NULL},       {"inputs:exit-3:12", 12, "inputs:exit-3"},
                 {"inputs:exit-3:12", 1, NULL},   {"", 0, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *fault = rank_fault(cases[i].fault, cases[i].rank);
        if (cases[i].wanted == NULL)
            assert_null(fault);
        else
            assert_string_equal(fault, cases[i].wanted);
        free(fault);
    }
}

/* What the contract asks of every launch, and what consent alone brings. */
static void the_command_line_of_a_launch(void **state)
{
    (void)state;
    char program[] = "/bin/highwater-rank", mpirun[] = "/bin/mpirun";
    struct launcher launcher = {.rank_program = program, .mpirun = mpirun};
    struct words rank = WORDS_INIT, environment = WORDS_INIT, words = WORDS_INIT;
    words_add(&rank, "--run-folder=/r");
    const struct launch launch = {
        .ranks = 4, .run_folder = "/r", .live_folder = "/l", .rank_words = &rank};
    unsetenv("OMPI_MCA_pml");
    launcher_command(&launcher, &launch, &environment, &words);
    assert_string_equal(words.word[0], "/bin/mpirun");
    assert_has(&words, "--noprefix", true);
    assert_has(&words, "--oversubscribe", true);
    assert_has(&words, "--bind-to none", true);
    assert_has(&words, "--mca pml ob1", true);
    assert_has(&words, "--mca orte_tmpdir_base /l", true);
    assert_has(&words, "--mca btl_vader_backing_directory /l", true);
    assert_has(&words, "-n 4 /bin/highwater-rank --run-folder=/r", true);
    assert_has(&words, "enable-recovery", false);
    assert_has(&words, "allow-run-as-root", false);
    assert_has(&environment, "ALLOW_RUN_AS_ROOT", false);
    assert_has(&environment, "HWLOC_SYNTHETIC=", true);
    assert_has(&environment, "HWLOC_COMPONENTS", false); /* it cancels the other */
    words_release(&environment);
    words_release(&words);
    launcher.allow_root = true;
    setenv("OMPI_MCA_pml", "ucx", 1);
    launcher_command(&launcher, &launch, &environment, &words);
    assert_has(&words, "pml", false); /* the user's choice */
    assert_has(&environment, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", geteuid() == 0);
    unsetenv("OMPI_MCA_pml");
    words_release(&environment);
    words_release(&words);
    words_release(&rank);
}

static void programs_are_found_as_a_shell_does(void **state)
{
    (void)state;
    char *before = xstrdup(getenv("PATH"));
    char *found = program_find("sh");
    assert_non_null(found);
    assert_int_equal(access(found, X_OK), 0);
    free(found);
    assert_null(program_find("no-such-program-anywhere"));
    assert_null(program_find("/no/such"));
    assert_null(program_find("/etc/passwd")); /* not to be started */
    setenv("PATH", "/nowhere::/also-not", 1);
    assert_null(program_find("sh"));
    setenv("PATH", "/nowhere:/bin", 1);
    found = program_find("sh");
    assert_string_equal(found, "/bin/sh");
    free(found);
    setenv("PATH", before, 1);
    free(before);
}

static void each_run_has_a_folder_of_its_own(struct rundir *rundir)
{
    struct text why = TEXT_INIT;
    struct stat about;
    char *run = rundir_for_run(rundir, 1, &why);
    assert_non_null(run);
    assert_int_equal(stat(run, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);
    assert_null(rundir_for_run(rundir, 1, &why)); /* once only */
    free(run);
    text_release(&why);
}

static void leftovers_go_and_the_living_stay(void **state)
{
    (void)state;
    char parent[] = "/tmp/launcher_test-XXXXXX";
    struct rundir first, second;
    struct text why = TEXT_INIT;
    assert_non_null(mkdtemp(parent));
    assert_int_equal(rundir_open(&first, parent, &why), 0);
    char *base = xstrndup(first.path, (size_t)(strrchr(first.path, '/') - first.path));
    char *stale = xasprintf("%s/highwater-1-stale%ld", base, (long)getpid());
    char *young = xasprintf("%s/highwater-1-young%ld", base, (long)getpid());
    char *foreign = xasprintf("%s/highwater-1-foreign%ld", base, (long)getpid());
    char *inside = xasprintf("%s/deep/er", stale);
    char *lock = xasprintf("%s/lock", stale);
    char *kept = xasprintf("%s/kept", foreign);
    struct utimbuf old = {.actime = 1, .modtime = 1};
    assert_int_equal(folder_make(inside, &why), 0);
    assert_int_equal(folder_make(young, &why), 0);
    assert_int_equal(folder_make(kept, &why), 0); /* a name like ours without our lock */
    assert_int_equal(file_create(lock, "", 0, &why), 0);
    assert_int_equal(utime(stale, &old), 0);
    assert_int_equal(utime(foreign, &old), 0);
    char *others = xasprintf("%s/highwater-1-others%ld", base, (long)getpid());
    char *others_lock = xasprintf("%s/lock", others);
    assert_int_equal(folder_make(others, &why), 0);
    assert_int_equal(file_create(others_lock, "", 0, &why), 0);
    bool given = chown(others, 12345, 12345) == 0; /* root only */
    assert_int_equal(utime(others, &old), 0);
    assert_int_equal(utime(first.path, &old), 0); /* old, but its owner lives */
    assert_int_equal(rundir_open(&second, parent, &why), 0);
    assert_false(file_exists(stale));
    assert_true(file_exists(young));
    assert_true(file_exists(kept));
    assert_true(file_exists(others_lock) == given);
    assert_int_equal(folder_remove(others, &why), 0);
    assert_true(file_exists(first.path));
    assert_string_not_equal(first.path, second.path);
    each_run_has_a_folder_of_its_own(&second);
    char *gone = xstrdup(second.path);
    assert_int_equal(rundir_close(&second, &why), 0);
    assert_false(file_exists(gone));
    assert_int_equal(rundir_close(&first, &why), 0);
    rmdir(young);
    rmdir(kept);
    rmdir(foreign);
    rmdir(parent);
    free(base);
    free(stale);
    free(young);
    free(foreign);
    free(others);
    free(others_lock);
    free(inside);
    free(lock);
    free(kept);
    free(gone);
    text_release(&why);
}

static void a_point_as_the_words_of_a_child(void **state)
{
    (void)state;
    static const char file[] = "[study]\nname=a\nquestion=b\nworkload=dense\n[device]\n"
                               "backend=simulated\ncapacity=1GiB\nallocator=direct\n"
                               "[point]\ndtype=float16\nwarmup=2\nrepeats=4\n"
                               "[sweep batch]\nvalues=3\n";
    struct text bytes = TEXT_INIT, why = TEXT_INIT;
    struct study study;
    struct plan plan;
    struct plan_run run;
    struct words words = WORDS_INIT;
    text_add(&bytes, file);
    if (study_parse("a.ini", &bytes, NULL, 0, &study, &why) != 0)
        fail_msg("%s", text_string(&why));
    assert_int_equal(plan_make(&study, 1, &plan, &why), 0);
    plan_run_at(&plan, 0, &run);
    childline_add(&words, &study, &run);
    assert_string_equal(words.word[0], "highwater-workload");
    assert_string_equal(words.word[1], "dense");
    assert_has(&words, "--batch=3 ", true);
    assert_has(&words, "--context=2048 ", true);
    assert_has(&words, "--generated", false);
    assert_has(&words,
               "--dtype=float16 --warmup=2 --repeats=4 --seed=7 --phases=split "
               "--empty-cache=never --backend=simulated",
               true);
    assert_has(&words, "--ordinal=0 --allocator=direct", true);
    assert_has(&words, "--capacity", false); /* each rank adds its own */
    words_release(&words);
    plan_release(&plan);
    study_release(&study);
    text_release(&bytes);
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_survive_a_shell),
        cmocka_unit_test(settings_of_a_rank_go_there_and_back),
        cmocka_unit_test(a_rank_refuses_other_settings),
        cmocka_unit_test(a_fault_may_be_of_one_rank),
        cmocka_unit_test(the_command_line_of_a_launch),
        cmocka_unit_test(programs_are_found_as_a_shell_does),
        cmocka_unit_test(leftovers_go_and_the_living_stay),
        cmocka_unit_test(a_point_as_the_words_of_a_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
