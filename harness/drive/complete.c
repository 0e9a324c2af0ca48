#include "harness/drive/complete.h"
#include "harness/base/file.h"
#include "harness/drive/finish.h"
#include "harness/verdict/child_rows.h"
#include "harness/protocol/shard.h"
#include "harness/record/runs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define LAUNCHER_WORDS (16u << 10) /* bytes of the launcher's output that are read */
#define ROOM 400                   /* escaped bytes of them in a cell */
#define RANK_LOST "rank lost"
#define RANK_SPEAKS "highwater-rank: "

/* --- ranks that did not finish their shard
 * ---------------------------------------------------- */

/* The lines that begin so; the launcher frames its own with lines of dashes. */
static void add_launcher_words(const char *run_folder, const char *start, struct text *out)
{
    char *path = launcher_output_path(run_folder);
    struct text words = TEXT_INIT, plain = TEXT_INIT;
    if (file_read_tail(path, LAUNCHER_WORDS, &words, NULL) == 0) {
        const char *line = text_string(&words);
        while (*line != '\0') {
            size_t length = strcspn(line, "\n");
            if (strspn(line, "-") < length && text_starts_with(line, start))
                text_addf(&plain, "%s%.*s", plain.length > 0 ? " " : "", (int)length, line);
            line += length + (line[length] == '\n' ? 1 : 0);
        }
    }
    text_add_escaped(out, text_string(&plain), plain.length, ROOM);
    text_release(&words);
    text_release(&plain);
    free(path);
}

static void add_launcher_status(const struct launch_end *end, struct text *out)
{
    if (WIFSIGNALED(end->status))
        text_addf(out, "launcher ended by signal %d", WTERMSIG(end->status));
    else
        text_addf(out, "launcher status %d", WEXITSTATUS(end->status));
}

static void say_why_not_launched(const struct run_facts *facts, bool started, struct text *out)
{
    struct text words = TEXT_INIT;
    if (!facts->end->started) {
        text_add_escaped(out, facts->reason, strlen(facts->reason), ROOM);
        return;
    }
    if (facts->end->late)
        text_add(out, "the ranks did not meet in time");
    else
        add_launcher_status(facts->end, out);
    if (started)
        text_add(out, ", rank started but did not reach the start");
    add_launcher_words(facts->run_folder, "", &words);
    if (words.length > 0)
        text_addf(out, ": %s", text_string(&words));
    text_release(&words);
}

/* A disk that failed is no outcome of the run: then there is none, and no next launch. */
static int check_written(const struct run_facts *facts, const char *path, struct text *why)
{
    const struct launch_end *end = facts->end;
    struct text words = TEXT_INIT;
    if (!end->started || !WIFEXITED(end->status) || WEXITSTATUS(end->status) != SHARD_UNWRITTEN)
        return 0;
    add_launcher_words(facts->run_folder, RANK_SPEAKS, &words);
    text_addf(why, "a rank could not write %s%s%s", path, words.length > 0 ? ": " : "",
              text_string(&words));
    text_release(&words);
    return -1;
}

/* What a lost rank's child left behind in its phase file and on its page. */
static void rows_of_lost(const struct run_facts *facts, uint64_t rank,
                         const struct shard *shard, struct child_rows *lost)
{
    char *phases = shard_phases_path(facts->live_folder, rank);
    char *live = shard_live_path(facts->live_folder, rank);
    struct verdict verdict;
    struct phase_record record = {.hello = ROW_INIT};
    struct row about = ROW_INIT;
    row_copy(&about, &shard->about);
    row_set_count(&about, COLUMN_rank, rank);
    seat_to_row(&facts->placement->seats[rank], &about);
    enum rule cause = classify_unseen(RULE_IF(skipped, facts->skipped != NULL) |
                                          RULE_IF(rank_lost, shard->begun) |
                                          RULE_IF(not_launched, true),
                                      &verdict);
    if (cause == RULE_skipped) {
        text_add(&verdict.error, facts->skipped);
    } else if (cause == RULE_rank_lost) {
        text_add(&verdict.error, RANK_LOST);
        if (phases_read(phases, live, &record, &verdict.warning) != 0)
            record = (struct phase_record){.hello = ROW_INIT};
    } else {
        say_why_not_launched(facts, shard->started, &verdict.error);
    }
    child_rows_of(&(struct child_facts){.about = &about, .record = &record}, &verdict, lost);
    phase_record_release(&record);
    row_release(&about);
    text_release(&verdict.error);
    text_release(&verdict.warning);
    free(phases);
    free(live);
}

/* --- beside the plan
 * -------------------------------------------------------------------------- */

static void add_prediction(const struct row *predicted, struct row *row)
{
    row_set_reading(row, COLUMN_predicted_allocated_peak_bytes,
                    row_count(predicted, COLUMN_allocated_peak_bytes));
    row_set_reading(row, COLUMN_predicted_reserved_peak_bytes,
                    row_count(predicted, COLUMN_reserved_peak_bytes));
}

static struct row *push(struct run_rows *rows)
{
    struct row *row = GROW(rows->rows, rows->count);
    *row = (struct row)ROW_INIT;
    return row;
}

/* Phases of another plan, told twice or in another order prove nothing about this one. */
static void judge_order(const struct prediction *plan, const struct row *said,
                        struct row *closing)
{
    size_t next = 0;
    for (; said < closing && row_status(closing) == STATUS_ok; said++) {
        while (next < plan->count && !row_same_phase(&plan->rows[next], said))
            next++;
        if (next++ < plan->count)
            continue;
        const char *phase = row_text(said, COLUMN_phase);
        char *error = xasprintf("phase %.400s is not of the plan, or not in its order", phase);
        row_set_status(closing, STATUS_error);
        row_set_text(closing, COLUMN_failed_phase, phase);
        row_set_text(closing, COLUMN_error, error);
        free(error);
    }
}

/* Moves one rank's rows behind the others: planned phases in plan order, phases that no plan
 * knows, the closing row. `plan` is NULL when there is no prediction. */
static void add_in_order(const struct prediction *plan, struct row *said, size_t count,
                         struct run_rows *rows)
{
    bool *taken = xcalloc(count, sizeof *taken);
    for (size_t i = 0; plan != NULL && i < plan->count; i++) {
        const struct row *planned = &plan->rows[i];
        struct row *row = push(rows);
        for (size_t j = 0; j + 1 < count; j++) {
            if (taken[j] || !row_same_phase(planned, &said[j]))
                continue;
            taken[j] = true;
            row_copy(row, &said[j]);
            break;
        }
        if (row_text(row, COLUMN_phase) == NULL) {
            row_set_text(row, COLUMN_phase, row_text(planned, COLUMN_phase));
            row_set_text(row, COLUMN_pass, row_text(planned, COLUMN_pass));
            row_set_reading(row, COLUMN_repeat, row_count(planned, COLUMN_repeat));
            row_set_status(row, STATUS_not_reached);
        }
        add_prediction(planned, row);
    }
    for (size_t j = 0; j + 1 < count; j++)
        if (!taken[j])
            row_copy(push(rows), &said[j]);
    struct row *closing = push(rows);
    row_copy(closing, &said[count - 1]);
    if (plan != NULL)
        row_set_text(closing, COLUMN_predicted_fits, plan->fits ? "yes" : "no");
    free(taken);
}

static int add_rank(const struct run_facts *facts, uint64_t rank, struct run_rows *rows,
                    struct text *why)
{
    char *path = facts->skipped != NULL ? NULL : shard_path(facts->run_folder, rank);
    struct shard shard = {.about = ROW_INIT};
    struct prediction plan;
    int result = path != NULL ? shard_read(path, &shard, why) : 0;
    if (result == 0 && path != NULL && !shard.complete)
        result = check_written(facts, path, why);
    free(path);
    if (result != 0) {
        shard_release(&shard);
        return -1;
    }
    struct child_rows lost = {.rows = NULL};
    size_t first = rows->count;
    struct text none = TEXT_INIT;
    if (!shard.complete)
        rows_of_lost(facts, rank, &shard, &lost);
    struct row *said = shard.complete ? shard.rows : lost.rows;
    size_t count = shard.complete ? shard.count : lost.count;
    bool predicted = plan_predict(facts->study, &facts->run->point, facts->run->phases,
                                  &facts->placement->seats[rank],
                                  &plan, &none) == 0;
    if (predicted)
        judge_order(&plan, said, &said[count - 1]);
    add_in_order(predicted ? &plan : NULL, said, count, rows);
    if (!predicted) /* a file that changed since the plan: what was seen is kept */
        row_add_warning(&rows->rows[rows->count - 1], text_string(&none));
    finish_rank(facts, rank, &rows->rows[first], rows->count - first);
    rows->launched = rows->launched || shard.begun;
    if (predicted)
        prediction_release(&plan);
    text_release(&none);
    child_rows_release(&lost);
    shard_release(&shard);
    return 0;
}

/* --- the run as a whole
 * ----------------------------------------------------------------------- */

static enum gravity gravity(const struct row *closing)
{
    return status_facts[row_status(closing)].gravity;
}

/* Somebody else's end, by name. */
static void explain_stop(const struct run_rows *rows, struct row *closing,
                         const struct launch_end *end)
{
    struct text reason = TEXT_INIT;
    text_add(&reason, "ended by us: ");
    for (size_t i = 0; i < rows->count; i++) {
        const char *error = row_text(&rows->rows[i], COLUMN_error);
        if (row_is_closing(&rows->rows[i]) && error != NULL && strcmp(error, RANK_LOST) == 0)
            text_addf(&reason, "rank %llu was lost; ",
                      (unsigned long long)row_count(&rows->rows[i], COLUMN_rank).value);
    }
    add_launcher_status(end, &reason);
    row_set_text(closing, COLUMN_error, text_string(&reason));
    text_release(&reason);
}

/* A launcher that failed after good work is a warning; one that was ended explains `stopped`.
 */
static void judge_launcher(const struct run_facts *facts, struct run_rows *rows)
{
    const struct launch_end *end = facts->end;
    struct text words = TEXT_INIT;
    bool failed = end->started && end->status != 0;
    if (failed)
        add_launcher_status(end, &words);
    if (failed && end->left_over > 0)
        text_addf(&words, ", %d process%s left behind, ended by us", end->left_over,
                  end->left_over == 1 ? "" : "es");
    rows->ok = true;
    for (size_t i = 0; i < rows->count; i++) {
        struct row *closing = &rows->rows[i];
        if (!row_is_closing(closing))
            continue;
        if (failed && row_status(closing) != STATUS_launch_failed)
            row_add_warning(closing, text_string(&words));
        const char *error = row_text(closing, COLUMN_error);
        if (row_status(closing) == STATUS_stopped &&
            (error == NULL || strcmp(error, STOPPED_WORDS) == 0)) /* nobody knows better */
            explain_stop(rows, closing, end);
        if (!row_is_closing(&rows->rows[rows->worst]) ||
            gravity(closing) > gravity(&rows->rows[rows->worst]))
            rows->worst = i;
        rows->ok = rows->ok && row_status(closing) == STATUS_ok;
        rows->device_lost = rows->device_lost || row_status(closing) == STATUS_device_lost;
    }
    text_release(&words);
}

int complete_run(const struct run_facts *facts, struct run_rows *rows, struct text *why)
{
    struct run_rows made = {.rows = NULL};
    for (uint64_t rank = 0; rank < facts->placement->ranks; rank++)
        if (add_rank(facts, rank, &made, why) != 0) {
            run_rows_release(&made);
            return -1;
        }
    judge_launcher(facts, &made);
    *rows = made;
    return 0;
}

void run_rows_disown(struct run_rows *rows, const char *reason)
{
    static const enum column of_files[] = {
        COLUMN_predicted_allocated_peak_bytes, COLUMN_predicted_reserved_peak_bytes,
        COLUMN_predicted_fits, COLUMN_estimated_weights_bytes, COLUMN_estimated_kv_bytes};
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->rows[i];
        for (size_t k = 0; k < sizeof of_files / sizeof of_files[0]; k++)
            row_clear(row, of_files[k]);
        if (!row_is_closing(row))
            continue;
        if (status_facts[row_status(row)].again == STANDS)
            row_set_status(row, STATUS_error);
        if (row_text(row, COLUMN_error) == NULL)
            row_set_text(row, COLUMN_error, reason);
        else /* the first cause stays */
            row_add_warning(row, reason);
    }
    rows->ok = false;
}

void run_rows_release(struct run_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        row_release(&rows->rows[i]);
    free(rows->rows);
    *rows = (struct run_rows){.rows = NULL};
}
