/* Test builds only: the shards of a run as its ranks would write them if every prediction came
 * true, without a launch. For studies of many runs, and for cutting tables. */
#include "harness/drive/driver.h"
#include "harness/protocol/shard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The rows that a child's phases would become, and the closing row. */
static int write_shard(int fd, const struct prediction *plan, uint64_t rank, struct text *why)
{
    struct row *rows = xcalloc(plan->count + 1, sizeof *rows);
    struct row *closing = &rows[0];
    size_t count = 0;
    for (size_t i = 0; i < plan->count; i++)
        if (row_status(&plan->rows[i]) != STATUS_not_reached)
            row_copy(&rows[count++], &plan->rows[i]);
    closing = &rows[count++];
    row_set_text(closing, COLUMN_phase, "run");
    row_set_status(closing, plan->fits ? STATUS_ok : STATUS_oom);
    if (!plan->fits) {
        row_set_text(closing, COLUMN_failed_phase, text_string(&plan->failed_phase));
        row_set_text(closing, COLUMN_refused_by, "device");
    }
    for (size_t i = 0; i < count; i++)
        row_set_count(&rows[i], COLUMN_rank, rank);
    int result = line_append(fd, "start", NULL, why);
    if (result == 0)
        result = line_append(fd, "begin", NULL, why);
    if (result == 0)
        result = shard_finish(fd, rows, count, why);
    for (size_t i = 0; i < count; i++)
        row_release(&rows[i]);
    free(rows);
    return result;
}

static int stand_in_rank(const struct run_facts *facts, uint64_t rank, struct text *why)
{
    const struct seat *seat = &facts->placement->seats[rank];
    struct prediction plan;
    if (plan_predict(facts->study, &facts->run->point, facts->run->phases, seat, &plan, why) !=
        0)
        return -1;
    char *path = shard_path(facts->run_folder, rank);
    int fd = shard_create(path, why);
    int result = fd >= 0 ? write_shard(fd, &plan, rank, why) : -1;
    if (fd >= 0 && close(fd) != 0 && result == 0) {
        text_add(why, strerror(errno));
        result = -1;
    }
    if (fd >= 0 && result != 0)
        text_addf(why, " (%s)", path);
    free(path);
    prediction_release(&plan);
    return result;
}

bool stand_in_is_asked_for(void)
{
    return getenv("HIGHWATER_TEST_INSTANT") != NULL;
}

int stand_in(const struct run_facts *facts, struct text *why)
{
    for (uint64_t rank = 0; rank < facts->placement->ranks; rank++)
        if (stand_in_rank(facts, rank, why) != 0)
            return -1;
    return 0;
}
