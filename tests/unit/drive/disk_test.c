/* Disks that fail in any call a driver makes: the study stops before its next launch and names
 * the file, rows that were written stay, and going on ends with the table of a quiet night. */
#include "harness/command/folder_view.h"
#include "reports/report_text.h"
#include "tests/unit/drive/disk_faults.h"
#include "tests/unit/drive/sweep_bed.h"

#include <errno.h>

#define NIGHT "disk/night"
#define TAKES_ROOM (CALL_CREATE | CALL_WRITE | CALL_SYNC | CALL_CLOSE | CALL_RENAME)
#define CHANGES (CALL_CREATE | CALL_WRITE | CALL_SYNC | CALL_RENAME | CALL_REMOVE | CALL_CUT)
#define ANY (TAKES_ROOM | CHANGES | CALL_OPEN | CALL_READ | CALL_LOCK)

static const struct disk_fault ways[] = {
    {.calls = ANY, .error = EIO},
    {.calls = TAKES_ROOM, .error = EDQUOT},
    {.calls = TAKES_ROOM, .error = ENOSPC, .stays = true},
    {.calls = CALL_WRITE, .error = ENOSPC, .stays = true, .half = true},
    {.calls = CHANGES, .error = EROFS, .stays = true},
};
#define WAYS (sizeof ways / sizeof ways[0])

/* Three runs, the second of which runs out of memory and leaves its folder. */
static const char one_run[] = "[sweep batch]\nvalues = 2\n";
static const char all_runs[] = "[sweep batch]\nvalues = 2, 60000, 4\n";

static void clear(const char *folder)
{
    struct text why = TEXT_INIT;
    if (folder_remove(folder, &why) != 0)
        fail_msg("%s", text_string(&why));
}

/* Sweeps all runs while a call fails. */
static struct swept sweep_broken(const struct disk_fault *fault, bool resume,
                                 struct disk_story *story)
{
    disk_arm(fault);
    struct sweep_request request = {.resume = resume};
    struct swept swept = sweep_on(all_runs, NIGHT, request, "a");
    *story = disk_disarm();
    return swept;
}

/* Whoever only looks for another driver goes on without an answer: the lock comes later. */
static bool is_harmless(const struct disk_story *story)
{
    return strcmp(story->what, "open " NIGHT "/rows.csv") == 0;
}

static void assert_stopped(const struct disk_fault *fault, const struct disk_story *story,
                           const struct swept *swept)
{
    const char *why = text_string(&swept->why), *slash = strrchr(story->what, '/');
    if (story->unsynced)
        fail_msg("launched before everything was synced");
    if (swept->outcome == SWEEP_DONE && is_harmless(story))
        return;
    bool told = strstr(why, strerror(fault->error)) != NULL ||
                (fault->half && strstr(why, "disk full?") != NULL);
    if (swept->outcome != SWEEP_FAILED || !told || strstr(why, "disk") == NULL ||
        strstr(why, slash != NULL ? slash + 1 : "disk") == NULL)
        fail_msg("%s: outcome %d: %s", story->what, swept->outcome, why);
    if (story->launches != story->launches_at_fault)
        fail_msg("%s: %d launches behind it", story->what,
                 story->launches - story->launches_at_fault);
}

/* The table is whole and begins as that of the quiet night does; a tear is owned up to. */
static void assert_intact(const struct disk_story *story, const struct swept *swept,
                          const struct text *quiet)
{
    struct text facts = TEXT_INIT, why = TEXT_INIT;
    struct table_reading reading;
    if (table_read(NIGHT "/rows.csv", false, add_deterministic, &facts, &reading, &why) != 0)
        fail_msg("%s: %s", story->what, text_string(&why));
    if (!text_starts_with(text_string(quiet), text_string(&facts)))
        fail_msg("%s: other rows", story->what);
    if (reading.torn && strstr(text_string(&swept->why), "cannot be cut off again") == NULL)
        fail_msg("%s: torn: %s", story->what, text_string(&reading.reason));
    text_release(&reading.reason);
    text_release(&facts);
}

static void goes_on(const struct disk_story *story, const struct text *quiet)
{
    struct sweep_request request = {.resume = file_exists(NIGHT)};
    struct swept swept = sweep_on(all_runs, NIGHT, request, "a");
    if (swept.outcome != SWEEP_DONE)
        fail_msg("after %s: %s", story->what, text_string(&swept.why));
    struct text facts = facts_of(NIGHT "/rows.csv");
    if (strcmp(text_string(&facts), text_string(quiet)) != 0)
        fail_msg("after %s: another table", story->what);
    text_release(&facts);
    forget(&swept);
}

static struct text quiet_night(void)
{
    clear("quiet");
    ends(all_runs, "quiet", FRESH, SWEEP_DONE, 3, "");
    return facts_of("quiet/rows.csv");
}

static void each_call_of_a_new_study(void **state)
{
    (void)state;
    struct text quiet = quiet_night();
    for (size_t way = 0; way < WAYS; way++) {
        struct disk_fault fault = ways[way];
        struct disk_story story = {.fired = true};
        while (story.fired) {
            fault.at++;
            clear("disk");
            struct swept swept = sweep_broken(&fault, false, &story);
            if (story.fired)
                assert_stopped(&fault, &story, &swept);
            else
                assert_int_equal(swept.outcome, SWEEP_DONE);
            if (file_exists(NIGHT))
                assert_intact(&story, &swept, &quiet);
            else if (file_exists("disk") && fault.error != EROFS)
                fail_msg("%s: something is left", story.what);
            goes_on(&story, &quiet);
            forget(&swept);
        }
        assert_true(fault.at > (fault.half ? 20 : 80)); /* the calls are counted at all */
    }
    text_release(&quiet);
}

/* A study of one run that has grown since, with a torn tail, a torn event, and a second run
 * that had ended. */
static void tear(const struct text *rows, size_t length)
{
    struct text shard = contents_of("quiet/runs/r-batch-60000-t1/shard.0"), why = TEXT_INIT;
    clear("disk");
    ends(one_run, NIGHT, FRESH, SWEEP_DONE, 1, "");
    assert_int_equal(folder_make(NIGHT "/runs/r-batch-60000-t1", &why), 0);
    write_file(NIGHT "/runs/r-batch-60000-t1/shard.0", shard.data, shard.length);
    text_release(&shard);
    write_file(NIGHT "/rows.csv", rows->data, length);
    write_file(NIGHT "/events.log", "torn", 4);
}

/* The first run's rows are in their place, the tail is there or kept under another name. */
static void assert_nothing_lost(const struct disk_story *story, const struct text *rows,
                                size_t first, size_t length)
{
    struct text now = contents_of(NIGHT "/rows.csv");
    bool whole = now.length >= length && memcmp(now.data, rows->data, length) == 0;
    if (now.length < first || memcmp(now.data, rows->data, first) != 0)
        fail_msg("%s: rows were lost", story->what);
    for (int number = 1; !whole && number < 3; number++) {
        char name[40];
        snprintf(name, sizeof name, NIGHT "/rows.cut-%d.csv", number);
        struct text aside = file_exists(name) ? contents_of(name) : (struct text)TEXT_INIT;
        whole = aside.length == length - first &&
                memcmp(aside.data, rows->data + first, aside.length) == 0;
        text_release(&aside);
    }
    if (!whole)
        fail_msg("%s: the tail was lost", story->what);
    text_release(&now);
}

static void each_call_of_a_resumed_study(void **state)
{
    (void)state;
    struct text quiet = quiet_night();
    clear("disk");
    ends(one_run, NIGHT, FRESH, SWEEP_DONE, 1, "");
    struct text one = contents_of(NIGHT "/rows.csv"), rows = contents_of("quiet/rows.csv");
    size_t length = one.length + (rows.length - one.length) / 3;
    assert_memory_equal(one.data, rows.data, 100);
    text_release(&one);
    const char *first_end = strstr(rows.data, "r-batch-60000-t1");
    while (*--first_end != '\n')
        ;
    size_t first = (size_t)(first_end - rows.data) + 1;
    for (size_t way = 0; way < WAYS; way++) {
        struct disk_fault fault = ways[way];
        struct disk_story story = {.fired = true};
        while (story.fired) {
            fault.at++;
            tear(&rows, length);
            struct swept swept = sweep_broken(&fault, true, &story);
            if (story.fired)
                assert_stopped(&fault, &story, &swept);
            else
                assert_non_null(
                    strstr(text_string(&swept.said), "taken over: r-batch-60000-t1"));
            assert_nothing_lost(&story, &rows, first, length);
            goes_on(&story, &quiet);
            forget(&swept);
        }
        assert_true(fault.at > (fault.half ? 10 : 50));
    }
    text_release(&rows);
    text_release(&quiet);
}

/* --- a file system without locks --- */

static void assert_unlocked(bool resume, int error)
{
    const struct disk_fault fault = {
        .calls = CALL_LOCK | CALL_ASK, .at = 1, .error = error, .stays = true};
    struct disk_story story;
    struct swept swept = sweep_broken(&fault, resume, &story);
    const char *why = text_string(&swept.why);
    if (swept.outcome != SWEEP_FAILED || story.launches != 0 ||
        strstr(why, "cannot lock " NIGHT "/rows.csv: ") == NULL ||
        strstr(why, strerror(error)) == NULL || strstr(why, "keeps no locks") == NULL)
        fail_msg("outcome %d, %d launches: %s", swept.outcome, story.launches, why);
    forget(&swept);
}

static void without_locks_nothing_is_begun(void **state)
{
    (void)state;
    static const int errors[] = {ENOLCK, EOPNOTSUPP, EINVAL, ENOSYS};
    struct text quiet = quiet_night(), rows = contents_of("quiet/rows.csv");
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        clear("disk");
        assert_unlocked(false, errors[i]);
        assert_false(file_exists("disk"));
        tear(&rows, rows.length - 10);
        struct stat before, after;
        assert_int_equal(stat(NIGHT, &before), 0);
        assert_unlocked(true, errors[i]);
        assert_int_equal(stat(NIGHT, &after), 0);
        assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
        struct text now = contents_of(NIGHT "/rows.csv");
        assert_int_equal(now.length, rows.length - 10);
        assert_memory_equal(now.data, rows.data, now.length);
        text_release(&now);
    }
    text_release(&rows);
    text_release(&quiet);
}

static void without_locks_it_is_looked_at(void **state)
{
    (void)state;
    struct folder_view view;
    struct text why = TEXT_INIT, report = TEXT_INIT;
    clear("disk");
    ends(all_runs, NIGHT, FRESH, SWEEP_DONE, 3, "");
    disk_arm(&(struct disk_fault){
        .calls = CALL_LOCK | CALL_ASK, .at = 1, .error = ENOLCK, .stays = true});
    if (folder_view_open(&view, NIGHT, &why) != 0 ||
        report_text(NIGHT "/rows.csv", NULL, &report, &why) != 0)
        fail_msg("%s", text_string(&why));
    assert_true(disk_disarm().fired);
    assert_int_equal(view.made, 3);
    assert_int_equal(view.left, 0);
    assert_false(view.in_use);
    assert_non_null(strstr(text_string(&report), "60000"));
    folder_view_close(&view);
    text_release(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_of_a_new_study),
        cmocka_unit_test(each_call_of_a_resumed_study),
        cmocka_unit_test(without_locks_nothing_is_begun),
        cmocka_unit_test(without_locks_it_is_looked_at),
    };
    return cmocka_run_group_tests(tests, enter, leave_folder);
}
