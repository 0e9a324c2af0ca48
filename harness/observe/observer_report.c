#include "harness/observe/observer_report.h"
#include "harness/base/file.h"
#include "harness/observe/neighbour.h"
#include "harness/observe/child_rows.h"
#include "harness/protocol/shard.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_KEPT (256u << 10) /* bytes of standard error that are read for a cause */

static void add_warning(struct verdict *verdict, const char *warning)
{
    text_addf(&verdict->warning, "%s%s", verdict->warning.length > 0 ? "; " : "", warning);
}

/* What the card says about the verdict: a refusal beside a neighbour who moved judges nothing.
 */
static void judge_card(const struct observer *observer, const struct sampler *sampler,
                       const struct phase_record *record, struct verdict *verdict)
{
    const struct card *card = &observer->card;
    struct text moved = TEXT_INIT;
    text_add(&moved, "use of the card by others moved during the run: ");
    if (neighbour_moved(card, sampler, record, &moved)) {
        add_warning(verdict, text_string(&moved));
        if (verdict->status == STATUS_oom || verdict->status == STATUS_oom_suspected)
            verdict->status = STATUS_dirty;
    }
    text_release(&moved);
    if (sampler->all.count > 0 && !sampler->all.own_peak.known && card_is_mute(card))
        add_warning(verdict, card->trusts_pids
                                 ? "memory by process: not told by the driver"
                                 : "memory by process: not to be told in a pid namespace");
}

/* What follows from another rank's failure is no cause of its own. */
static void judge_peers(const struct observer *observer, struct verdict *verdict)
{
    bool follows = verdict->status == STATUS_stopped || verdict->status == STATUS_error ||
                   verdict->status == STATUS_crashed || verdict->status == STATUS_oom_suspected;
    if (observer->told_ns == 0 || !follows)
        return;
    bool by_us = verdict->status == STATUS_stopped;
    char *own = xstrdup(by_us ? "ended by us" : text_string(&verdict->error));
    verdict->status = STATUS_stopped;
    verdict->refused_by = NULL;
    text_clear(&verdict->error);
    text_addf(&verdict->error, "rank %llu failed first: %.400s",
              (unsigned long long)observer->failed_first, own);
    free(own);
}

int observer_report(struct observer *observer, const struct ending *ending,
                    const struct sampler *sampler, struct reading wall, struct text *why)
{
    struct phase_record record = {.hello = ROW_INIT};
    struct text words = TEXT_INIT, ignored = TEXT_INIT, unread = TEXT_INIT;
    struct ending seen = *ending;
    struct verdict verdict;
    struct row *rows = NULL;
    size_t count = 0;
    if (phases_read(observer->phases, observer->live, &record, &unread) != 0)
        seen.unread = text_string(&unread);
    if (file_read_tail(observer->errors, WORDS_KEPT, &words, &ignored) != 0)
        text_clear(&words); /* said nothing that can be read */
    classify(&seen, &record, &words, &verdict);
    judge_card(observer, sampler, &record, &verdict);
    judge_peers(observer, &verdict);
    observer->failed = verdict.status != STATUS_ok;
    card_to_row(&observer->card, &observer->about);
    const struct observation what = {.about = &observer->about,
                                     .record = &record,
                                     .sampler = sampler,
                                     .ending = ending,
                                     .verdict = &verdict,
                                     .wall_ns = wall,
                                     .card_bytes = observer->card.before.total};
    observe(&what, &rows, &count);
    int result = shard_finish(observer->shard, rows, count, why);
    rows_release(rows, count);
    text_release(&verdict.error);
    text_release(&verdict.warning);
    text_release(&words);
    text_release(&ignored);
    text_release(&unread);
    phase_record_release(&record);
    return result;
}

int observer_refuse(struct observer *observer, enum status status, const char *reason,
                    struct text *why)
{
    struct row closing = ROW_INIT;
    row_set_text(&closing, COLUMN_phase, "run");
    row_set_status(&closing, status);
    row_set_escaped(&closing, COLUMN_error, reason, strlen(reason));
    row_fill(&closing, &observer->about);
    int result = shard_finish(observer->shard, &closing, 1, why);
    row_release(&closing);
    return result;
}
