#include "harness/drive/collect.h"
#include "harness/base/file.h"
#include "harness/drive/launcher.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define LAUNCHER_WORDS (16u << 10) /* bytes of the launcher's output that are read */
#define ROOM 400                   /* escaped bytes of them in a cell */
#define RANK_SPEAKS "highwater-rank: "

/* The lines that begin so; the launcher frames its own with lines of dashes. */
static void add_launcher_words(const char *run_folder, const char *start, struct text *out)
{
    char *path = launcher_output_path(run_folder);
    struct text words = TEXT_INIT, plain = TEXT_INIT;
    if (file_read_tail(path, LAUNCHER_WORDS, &words, NULL) == 0) {
        size_t at = 0, length;
        for (const char *line; (line = text_line(&words, &at, &length)) != NULL;)
            if (strspn(line, "-") < length && text_starts_with(line, start))
                text_addf(&plain, "%s%.*s", plain.length > 0 ? " " : "", (int)length, line);
    }
    text_add_escaped(out, text_string(&plain), plain.length, ROOM);
    text_release(&words);
    text_release(&plain);
    free(path);
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

/* What is not a rank's or its child's to say, of every row. */
static void decide(const struct run_facts *facts, uint64_t rank, struct row *decided)
{
    const struct study *study = facts->study;
    struct reading weights = reading_missing(), kv = reading_missing();
    plan_describe_study(study, decided);
    if (study->setting.workload->estimate != NULL)
        study->setting.workload->estimate(&facts->run->point, study->setting.dtype,
                                          study->setting.options, &weights, &kv);
    row_set_reading(decided, COLUMN_estimated_weights_bytes, weights);
    row_set_reading(decided, COLUMN_estimated_kv_bytes, kv);
    row_set_count(decided, COLUMN_rank, rank);
    if (facts->order > 0)
        row_set_count(decided, COLUMN_order, facts->order);
    row_set_count(decided, COLUMN_ranks, facts->placement->ranks);
    row_set_text(decided, COLUMN_program_version, "v" HIGHWATER_VERSION);
    row_set_count(decided, COLUMN_schema, ROW_SCHEMA);
}

/* Skipped, it left nothing. */
static int read_shard(const struct run_facts *facts, uint64_t rank, struct shard *shard,
                      struct text *why)
{
    if (facts->skipped != NULL)
        return 0;
    char *path = shard_path(facts->run_folder, rank);
    int result = shard_read(path, shard, why);
    if (result == 0 && !shard->complete)
        result = check_written(facts, path, why);
    free(path);
    return result;
}

/* What a lost rank's child left behind in its phase file and on its page. */
static void read_phases(const struct run_facts *facts, uint64_t rank,
                        struct phase_record *record, struct text *unread)
{
    char *phases = shard_phases_path(facts->live_folder, rank);
    char *live = shard_live_path(facts->live_folder, rank);
    if (phases_read(phases, live, record, unread) != 0)
        *record = (struct phase_record){.hello = ROW_INIT};
    free(phases);
    free(live);
}

static int collect_rank(const struct run_facts *facts, uint64_t rank, struct run_rows *rows,
                        struct text *why)
{
    const struct seat *seat = &facts->placement->seats[rank];
    struct shard shard = {.about = ROW_INIT};
    struct phase_record left = {.hello = ROW_INIT};
    struct row decided = ROW_INIT;
    struct prediction plan;
    struct text unread = TEXT_INIT, words = TEXT_INIT, unpredicted = TEXT_INIT;
    int result = read_shard(facts, rank, &shard, why);
    if (result == 0) {
        if (shard.begun && !shard.complete)
            read_phases(facts, rank, &left, &unread);
        else if (!shard.complete && facts->end->started)
            add_launcher_words(facts->run_folder, "", &words);
        else if (!shard.complete && facts->skipped == NULL)
            text_add_escaped(&words, facts->reason, strlen(facts->reason), ROOM);
        decide(facts, rank, &decided);
        bool predicted = plan_predict(facts->study, &facts->run->point, facts->run->phases,
                                      seat, &plan, &unpredicted) == 0;
        rank_rows_add(&(struct rank_facts){.rank = rank,
                                           .seat = seat,
                                           .shard = &shard,
                                           .left = &left,
                                           .unread = text_string(&unread),
                                           .skipped = facts->skipped,
                                           .end = facts->end,
                                           .launcher_words = text_string(&words),
                                           .started_ns = facts->started_ns,
                                           .run = facts->run,
                                           .decided = &decided,
                                           .plan = predicted ? &plan : NULL,
                                           .unpredicted = text_string(&unpredicted)},
                      rows);
        if (predicted)
            prediction_release(&plan);
    }
    shard_release(&shard);
    phase_record_release(&left);
    row_release(&decided);
    text_release(&unread);
    text_release(&words);
    text_release(&unpredicted);
    return result;
}

int collect_run(const struct run_facts *facts, struct run_rows *rows, struct text *why)
{
    struct run_rows made = {.rows = NULL};
    for (uint64_t rank = 0; rank < facts->placement->ranks; rank++)
        if (collect_rank(facts, rank, &made, why) != 0) {
            run_rows_release(&made);
            return -1;
        }
    run_rows_judge(&made, facts->end);
    *rows = made;
    return 0;
}
