/* What becomes of a run: for everything that ranks may have left behind, for every end of the
 * launcher, as it was (tests/golden/verdict_run*.txt). Shards and phase files are on disk; no
 * run is launched. */
#include "harness/drive/admission.h"
#include "harness/drive/collect.h"
#include "harness/drive/launcher.h"
#include "harness/protocol/shard.h"
#include "tests/unit/golden_bed.h"
#include "tests/unit/table_bed.h"
#include "tests/unit/verdict/verdict_bed.h"

#include <signal.h>

#define EXIT(code) ((code) << 8)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define MOST 3 /* ranks */

/* --- a study of one run --------------------------------------------------------------------
 */

struct bed {
    struct study study;
    struct plan plan;
    struct plan_run run;
    struct placement placement;
    struct prediction predicted[MOST];
};

static void open_bed(struct bed *bed, int ranks)
{
    struct text bytes = TEXT_INIT, why = TEXT_INIT;
    text_addf(&bytes,
              "[study]\nname=n\nquestion=q\nworkload=dense\n[launch]\nranks=%d\n[device]\n"
              "backend=simulated\ncapacity=1GiB\n[point]\ncontext=8\nwidth=64\ndtype=float32\n"
              "warmup=1\nrepeats=1\n[sweep batch]\nvalues=2\n",
              ranks);
    assert_int_equal(study_parse("F", &bytes, NULL, 0, &bed->study, &why), 0);
    assert_int_equal(plan_make(&bed->study, 1, &bed->plan, &why), 0);
    plan_run_at(&bed->plan, 0, &bed->run);
    assert_int_equal(admission_open(&bed->placement, &bed->study, false, &why), ADMISSION_OK);
    for (int rank = 0; rank < ranks; rank++) {
        assert_int_equal(plan_predict(&bed->study, &bed->run.point, bed->run.phases,
                                      &bed->placement.seats[rank], &bed->predicted[rank], &why),
                         0);
        assert_true(bed->predicted[rank].fits && bed->predicted[rank].count == 7);
    }
    text_release(&bytes);
    text_release(&why);
}

static void close_bed(struct bed *bed)
{
    for (uint64_t rank = 0; rank < bed->placement.ranks; rank++)
        prediction_release(&bed->predicted[rank]);
    placement_close(&bed->placement);
    plan_release(&bed->plan);
    study_release(&bed->study);
}

/* --- what a rank left ----------------------------------------------------------------------
 */

enum left { NO_SHARD, STARTED, BEGUN, TORN, WHOLE };
enum odd {
    PLAIN,
    MISSING_LAST,
    MISSING_MIDDLE,
    MISSING_ALL,
    EXTRA,
    TWICE,
    SWAPPED,
    PROCESSED,         /* less than was asked */
    PROCESSED_AT_END,  /* said in the closing row alone */
    OTHERWISE,         /* ran with another seed */
    OTHERWISE_AT_END,  /* says another batch in the closing row */
    OTHERWISE_ADAPTED, /* both, and a phase is missing */
    PARTIAL,
    FAILED_PHASE, /* a phase says that it was refused memory */
    FITS_LIE,     /* the closing row says the opposite of what its status says */
    STATUS_NOT_REACHED,
    PROCESSED_MORE,
    FITS_IN_PHASE, /* only a closing row may have it */
    ODDS
};
static const char *const odd_names[ODDS] = {"plain",
                                            "last phase missing",
                                            "middle phase missing",
                                            "no phase",
                                            "phase of no plan",
                                            "phase twice",
                                            "phases swapped",
                                            "processed less",
                                            "processed less at the end",
                                            "other seed",
                                            "other batch at the end",
                                            "other seed, processed less, last phase missing",
                                            "phase partial",
                                            "phase oom",
                                            "fits is a lie",
                                            "phase not reached",
                                            "processed more",
                                            "fits in a phase"};

struct rank_left {
    enum left left;
    enum status status; /* of the closing row, when WHOLE */
    enum odd odd;
    const char *phases;          /* lines of its phase file; NULL: none */
    const char *error, *warning; /* of the closing row */
};

#define SAID "hello\tframework=t\nbegin\tphase=context\nend\tphase=context\tstatus=ok\n"
static const struct {
    const char *name;
    struct rank_left left;
} unfinished[] = {
    {"no shard", {.left = NO_SHARD}},
    {"no shard, phases", {.left = NO_SHARD, .phases = SAID}},
    {"started", {.left = STARTED}},
    {"begun", {.left = BEGUN}},
    {"begun, phases", {.left = BEGUN, .phases = SAID}},
    {"begun, cut", {.left = BEGUN, .phases = SAID "begin\tphase=libraries\n"}},
    {"begun, failed",
     {.left = BEGUN,
      .phases = SAID "begin\tphase=libraries\nfail\tphase=libraries\tstatus=oom\terror=own\t"
                     "refused_by=device\trefused_bytes=9\n"}},
    {"begun, bye", {.left = BEGUN, .phases = SAID "bye\n"}},
    {"begun, bad lines", {.left = BEGUN, .phases = "nonsense\n" SAID}},
    {"torn", {.left = TORN}},
    {"torn, phases", {.left = TORN, .phases = SAID}},
};
#define KINDS (COUNT_OF(unfinished) + (size_t)STATUSES + 4 * (size_t)ODDS)

/* Every status plainly; every oddity of an end that was ok, and of some that were not. */
static struct rank_left kind_at(size_t index, struct text *name)
{
    static const enum status judged[] = {STATUS_ok, STATUS_oom, STATUS_adapted, STATUS_stopped};
    text_clear(name);
    if (index < COUNT_OF(unfinished)) {
        text_add(name, unfinished[index].name);
        return unfinished[index].left;
    }
    index -= COUNT_OF(unfinished);
    struct rank_left left = {.left = WHOLE, .status = (enum status)index};
    if (index >= (size_t)STATUSES) {
        left.status = judged[(index - STATUSES) / ODDS];
        left.odd = (enum odd)((index - STATUSES) % ODDS);
    }
    if (left.status != STATUS_ok)
        left.error = "E";
    text_addf(name, "%s%s%s", status_facts[left.status].name, left.odd ? ", " : "",
              left.odd ? odd_names[left.odd] : "");
    return left;
}

/* The rows that a rank would write; as many as `rows` has room for. */
static size_t make_rows(const struct prediction *plan, const struct rank_left *left,
                        struct row *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->count && left->odd != MISSING_ALL; i++) {
        bool last = i + 1 == plan->count;
        if ((last && (left->odd == MISSING_LAST || left->odd == OTHERWISE_ADAPTED)) ||
            (i == 2 && left->odd == MISSING_MIDDLE))
            continue;
        size_t from = left->odd == SWAPPED && (i == 2 || i == 3) ? 5 - i : i;
        row_copy(&rows[count++], &plan->rows[from]);
        if (left->odd == TWICE && i == 2)
            row_copy(&rows[count++], &plan->rows[from]);
    }
    struct row *closing = &rows[count], *second = count > 1 ? &rows[1] : closing;
    if (left->odd == EXTRA) {
        row_set_text(closing, COLUMN_phase, "unheard_of");
        row_set_status(closing, STATUS_ok);
        closing = &rows[++count];
    }
    row_set_text(closing, COLUMN_phase, "run");
    row_set_status(closing, left->status);
    row_set_text(closing, COLUMN_error, left->error);
    row_set_text(closing, COLUMN_warning, left->warning);
    if (left->odd == PROCESSED || left->odd == OTHERWISE_ADAPTED)
        row_set_count(second, COLUMN_processed_batch, 1);
    if (left->odd == PROCESSED_AT_END)
        row_set_count(closing, COLUMN_processed_context, 1);
    if (left->odd == OTHERWISE || left->odd == OTHERWISE_ADAPTED)
        row_set_count(second, COLUMN_seed, 8);
    if (left->odd == OTHERWISE_AT_END)
        row_set_count(closing, COLUMN_batch, 16);
    if (left->odd == PARTIAL)
        row_set_text(second, COLUMN_partial, "yes");
    if (left->odd == FAILED_PHASE)
        row_set_status(second, STATUS_oom);
    if (left->odd == STATUS_NOT_REACHED)
        row_set_status(second, STATUS_not_reached);
    if (left->odd == PROCESSED_MORE)
        row_set_count(second, COLUMN_processed_batch, 3);
    if (left->odd == FITS_IN_PHASE)
        row_set_text(second, COLUMN_fits, "yes");
    if (left->odd == FITS_LIE)
        row_set_text(closing, COLUMN_fits, left->status == STATUS_ok ? "no" : "yes");
    return count + 1;
}

static void write_rank(const struct bed *bed, uint64_t rank, const struct rank_left *left)
{
    struct text why = TEXT_INIT;
    char *shard = shard_path(".", rank), *phases = shard_phases_path(".", rank);
    struct row rows[10] = {ROW_INIT}, about = ROW_INIT;
    unlink(shard);
    unlink(phases);
    row_set_text(&about, COLUMN_host, "h-test");
    if (left->phases != NULL)
        write_file(phases, left->phases, strlen(left->phases));
    if (left->left != NO_SHARD) {
        int fd = shard_create(shard, &why);
        assert_true(fd >= 0);
        assert_int_equal(line_append(fd, "start", &about, &why), 0);
        if (left->left != STARTED)
            assert_int_equal(line_append(fd, "begin", &about, &why), 0);
        if (left->left == WHOLE) {
            size_t count = make_rows(&bed->predicted[rank], left, rows);
            assert_int_equal(shard_finish(fd, rows, count, &why), 0);
        } else if (left->left == TORN) {
            make_rows(&bed->predicted[rank], left, rows);
            assert_int_equal(line_append(fd, "row", &rows[0], &why), 0);
        }
        close(fd);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        row_release(&rows[i]);
    row_release(&about);
    text_release(&why);
    free(shard);
    free(phases);
}

/* --- how the launcher ended ----------------------------------------------------------------
 */

static const struct launcher_end {
    const char *name;
    struct launch_end end;
    const char *reason, *skipped;
} launcher_ends[] = {
    {"0", {.started = true}, "", NULL},
    {"1", {.started = true, .status = EXIT(1)}, "", NULL},
    {"1, 1 left", {.started = true, .status = EXIT(1), .left_over = 1}, "", NULL},
    {"0, 2 left", {.started = true, .left_over = 2}, "", NULL},
    {"signal 9, 2 left", {.started = true, .status = SIGKILL, .left_over = 2}, "", NULL},
    {"late", {.started = true, .late = true, .status = SIGTERM}, "", NULL},
    {"unwritten", {.started = true, .status = EXIT(SHARD_UNWRITTEN)}, "", NULL},
    {"not started", {.started = false}, "no such\tprogram", NULL},
    {"skipped", {.started = false}, "", "every run at batch 1 ran out of memory"},
};

/* --- the tables ----------------------------------------------------------------------------
 */

/* -1: there are no rows, `why` says it. */
static int complete(const struct bed *bed, const struct launcher_end *end,
                    struct run_rows *rows, struct text *why)
{
    const struct run_facts facts = {.study = &bed->study,
                                    .run = &bed->run,
                                    .placement = &bed->placement,
                                    .order = end->skipped != NULL ? 0 : 1,
                                    .skipped = end->skipped,
                                    .run_folder = ".",
                                    .live_folder = ".",
                                    .end = &end->end,
                                    .reason = end->reason};
    return collect_run(&facts, rows, why);
}

static void add_run(const struct run_rows *rows, struct text *out)
{
    text_addf(out, "worst=%zu%s%s",
              rows->rows[rows->worst].cell[COLUMN_rank].kind == CELL_COUNT
                  ? (size_t)row_count(&rows->rows[rows->worst], COLUMN_rank).value
                  : 99,
              rows->ok ? " ok" : "", rows->device_lost ? " device_lost" : "");
    assert_true(row_is_closing(&rows->rows[rows->worst]));
}

/* Statuses of the phases, then the closing row in full. */
static void add_rank(const struct run_rows *rows, uint64_t rank, struct text *out)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->rows[i];
        if (row_count(row, COLUMN_rank).value != rank)
            continue;
        if (row_is_closing(row))
            add_row_of_verdict(row, out);
        else
            text_addf(out, "%c%s", status_letter((enum status)row_status(row)),
                      row_text(row, COLUMN_fits) != NULL ? "(fits)" : "");
    }
}

static void one_rank(void **state)
{
    struct bed bed;
    struct text out = TEXT_INIT, name = TEXT_INIT, why = TEXT_INIT;
    (void)state;
    open_bed(&bed, 1);
    text_add(&out,
             "# Runs of one rank: what it left; then for ends of the launcher the run as a\n"
             "# whole, the phases' statuses, the closing row.\n"
             "# " LETTERS_LEGEND "\n# " ROW_OF_VERDICT_LEGEND "\n");
    for (size_t k = 0; k < KINDS; k++) {
        struct kinds kinds = {.count = 0};
        const struct rank_left left = kind_at(k, &name);
        write_rank(&bed, 0, &left);
        text_addf(&out, "=== %s\n", text_string(&name));
        for (size_t e = 0; e < COUNT_OF(launcher_ends); e++) {
            struct run_rows rows;
            struct text said = TEXT_INIT;
            text_clear(&why);
            if (complete(&bed, &launcher_ends[e], &rows, &why) != 0) {
                text_addf(&said, "no rows: %s", text_string(&why));
            } else {
                add_run(&rows, &said);
                text_add_char(&said, ' ');
                add_rank(&rows, 0, &said);
                run_rows_release(&rows);
            }
            kinds_add(&kinds, text_string(&said), launcher_ends[e].name);
            text_release(&said);
        }
        kinds_write(&kinds, &out);
    }
    golden_check("verdict_run.txt", &out);
    close_bed(&bed);
    text_release(&out);
    text_release(&name);
    text_release(&why);
}

/* Statuses of all ranks as letters, then the run. */
static void add_ranks(const struct bed *bed, const struct launcher_end *end, struct text *out)
{
    struct run_rows rows;
    struct text why = TEXT_INIT;
    if (complete(bed, end, &rows, &why) != 0) {
        text_add(out, "no rows");
    } else {
        for (size_t i = 0; i < rows.count; i++)
            if (row_is_closing(&rows.rows[i]))
                text_add_char(out, status_letter((enum status)row_status(&rows.rows[i])));
        text_add_char(out, ' ');
        add_run(&rows, out);
        run_rows_release(&rows);
    }
    text_release(&why);
}

/* Plain ends and three that are none. */
#define PLAIN_KINDS ((size_t)STATUSES + 3)
static struct rank_left plain_at(size_t index, struct text *name)
{
    static const size_t of_unfinished[] = {0, 2, 6};
    if (index >= (size_t)STATUSES)
        return kind_at(of_unfinished[index - STATUSES], name);
    return kind_at(COUNT_OF(unfinished) + index, name);
}

static void two_ranks(void **state)
{
    static const size_t of_ends[] = {0, 1, 4};
    struct bed bed;
    struct text out = TEXT_INIT, name = TEXT_INIT, said = TEXT_INIT;
    (void)state;
    open_bed(&bed, 2);
    text_add(&out,
             "# Runs of two ranks: what both left, then the launcher's end 0, 1, signal 9.\n"
             "# " LETTERS_LEGEND "\n");
    for (size_t a = 0; a < PLAIN_KINDS; a++)
        for (size_t b = 0; b < PLAIN_KINDS; b++) {
            const struct rank_left first = plain_at(a, &name);
            text_addf(&out, "%s | ", text_string(&name));
            const struct rank_left second = plain_at(b, &name);
            text_addf(&out, "%s:", text_string(&name));
            write_rank(&bed, 0, &first);
            write_rank(&bed, 1, &second);
            for (size_t e = 0; e < COUNT_OF(of_ends); e++) {
                struct text now = TEXT_INIT;
                add_ranks(&bed, &launcher_ends[of_ends[e]], &now);
                bool same = e > 0 && strcmp(text_string(&now), text_string(&said)) == 0;
                text_addf(&out, " %s;", same ? "same" : text_string(&now));
                text_release(&said);
                said = now;
            }
            text_add_char(&out, '\n');
        }
    golden_check("verdict_run_pairs.txt", &out);
    close_bed(&bed);
    text_release(&out);
    text_release(&name);
    text_release(&said);
}

/* Which of three says most about the run; of equals it is the first. */
static void three_ranks(void **state)
{
    static const enum status of[] = {STATUS_ok, STATUS_stopped, STATUS_adapted, STATUS_spilled,
                                     STATUS_oom};
    struct bed bed;
    struct text out = TEXT_INIT;
    (void)state;
    open_bed(&bed, 3);
    text_add(&out, "# The worst of three ranks.\n# " LETTERS_LEGEND "\n");
    for (size_t i = 0; i < 125; i++) {
        const size_t at[] = {i / 25, i / 5 % 5, i % 5};
        for (uint64_t rank = 0; rank < 3; rank++) {
            const struct rank_left left = {.left = WHOLE, .status = of[at[rank]]};
            write_rank(&bed, rank, &left);
        }
        add_ranks(&bed, &launcher_ends[0], &out);
        text_add_char(&out, '\n');
    }
    golden_check("verdict_run_worst.txt", &out);
    close_bed(&bed);
    text_release(&out);
}

/* Why a rank was stopped: told by itself, by others, by the launcher. */
static void stopped_by_others(void **state)
{
    static const char *const causes[] = {NULL, "ended because the run was stopped",
                                         "rank 1 failed first: ended by us"};
    struct bed bed;
    struct text out = TEXT_INIT, name = TEXT_INIT;
    (void)state;
    open_bed(&bed, 2);
    text_add(&out, "# What a stopped rank 0 says beside another rank, by the launcher's end.\n"
                   "# " ROW_OF_VERDICT_LEGEND "\n");
    for (size_t c = 0; c < COUNT_OF(causes); c++)
        for (size_t k = 0; k < PLAIN_KINDS; k++) {
            struct kinds kinds = {.count = 0};
            const struct rank_left stopped = {
                .left = WHOLE, .status = STATUS_stopped, .error = causes[c]};
            const struct rank_left other = plain_at(k, &name);
            write_rank(&bed, 0, &stopped);
            write_rank(&bed, 1, &other);
            text_addf(&out, "=== says \"%s\" | %s\n", causes[c] != NULL ? causes[c] : "",
                      text_string(&name));
            for (size_t e = 0; e < 6; e++) {
                struct text said = TEXT_INIT, why = TEXT_INIT;
                struct run_rows rows;
                assert_int_equal(complete(&bed, &launcher_ends[e], &rows, &why), 0);
                add_rank(&rows, 0, &said);
                kinds_add(&kinds, text_string(&said), launcher_ends[e].name);
                run_rows_release(&rows);
                text_release(&said);
                text_release(&why);
            }
            kinds_write(&kinds, &out);
        }
    golden_check("verdict_run_stopped.txt", &out);
    close_bed(&bed);
    text_release(&out);
    text_release(&name);
}

/* Rows that nothing is to be concluded from, since files of the study changed. */
static void disowned(void **state)
{
    struct bed bed;
    struct text out = TEXT_INIT, why = TEXT_INIT;
    (void)state;
    open_bed(&bed, 1);
    text_add(&out,
             "# Runs whose files changed meanwhile, with and without a cause of their own.\n"
             "# " ROW_OF_VERDICT_LEGEND "\n");
    for (int i = 0; i < 2 * STATUSES; i++) {
        struct run_rows rows;
        const struct rank_left left = {.left = WHOLE,
                                       .status = (enum status)(i / 2),
                                       .error = i % 2 ? "E" : NULL,
                                       .warning = i % 2 ? "W" : NULL};
        write_rank(&bed, 0, &left);
        assert_int_equal(complete(&bed, &launcher_ends[0], &rows, &why), 0);
        run_rows_disown(&rows, "a file changed");
        text_addf(&out, "%s: ", status_facts[i / 2].name);
        add_run(&rows, &out);
        add_rank(&rows, 0, &out);
        text_add_char(&out, '\n');
        run_rows_release(&rows);
    }
    golden_check("verdict_run_disowned.txt", &out);
    close_bed(&bed);
    text_release(&out);
    text_release(&why);
}

static int enter_run(void **state)
{
    static const char words[] = "-----\nmpirun noticed something\thighwater\n"
                                "highwater-rank: no room on the disk\n-----\n";
    int result = enter_folder(state);
    char *path = launcher_output_path(".");
    write_file(path, words, strlen(words));
    free(path);
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank),    cmocka_unit_test(two_ranks),
        cmocka_unit_test(three_ranks), cmocka_unit_test(stopped_by_others),
        cmocka_unit_test(disowned),
    };
    return cmocka_run_group_tests(tests, enter_run, leave_folder);
}
