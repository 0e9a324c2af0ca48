#include "harness/verdict/run_rows.h"
#include "harness/base/clock.h"
#include "harness/verdict/child_rows.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* --- a rank that did not complete its shard ---------------------------------------------- */

static void add_launcher_status(const struct launch_end *end, struct text *out)
{
    if (WIFSIGNALED(end->status))
        text_addf(out, "launcher ended by signal %d", WTERMSIG(end->status));
    else
        text_addf(out, "launcher status %d", WEXITSTATUS(end->status));
}

static void say_why_not_launched(const struct rank_facts *facts, struct text *out)
{
    const char *words = facts->launcher_words;
    if (facts->end->started && facts->end->late)
        text_add(out, "the ranks did not meet in time");
    else if (facts->end->started)
        add_launcher_status(facts->end, out);
    if (facts->end->started && facts->shard->started)
        text_add(out, ", rank started but did not reach the start");
    text_addf(out, "%s%s", out->length > 0 && *words != '\0' ? ": " : "", words);
}

static void make_lost(const struct rank_facts *facts, struct child_rows *made,
                      struct run_rows *rows)
{
    struct verdict verdict;
    struct row about = ROW_INIT;
    enum rule cause = classify_unseen(RULE_IF(skipped, facts->skipped != NULL) |
                                          RULE_IF(rank_lost, facts->shard->begun) |
                                          RULE_IF(not_launched, true),
                                      &verdict);
    if (cause == RULE_skipped) {
        text_add(&verdict.error, facts->skipped);
    } else if (cause == RULE_rank_lost) {
        text_add(&verdict.error, "rank lost");
        text_add(&verdict.warning, facts->unread);
        text_addf(&rows->lost, "rank %llu was lost; ", (unsigned long long)facts->rank);
    } else {
        say_why_not_launched(facts, &verdict.error);
    }
    row_copy(&about, &facts->shard->about);
    row_set_count(&about, COLUMN_rank, facts->rank);
    seat_to_row(facts->seat, &about);
    child_rows_of(&(struct child_facts){.about = &about, .record = facts->left}, &verdict,
                  made);
    row_release(&about);
    text_release(&verdict.error);
    text_release(&verdict.warning);
}

/* --- beside the plan --------------------------------------------------------------------- */

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

/* One rank's rows behind the others: planned phases in plan order, phases that no plan
 * knows, the closing row. `plan` is NULL when there is no prediction. */
static void add_in_order(const struct prediction *plan, const struct row *said, size_t count,
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

/* --- what was decided before, and what nobody said ---------------------------------------- */

/* What the closing row and the driver know, where a phase says nothing. */
static void share(const struct rank_facts *facts, const struct row *closing, struct row *all)
{
    static const enum column of_rank[] = {COLUMN_host,
                                          COLUMN_device_name,
                                          COLUMN_nvml_index,
                                          COLUMN_device_uuid,
                                          COLUMN_device_pci,
                                          COLUMN_shared_device,
                                          COLUMN_ecc,
                                          COLUMN_mig,
                                          COLUMN_driver_version,
                                          COLUMN_cuda_version,
                                          COLUMN_device_capacity_bytes,
                                          COLUMN_started_utc,
                                          COLUMN_cuda_ordinal,
                                          COLUMN_compute_backend,
                                          COLUMN_framework,
                                          COLUMN_framework_version};
    row_set_reading(all, COLUMN_allocator_limit_bytes, facts->seat->limit);
    for (size_t i = 0; i < sizeof of_rank / sizeof of_rank[0]; i++) {
        struct row one = ROW_INIT;
        one.cell[of_rank[i]] = closing->cell[of_rank[i]]; /* borrowed for the copy */
        row_fill(all, &one);
    }
    if (row_text(all, COLUMN_started_utc) == NULL && facts->started_ns > 0) {
        struct text started = TEXT_INIT;
        text_add_utc(&started, facts->started_ns);
        row_set_text(all, COLUMN_started_utc, text_string(&started));
        text_release(&started);
    }
}

/* Where no device was observed there is nothing to say of one but its capacity. */
static void clear_device(struct row *row)
{
    static const enum column of_device[] = {
        COLUMN_driver_start_bytes,    COLUMN_driver_peak_bytes,
        COLUMN_driver_end_bytes,      COLUMN_device_used_start_bytes,
        COLUMN_device_used_end_bytes, COLUMN_cuda_ordinal,
        COLUMN_device_uuid,           COLUMN_device_pci,
        COLUMN_driver_version,        COLUMN_cuda_version};
    for (size_t i = 0; i < sizeof of_device / sizeof of_device[0]; i++)
        row_clear(row, of_device[i]);
}

/* `otherwise`: the first cell that says something else than what was decided. */
static void fill_cells(const struct rank_facts *facts, struct row *rows, size_t count,
                       struct text *otherwise)
{
    struct row all = ROW_INIT;
    share(facts, &rows[count - 1], &all);
    for (size_t i = 0; i < count; i++) {
        plan_correct(facts->decided, facts->run, &rows[i], otherwise);
        row_fill(&rows[i], &all);
        if (!seat_has_card(facts->seat))
            clear_device(&rows[i]);
        row_clear(&rows[i], COLUMN_fits); /* follows from the status, if from anything */
    }
    row_release(&all);
}

/* --- whether a good end was one ---------------------------------------------------------- */

/* Phases of another plan, told twice or in another order prove nothing about this one. */
static const struct row *out_of_order(const struct prediction *plan, const struct row *said,
                                      size_t count)
{
    size_t next = 0;
    for (size_t i = 0; plan != NULL && i < count; i++) {
        while (next < plan->count && !row_same_phase(&plan->rows[next], &said[i]))
            next++;
        if (next++ >= plan->count)
            return &said[i];
    }
    return NULL;
}

static const struct row *not_reached(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (row_status(&rows[i]) == STATUS_not_reached)
            return &rows[i];
    return NULL;
}

/* The workload says itself what it processed. */
static bool processed_otherwise(const struct row *rows, size_t count, struct text *what)
{
    static const enum column pairs[][2] = {{COLUMN_batch, COLUMN_processed_batch},
                                           {COLUMN_context, COLUMN_processed_context},
                                           {COLUMN_generated, COLUMN_processed_generated}};
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
            struct reading asked = row_count(&rows[i], pairs[p][0]);
            struct reading done = row_count(&rows[i], pairs[p][1]);
            if (!asked.known || !done.known || asked.value == done.value)
                continue;
            text_addf(what, "%s asked %llu, processed %llu", column_facts[pairs[p][0]].name,
                      (unsigned long long)asked.value, (unsigned long long)done.value);
            return true;
        }
    return false;
}

static void fail_in(struct row *closing, const char *phase, const char *before,
                    const char *behind)
{
    char *error = xasprintf("%sphase %.400s %s", before, phase, behind);
    row_set_text(closing, COLUMN_failed_phase, phase);
    row_set_text(closing, COLUMN_error, error);
    free(error);
}

/* `stray`: a phase that is not as planned, or NULL. */
static void judge(const struct row *stray, const struct text *otherwise, struct row *rows,
                  size_t count)
{
    struct row *closing = &rows[count - 1];
    const struct row *missed = not_reached(rows, count);
    struct text processed = TEXT_INIT;
    int status = row_status(closing);
    uint64_t decided = rules_apply(
        RULE_IF(out_of_order, stray != NULL) | RULE_IF(not_reached, missed != NULL) |
            RULE_IF(processed_otherwise, processed_otherwise(rows, count, &processed)) |
            RULE_IF(set_otherwise, otherwise->length > 0),
        &status);
    if (rules_have(decided, RULE_out_of_order))
        fail_in(closing, row_text(stray, COLUMN_phase), "",
                "is not of the plan, or not in its order");
    if (rules_have(decided, RULE_not_reached))
        fail_in(closing, row_text(missed, COLUMN_phase), "ended well, but ", "was not reached");
    if (rules_have(decided, RULE_processed_otherwise))
        row_add_warning(closing, text_string(&processed));
    if (otherwise->length > 0)
        row_add_warning(closing, text_string(otherwise));
    row_set_status(closing, (enum status)status);
    text_release(&processed);
}

void rank_rows_add(const struct rank_facts *facts, struct run_rows *rows)
{
    const struct shard *shard = facts->shard;
    struct child_rows lost = {.rows = NULL};
    struct text otherwise = TEXT_INIT;
    size_t first = rows->count;
    if (!shard->complete)
        make_lost(facts, &lost, rows);
    const struct row *said = shard->complete ? shard->rows : lost.rows;
    size_t count = shard->complete ? shard->count : lost.count;
    add_in_order(facts->plan, said, count, rows);
    if (facts->plan == NULL) /* a file that changed since the plan: what was seen is kept */
        row_add_warning(&rows->rows[rows->count - 1], facts->unpredicted);
    fill_cells(facts, &rows->rows[first], rows->count - first, &otherwise);
    judge(out_of_order(facts->plan, said, count - 1), &otherwise, &rows->rows[first],
          rows->count - first);
    child_rows_release(&lost);
    text_release(&otherwise);
}

/* --- the run as a whole ------------------------------------------------------------------ */

static enum gravity gravity(const struct row *closing)
{
    return status_facts[row_status(closing)].gravity;
}

/* Says whose end stopped a rank, unless the rank itself has told why. */
static void explain_stop(const struct run_rows *rows, const struct launch_end *end,
                         struct row *closing)
{
    struct text reason = TEXT_INIT;
    if (row_status(closing) != STATUS_stopped || row_text(closing, COLUMN_error) != NULL)
        return;
    text_addf(&reason, "ended by us: %s", text_string(&rows->lost));
    add_launcher_status(end, &reason);
    row_set_text(closing, COLUMN_error, text_string(&reason));
    text_release(&reason);
}

void run_rows_judge(struct run_rows *rows, const struct launch_end *end)
{
    struct text words = TEXT_INIT; /* a launcher that failed after good work is a warning */
    bool failed = end->started && end->status != 0;
    add_launcher_status(end, &words);
    if (end->left_over > 0)
        text_addf(&words, ", %d process%s left behind, ended by us", end->left_over,
                  end->left_over == 1 ? "" : "es");
    rows->ok = true;
    rows->worst = rows->count - 1;
    for (size_t i = rows->count; i-- > 0;) {
        struct row *closing = &rows->rows[i];
        if (!row_is_closing(closing))
            continue;
        if (failed && row_status(closing) != STATUS_launch_failed)
            row_add_warning(closing, text_string(&words));
        explain_stop(rows, end, closing);
        if (gravity(closing) >= gravity(&rows->rows[rows->worst]))
            rows->worst = i;
        rows->ok = rows->ok && row_status(closing) == STATUS_ok;
        rows->device_lost = rows->device_lost || row_status(closing) == STATUS_device_lost;
    }
    text_release(&words);
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
        int status = row_status(row);
        if (rules_apply(RULE_IF(files_changed, true), &status) != 0)
            row_set_status(row, (enum status)status);
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
    text_release(&rows->lost);
    *rows = (struct run_rows){.rows = NULL};
}
