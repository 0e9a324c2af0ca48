/* Studies whose launches are stood in for (tests/stand_in.c): a finished table is cut at every
 * byte and the study resumed; what is the same study; what is made again. */
#include "harness/protocol/shard.h"
#include "tests/unit/drive/sweep_bed.h"

#ifdef __SANITIZE_ADDRESS__
#define STRIDE 23 /* bytes between two cuts: the sanitizers are slow */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRIDE 23
#endif
#endif
#ifndef STRIDE
#define STRIDE 1
#endif

/* Failures and skipped values, an input, a boundary: cut anywhere, the same again. */
static void cut_at_every_byte(void **state)
{
    (void)state;
    static const char rest[] =
        "after_oom = skip-larger\nphases = whole\n[input one]\n"
        "[sweep batch]\nvalues = 2, 50000, 60000\n[boundary batch]\nto = 100000\n"
        "confirm = 1\n";
    struct swept swept = sweep_on(rest, "cut", FRESH, "a");
    assert_int_equal(swept.outcome, SWEEP_DONE);
    size_t all = swept.made;
    assert_true(all >= 5);
    forget(&swept);
    struct text whole = contents_of("cut/rows.csv"), facts = facts_of("cut/rows.csv");
    for (size_t at = 0; at <= whole.length; at += STRIDE) {
        write_file("cut/rows.csv", whole.data, at);
        swept = sweep_on(rest, "cut", RESUME, "a");
        if (swept.outcome != SWEEP_DONE)
            fail_msg("cut at %zu: %s", at, text_string(&swept.why));
        struct text again = facts_of("cut/rows.csv");
        if (strcmp(text_string(&again), text_string(&facts)) != 0)
            fail_msg("cut at %zu: another table", at);
        assert_true(at < whole.length || swept.made == 0);
        text_release(&again);
        forget(&swept);
        unlink("cut/rows.cut-1.csv");
    }
    text_release(&whole);
    text_release(&facts);
}

static void only_what_is_new(void **state)
{
    (void)state;
    ends("[sweep batch]\nvalues = 1, 2\n", "grown", FRESH, SWEEP_DONE, 2, "");
    ends("[sweep batch]\nvalues = 1, 2\n", "grown", FRESH, SWEEP_EXISTS, 0, "exists already");
    struct stat before, after;
    assert_int_equal(stat("grown/rows.csv", &before), 0);
    ends("; a comment\n[sweep batch]\nvalues = 1:2:+1\n", "grown", RESUME, SWEEP_DONE, 0,
         "nothing to do");
    assert_int_equal(stat("grown/rows.csv", &after), 0);
    assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof before.st_mtim);
    ends("[sweep batch]\nvalues = 1, 2, 4\n[input new]\n", "grown", RESUME, SWEEP_DONE, 2,
         "sweep batch: 1 value new, first 4");
    struct text frozen = contents_of("grown/study.ini");
    assert_non_null(strstr(text_string(&frozen), "1, 2, 4"));
    text_release(&frozen);
    ends("[sweep batch]\nvalues = 1, 2\n[input new]\n", "grown", RESUME, SWEEP_FAILED, 0,
         "sweep batch: 1 value gone, first 4");
    ends("[sweep batch]\nvalues = 1, 2, 4\n[input new]\n", "absent", RESUME, SWEEP_FAILED, 0,
         "not there");
}

static void other_machines(void **state)
{
    (void)state;
    static const char rest[] = "[sweep batch]\nvalues = 1, 2\n";
    ends(rest, "machine", FRESH, SWEEP_DONE, 2, "");
    struct text before = contents_of("machine/rows.csv");
    struct swept swept = sweep_on(rest, "machine", RESUME, "b");
    assert_int_equal(swept.outcome, SWEEP_FAILED);
    assert_non_null(strstr(text_string(&swept.why), "driver_version: \"a\" is now \"b\""));
    forget(&swept);
    struct text after = contents_of("machine/rows.csv");
    assert_string_equal(text_string(&before), text_string(&after));
    /* what one of two nights could not tell is no difference */
    swept = sweep_on(rest, "machine", RESUME, NULL);
    assert_int_equal(swept.outcome, SWEEP_DONE);
    forget(&swept);
    swept = sweep_on(rest, "untold", FRESH, NULL);
    forget(&swept);
    ends(rest, "untold", RESUME, SWEEP_DONE, 0, "nothing to do");
    /* another night's columns */
    struct text other = TEXT_INIT;
    text_add(&other, "extra,");
    text_add_bytes(&other, before.data, before.length);
    write_file("machine/rows.csv", other.data, other.length);
    ends(rest, "machine", RESUME, SWEEP_FAILED, 0, "rows.csv");
    text_release(&after);
    after = contents_of("machine/rows.csv");
    assert_string_equal(text_string(&other), text_string(&after));
    text_release(&before);
    text_release(&after);
    text_release(&other);
}

static void made_again_when_asked(void **state)
{
    (void)state;
    static const char rest[] = "[sweep batch]\nvalues = 2, 60000\n";
    ends(rest, "retry", FRESH, SWEEP_DONE, 2, "");
    ends(rest, "retry", RESUME, SWEEP_DONE, 0, "nothing to do");
    struct sweep_request again = {.resume = true, .retry = 1u << STATUS_oom};
    ends(rest, "retry", again, SWEEP_DONE, 1, "resumed: 1 runs");
    ends(rest, "retry", RESUME, SWEEP_DONE, 0, "nothing to do");
}

/* Values below the failed one are made; what was skipped is made once its reason is gone. */
static void skips_what_is_larger(void **state)
{
    (void)state;
    static const char rest[] =
        "after_oom = skip-larger\n[sweep batch]\nvalues = 2, 60000, 4, 70000, 80000\n";
    ends(rest, "listed", FRESH, SWEEP_DONE, 3, "");
    struct text rows = contents_of("listed/rows.csv");
    assert_non_null(strstr(text_string(&rows), "\"skipped\""));
    assert_non_null(strstr(text_string(&rows), "every run at batch 60000 ran out of memory"));
    text_release(&rows);
    ends(rest, "listed", RESUME, SWEEP_DONE, 0, "nothing to do");
    ends("[sweep batch]\nvalues = 2, 60000, 4, 70000, 80000\n", "listed", RESUME, SWEEP_DONE, 2,
         "study.after_oom: skip-larger is now run-all");
}

static void stops_at_a_failure(void **state)
{
    (void)state;
    struct sweep_request first = {.stop_on_failure = true};
    ends("[sweep batch]\nvalues = 2, 60000, 4\n", "stops", first, SWEEP_FAILED, 2,
         "stopped at the first failure, r-batch-60000-t1");
    ends("[sweep batch]\nvalues = 2, 60000, 4\n", "stops", RESUME, SWEEP_DONE, 1, "");
}

struct change {
    struct text bytes;
    enum column column;
    const char *value;
    bool everywhere; /* else in closing rows only */
};

static bool add_changed(void *user, const struct row *row, uint64_t end)
{
    struct change *change = user;
    struct row copy = ROW_INIT;
    row_copy(&copy, row);
    if (change->everywhere || row_is_closing(row))
        assert_int_equal(
            row_parse_cell(&copy, change->column, change->value, strlen(change->value)), 0);
    table_add_row(&change->bytes, &copy);
    row_release(&copy);
    return end > 0;
}

/* Makes a study, changes one cell of its rows and resumes it. */
static void resumed(const char *rest, struct change change, enum sweep_outcome outcome,
                    size_t made, const char *says)
{
    struct table_reading reading;
    struct text why = TEXT_INIT;
    struct swept swept = sweep_on(rest, "others", FRESH, "a");
    assert_int_equal(swept.outcome, SWEEP_DONE);
    table_add_header(&change.bytes);
    assert_int_equal(table_read("others/rows.csv", false, add_changed, &change, &reading, &why),
                     0);
    write_file("others/rows.csv", change.bytes.data, change.bytes.length);
    ends(rest, "others", RESUME, outcome, made, says);
    struct text after = contents_of("others/rows.csv");
    assert_true(outcome == SWEEP_DONE ||
                strcmp(text_string(&after), text_string(&change.bytes)) == 0);
    assert_int_equal(folder_remove("others", &why), 0);
    text_release(&after);
    text_release(&change.bytes);
    forget(&swept);
}

static void refuses(const char *rest, enum column column, const char *value, const char *says)
{
    resumed(rest, (struct change){.column = column, .value = value}, SWEEP_FAILED, 0, says);
}

/* What a row says of its own run is what the study would write for that run. */
static void rows_of_others_are_refused(void **state)
{
    (void)state;
    static const char swept[] = "[sweep batch]\nvalues = 8\n", input[] = "[input one]\n";
    static const char probe[] = "[boundary batch]\nto = 1\nconfirm = 1\n";
    static const char both[] = "phases = both\n[sweep batch]\nvalues = 8\n";
    refuses(swept, COLUMN_study, "tuc",
            "r-batch-8-t1 are not of this study: study is tuc, should be cut");
    refuses(swept, COLUMN_backend, "host", "backend is host, should be simulated");
    refuses(swept, COLUMN_schema, "7", "schema is 7, should be 1");
    refuses(swept, COLUMN_batch, "16", "batch is 16, should be 8");
    refuses(swept, COLUMN_value, "9", "batch is 8, should be 9");
    refuses(swept, COLUMN_trial, "3", "run is r-batch-8-t1, should be r-batch-8-t3");
    refuses(swept, COLUMN_role, "boundary",
            "run is r-batch-8-t1, should be r-boundary-batch-8-t1");
    refuses(swept, COLUMN_dimension, "width", "batch is 8, should be 1");
    refuses(swept, COLUMN_context, "9", "context is 9, should be 8");
    refuses(swept, COLUMN_layers, "2", "layers is 2, should be empty");
    refuses(swept, COLUMN_input, "one", "input is one, should be empty");
    refuses(swept, COLUMN_phases, "whole", "phases is whole, should be split");
    refuses(swept, COLUMN_dtype, "float16", "dtype is float16, should be float32");
    refuses(swept, COLUMN_allocator, "direct", "allocator is direct, should be caching");
    refuses(swept, COLUMN_allocator_settings, "a=1", "allocator_settings is a=1, should be ");
    refuses(swept, COLUMN_options, "fault=warmup:oom",
            "options is fault=warmup:oom, should be");
    refuses(swept, COLUMN_seed, "8", "seed is 8, should be 7");
    refuses(swept, COLUMN_evidence, "observed", "evidence is observed, should be computed");
    refuses(swept, COLUMN_fits, "no",
            "r-batch-8-t1 are not of this study: fits is no, should be yes: status is ok");
    refuses(swept, COLUMN_status, "oom", "fits is yes, should be no: status is oom");
    refuses(swept, COLUMN_status, "adapted", "fits is yes, should be empty: status is adapted");
    refuses(input, COLUMN_input, "two",
            "r-input-one-t1 are not of this study: it has no run of their role");
    refuses(input, COLUMN_value, "3", "value is 3, should be empty");
    refuses(probe, COLUMN_role, "sweep",
            "run is r-boundary-batch-1-t1, should be r-batch-1-t1");
    refuses(probe, COLUMN_value, "4", "batch is 1, should be 4");
    refuses(both, COLUMN_phases, "whole", "run is r-batch-8-t1, should be r-batch-8-t1-whole");
    refuses(both, COLUMN_phases, "split", "run is r-batch-8-t1-whole, should be r-batch-8-t1");
}

/* An empty cell says nothing. */
static void rows_that_say_nothing_else_stay(void **state)
{
    (void)state;
    static const char rest[] = "[sweep batch]\nvalues = 8\n";
    resumed(rest, (struct change){.column = COLUMN_batch, .value = ""}, SWEEP_DONE, 0, "");
    resumed(rest, (struct change){.column = COLUMN_options, .value = ""}, SWEEP_DONE, 0, "");
    resumed(rest, (struct change){.column = COLUMN_fits, .value = ""}, SWEEP_DONE, 0, "");
    resumed(rest, (struct change){.column = COLUMN_study_hash, .value = "s-0"}, SWEEP_DONE, 0,
            "");
    static const char *const misnamed[] = {"r-input-gone-t1", "r-batch-8", "8"};
    for (size_t i = 0; i < sizeof misnamed / sizeof misnamed[0]; i++)
        resumed(rest,
                (struct change){.column = COLUMN_run, .value = misnamed[i], .everywhere = true},
                SWEEP_FAILED, 0, ", should be r-batch-8-t1");
}

/* Every role, both ways and a shuffled order; then grown in all that may grow. */
static void goes_on_with_its_own(void **state)
{
    (void)state;
    static const char rest[] = "order = shuffled\ntrials = 2\nphases = both\n"
                               "[input one]\ncontext = 4\n[sweep batch]\n"
                               "values = 1, 60000\n[sweep context]\nvalues = 4\n"
                               "[boundary width]\nfrom = 64\nstep = 64\nto = 128\n";
    static const char grown[] = "trials = 3\nphases = both\ntimeout = 9s\n"
                                "[input two]\n[input one]\ncontext = 4\n[sweep context]\n"
                                "values = 2, 4\n[sweep batch]\nvalues = 60000, 1\n"
                                "[boundary width]\nfrom = 64\nstep = 64\nto = 64\n"
                                "confirm = 1\n";
    struct swept swept = sweep_on(rest, "own", FRESH, "a");
    assert_int_equal(swept.outcome, SWEEP_DONE);
    forget(&swept);
    ends(rest, "own", RESUME, SWEEP_DONE, 0, "nothing to do");
    ends(grown, "own", RESUME, SWEEP_DONE, 22, "the study has changed, its rows stay");
    ends(grown, "own", RESUME, SWEEP_DONE, 0, "nothing to do");
}

/* Resumes a study of which one shard is there, whose closing row says that it is of this rank
 * and run: is it taken over? Without phases it proves nothing, and no run of the study fits. */
static void takes(enum status status, uint32_t retry, uint64_t rank, const char *run,
                  const char *lines, bool taken)
{
    struct text header = TEXT_INIT, why = TEXT_INIT;
    struct row closing = ROW_INIT;
    table_add_header(&header);
    write_file("taken/rows.csv", header.data, header.length);
    assert_int_equal(folder_make("taken/runs/r-batch-2-t1", &why), 0);
    int fd = shard_create("taken/runs/r-batch-2-t1/shard.0", &why);
    row_set_text(&closing, COLUMN_phase, "run");
    row_set_count(&closing, COLUMN_rank, rank);
    row_set_text(&closing, COLUMN_run, run);
    row_set_status(&closing, status);
    assert_int_equal(line_append(fd, "begin", NULL, &why), 0);
    assert_int_equal(write(fd, lines, strlen(lines)), strlen(lines));
    assert_int_equal(shard_finish(fd, &closing, 1, &why), 0);
    close(fd);
    struct sweep_request request = {.resume = true, .retry = retry};
    struct swept swept = sweep_on("[sweep batch]\nvalues = 2\n", "taken", request, "a");
    assert_int_equal(swept.why.length, 0);
    assert_int_equal(strstr(text_string(&swept.said), "taken over: r-batch-2-t1") != NULL,
                     taken);
    assert_int_equal(swept.outcome, taken ? SWEEP_ALL_FAILED : SWEEP_DONE);
    struct text rows = contents_of("taken/rows.csv");
    assert_int_equal(
        strstr(text_string(&rows), "ended well, but phase context was not reached") != NULL,
        taken && status == STATUS_ok);
    text_release(&rows);
    text_release(&header);
    row_release(&closing);
    forget(&swept);
}

static void takes_over_what_stays(void **state)
{
    (void)state;
    ends("[sweep batch]\nvalues = 2\n", "taken", FRESH, SWEEP_DONE, 1, "");
    takes(STATUS_ok, 0, 0, NULL, "", true);
    takes(STATUS_ok, 0, 0, "r-batch-2-t1", "", true);
    takes(STATUS_timeout, 0, 0, NULL, "", true);
    takes(STATUS_timeout, 1u << STATUS_timeout, 0, NULL, "", false);
    static const enum status again[] = {STATUS_dirty, STATUS_device_lost, STATUS_launch_failed,
                                        STATUS_interrupted, STATUS_stopped};
    for (size_t i = 0; i < sizeof again / sizeof again[0]; i++)
        takes(again[i], 0, 0, NULL, "", false);
    takes(STATUS_ok, 0, 1, NULL, "", false);      /* another rank's */
    takes(STATUS_ok, 0, 0, "r-other", "", false); /* another run's */
    static const char *const lines[] = {
        "row\tgarbage\n",
        "row\trank=0\tphase=run\tstatus=ok\n",
        "row\trank=3\tphase=context\tstatus=ok\n",
        "row\trank=0\tphase=context\n",
        "row\trank=0\tphase=context\tstatus=ok\trun=r-batch-4-t1\n",
        "row\trank=0\tphase=context\tstatus=ok\tbatch=4\n",
        "row\trank=0\tphase=context\tstatus=ok\tstudy=tuc\n",
        "row\trank=0\tphase=context\tstatus=ok\tevidence=observed\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        takes(STATUS_ok, 0, 0, NULL, lines[i], false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_new),
        cmocka_unit_test(other_machines),
        cmocka_unit_test(made_again_when_asked),
        cmocka_unit_test(skips_what_is_larger),
        cmocka_unit_test(stops_at_a_failure),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(rows_of_others_are_refused),
        cmocka_unit_test(takes_over_what_stays),
        cmocka_unit_test(goes_on_with_its_own),
        cmocka_unit_test(rows_that_say_nothing_else_stay),
    };
    return cmocka_run_group_tests(tests, enter, leave_folder);
}
