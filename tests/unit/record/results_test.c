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

static void creates_the_folder(void **state)
{
    (void)state;
    struct results results = create_well("deep/er/night///");
    assert_string_equal(results.folder, "deep/er/night");
    assert_int_equal(entries_of("deep/er"), 1);
    assert_int_equal(entries_of("deep/er/night"), 5);
    struct text study = contents_of("deep/er/night/study.ini");
    struct text rows = contents_of("deep/er/night/rows.csv"), header = TEXT_INIT;
    table_add_header(&header);
    assert_string_equal(text_string(&study), "[study]\n");
    assert_string_equal(text_string(&rows), text_string(&header));
    close_well(&results);
    results = create_well("d/e/night");
    close_well(&results);
    text_release(&study);
    text_release(&rows);
    text_release(&header);
}

/* What a driver left that died while it created its folder is in nobody's way. */
static void leftovers_are_passed_by(void **state)
{
    (void)state;
    struct text why = TEXT_INIT, path = TEXT_INIT;
    text_setf(&path, "passed.new-%ld-0/inner", (long)getpid());
    assert_int_equal(folder_make(text_string(&path), &why), 0);
    struct results results = create_well("passed");
    assert_true(file_exists(text_string(&path)));
    assert_int_equal(entries_of("passed"), 5);
    close_well(&results);
    text_release(&path);
}

static void refuses_what_exists(void **state)
{
    (void)state;
    struct results results = {.folder = NULL};
    struct text why = TEXT_INIT;
    assert_int_equal(mkdir("there", 0777), 0);
    assert_int_equal(create(&results, "there", &why), RESULTS_EXISTS);
    assert_non_null(strstr(text_string(&why), "there exists"));
    assert_int_equal(entries_of("there"), 0);
    assert_int_equal(symlink("absent", "dangling"), 0);
    assert_int_equal(create(&results, "dangling", &why), RESULTS_EXISTS);
    assert_int_equal(file_create("file", "", 0, &why), 0);
    assert_int_equal(create(&results, "file", &why), RESULTS_EXISTS);
    assert_int_equal(create(&results, "file/below", &why), RESULTS_FAILED);
    assert_null(results.folder);
    text_release(&why);
}

static void one_driver_per_folder(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    int pipe_fd[2];
    assert_int_equal(pipe(pipe_fd), 0);
    pid_t driver = fork();
    if (driver == 0) {
        struct results held = create_well("locked");
        ssize_t told = write(pipe_fd[1], "x", 1);
        pause();
        _exit(told == 1 && held.rows_fd >= 0 ? 0 : 1);
    }
    char byte;
    assert_int_equal(read(pipe_fd[0], &byte, 1), 1);
    struct results results;
    struct results_reopened reopened;
    assert_int_equal(symlink("locked", "other-name"), 0);
    static const char *const names[] = {"locked", "other-name", "./locked/../locked/"};
    for (size_t i = 0; i < 3; i++) {
        assert_true(results_in_use(names[i]));
        enum results_outcome outcome =
            results_reopen(&results, names[i], NULL, &reopened, &why);
        assert_int_equal(outcome, RESULTS_IN_USE);
        assert_int_equal(create(&results, names[i], &why), RESULTS_IN_USE);
        assert_non_null(strstr(text_string(&why), "in use"));
        text_clear(&why);
    }
    kill(driver, SIGKILL);
    assert_int_equal(waitpid(driver, NULL, 0), driver);
    assert_false(results_in_use("locked"));
    assert_int_equal(create(&results, "locked", &why), RESULTS_EXISTS);
    assert_int_equal(results_reopen(&results, "other-name", NULL, &reopened, &why), RESULTS_OK);
    assert_true(results_in_use("locked"));
    results_reopened_release(&reopened);
    close_well(&results);
    assert_false(results_in_use("locked"));
    assert_false(results_in_use("absent"));
    close(pipe_fd[0]);
    close(pipe_fd[1]);
    text_release(&why);
}

/* Many at once: one makes the folder, the others are told. */
static void one_of_many_creates(void **state)
{
    (void)state;
    pid_t drivers[8];
    int made = 0;
    for (int i = 0; i < 8; i++)
        if ((drivers[i] = fork()) == 0) {
            struct results results;
            struct text why = TEXT_INIT;
            enum results_outcome outcome = create(&results, "race/night", &why);
            bool told = outcome == RESULTS_EXISTS || outcome == RESULTS_IN_USE;
            _exit(outcome == RESULTS_OK ? 1 : told && why.length > 0 ? 0 : 2);
        }
    for (int i = 0; i < 8; i++) {
        int status;
        assert_int_equal(waitpid(drivers[i], &status, 0), drivers[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        made += WEXITSTATUS(status);
    }
    assert_int_equal(made, 1);
    assert_int_equal(entries_of("race"), 1);
    assert_int_equal(entries_of("race/night"), 5);
}

/* In a child, with files limited to `limit` bytes. 0: as the check wanted. */
static int with_full_disk(rlim_t limit, int (*check)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit});
        _exit(check());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int create_in_full(void)
{
    struct results results;
    struct text why = TEXT_INIT;
    enum results_outcome outcome = create(&results, "new/full/night", &why);
    bool told = strstr(text_string(&why), "new/full/night") != NULL;
    text_release(&why);
    if (outcome == RESULTS_OK)
        close_well(&results);
    return outcome == RESULTS_OK ? 1 : outcome == RESULTS_FAILED && told ? 0 : 2;
}

/* Whatever byte is the one too many: nothing is left, not even the folders above. */
static void full_disk_leaves_nothing(void **state)
{
    (void)state;
    struct text why = TEXT_INIT, header = TEXT_INIT;
    table_add_header(&header);
    int failures = 0, status = 0;
    for (rlim_t limit = 0; status == 0 && limit < 100000; limit += limit < 12 ? 1 : 311) {
        status = with_full_disk(limit, create_in_full);
        failures += status == 0;
        if (status == 0 && file_exists("new"))
            fail_msg("something is left behind at %llu bytes", (unsigned long long)limit);
    }
    assert_int_equal(WEXITSTATUS(status), 1); /* until all of it fits */
    assert_true(failures > 12 + (int)(header.length / 311));
    assert_int_equal(folder_remove("new", &why), 0);
    text_release(&header);
}

static int append_in_full(void)
{
    struct results results;
    struct results_reopened reopened;
    struct text why = TEXT_INIT;
    struct run_rows rows = make_run("r-2", 2, STATUS_ok);
    if (results_reopen(&results, "append", NULL, &reopened, &why) != RESULTS_OK)
        return 2;
    int failed = results_append(&results, rows.row, ROWS, &why);
    bool told = strstr(text_string(&why), "append/rows.csv") != NULL;
    close_well(&results);
    return failed == 0 ? 1 : told ? 0 : 3;
}

static void full_disk_cuts_the_append(void **state)
{
    (void)state;
    struct results results = create_well("append");
    append(&results, "r-1", 1, STATUS_ok);
    uint64_t one = results.rows_bytes;
    close_well(&results);
    struct text before = contents_of("append/rows.csv");
    int status = 0;
    for (rlim_t limit = one; status == 0; limit += 97) {
        status = with_full_disk(limit, append_in_full);
        struct text after = contents_of("append/rows.csv");
        if (status == 0)
            assert_string_equal(text_string(&after), text_string(&before));
        else
            assert_true(after.length > before.length);
        text_release(&after);
    }
    assert_int_equal(WEXITSTATUS(status), 1);
    text_release(&before);
}

static void foreign_hands_are_noticed(void **state)
{
    (void)state;
    struct results results = create_well("hands");
    struct run_rows rows = make_run("r-1", 1, STATUS_ok);
    struct text why = TEXT_INIT;
    append(&results, "r-0", 1, STATUS_ok);
    assert_int_equal(truncate("hands/rows.csv", 10), 0);
    assert_int_equal(results_append(&results, rows.row, ROWS, &why), -1);
    assert_non_null(strstr(text_string(&why), "changed by someone else"));
    text_clear(&why);
    assert_int_equal(unlink("hands/rows.csv"), 0);
    assert_int_equal(results_append(&results, rows.row, ROWS, &why), -1);
    assert_non_null(strstr(text_string(&why), "removed by someone else"));
    for (int i = 0; i < ROWS; i++)
        row_release(&rows.row[i]);
    close_well(&results);
    text_release(&why);
}

static void events_and_run_folders(void **state)
{
    (void)state;
    struct results results = create_well("events");
    struct text why = TEXT_INIT;
    assert_int_equal(results_event(&results, &why, "run %s: %s", "r-1", "a\nb"), 0);
    assert_int_equal(results_event(&results, &why, "end"), 0);
    struct text events = contents_of("events/events.log");
    assert_int_equal(events.length, 2 * 21 - 1 + strlen("run r-1: a\\nb") + strlen("end") + 1);
    assert_non_null(strstr(text_string(&events), " run r-1: a\\nb\n"));
    char *run = results_run_folder(&results, "r-1", &why);
    assert_string_equal(run, "events/runs/r-1");
    assert_int_equal(file_create("events/runs/r-1/shard-0", "old", 3, &why), 0);
    free(run);
    run = results_run_folder(&results, "r-1", &why);
    assert_int_equal(entries_of(run), 0); /* made empty */
    free(run);
    static const char *const bad[] = {"", ".", "..", "../x", "a/b", NULL};
    for (size_t i = 0; bad[i] != NULL; i++)
        assert_null(results_run_folder(&results, bad[i], &why));
    close_well(&results);
    text_release(&events);
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creates_the_folder),
        cmocka_unit_test(leftovers_are_passed_by),
        cmocka_unit_test(refuses_what_exists),
        cmocka_unit_test(one_driver_per_folder),
        cmocka_unit_test(one_of_many_creates),
        cmocka_unit_test(full_disk_leaves_nothing),
        cmocka_unit_test(full_disk_cuts_the_append),
        cmocka_unit_test(foreign_hands_are_noticed),
        cmocka_unit_test(events_and_run_folders),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
