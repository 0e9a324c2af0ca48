#include "harness/observe/observer_report.h"
#include "harness/base/file.h"
#include "harness/protocol/shard.h"
#include "harness/verdict/child_rows.h"

#include <string.h>

#define WORDS_KEPT (256u << 10) /* bytes of standard error that are read for a cause */
#define ROOM 500                /* escaped bytes of a reason */

static struct card_use use_of(const struct card *card, const struct sampler *sampler)
{
    bool told = sampler->all.count == 0 || sampler->all.own_peak.known;
    return (struct card_use){.watched = card->nvml != NULL && !card->shared,
                             .total = card->before.total,
                             .before = card->before.used,
                             .after = card->used_after,
                             .foreign_before = card->foreign_before,
                             .foreign_after = card->foreign_after,
                             .others_least = sampler->others_least,
                             .others_most = sampler->others_most,
                             .mute = told ? NULL : card_mute(card)};
}

int observer_report(struct observer *observer, const struct ending *ending,
                    const struct sampler *sampler, struct reading wall, struct text *why)
{
    struct phase_record record = {.hello = ROW_INIT};
    struct text words = TEXT_INIT, unread = TEXT_INIT;
    struct ending seen = *ending;
    struct child_rows made;
    if (phases_read(observer->phases, observer->live, &record, &unread) != 0)
        seen.unread = text_string(&unread);
    may_fail(file_read_tail(observer->errors, WORDS_KEPT, &words, NULL));
    card_to_row(&observer->card, &observer->about);
    const struct child_facts facts = {.about = &observer->about,
                                      .record = &record,
                                      .words = &words,
                                      .ending = &seen,
                                      .card = use_of(&observer->card, sampler),
                                      .failed_first = observer->told_ns != 0
                                                          ? reading_of(observer->failed_first)
                                                          : reading_missing(),
                                      .wall_ns = wall};
    child_rows_make(&facts, &made);
    observer->failed = made.failed;
    sampler_to_rows(sampler, made.rows, made.count);
    int result = shard_finish(observer->shard, made.rows, made.count, why);
    child_rows_release(&made);
    text_release(&words);
    text_release(&unread);
    phase_record_release(&record);
    return result;
}

int observer_refuse(struct observer *observer, enum rule rule, struct text *why)
{
    const struct phase_record silent = {.hello = ROW_INIT};
    const struct child_facts facts = {.about = &observer->about, .record = &silent};
    const struct text *reason = &observer->refusal;
    struct verdict verdict;
    struct child_rows made;
    classify_unseen(UINT64_C(1) << rule, &verdict);
    text_add_escaped(&verdict.error, text_string(reason), reason->length, ROOM);
    child_rows_of(&facts, &verdict, &made);
    int result = shard_finish(observer->shard, made.rows, made.count, why);
    child_rows_release(&made);
    text_release(&verdict.error);
    return result;
}
