#include "harness/observe/observer.h"
#include "harness/base/clock.h"
#include "harness/observe/observer_report.h"
#include "harness/observe/oomkill.h"
#include "harness/protocol/shard.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 1500000000u /* for a killed tree to be gone */
#define HURRY_NS 400000000u     /* the same when the launcher is about to kill us too */
#define RETURN_NS 1000000000u   /* for a card to have a dead child's memory back */
#define GRACE_NS 2000000000u    /* for a child whose peer has failed to end by itself */

/* --- before the child --- */

int observer_start(struct observer *observer, struct text *why)
{
    const struct rank_setting *setting = observer->setting;
    char host[256] = "";
    struct text name = TEXT_INIT;
    char *path = shard_path(setting->run_folder, observer->rank);
    gethostname(host, sizeof host - 1);
    text_addf(&name, "h-%s", host);
    row_set_count(&observer->about, COLUMN_rank, observer->rank);
    row_set_text(&observer->about, COLUMN_host, text_string(&name));
    observer->errors = shard_error_path(setting->run_folder, observer->rank);
    observer->phases = shard_phases_path(setting->live_folder, observer->rank);
    observer->live = shard_live_path(setting->live_folder, observer->rank);
    if (setting->trace)
        observer->trace = shard_trace_path(setting->run_folder, observer->rank);
    observer->shard = shard_create(path, why);
    text_release(&name);
    free(path);
    if (observer->shard < 0)
        return -1;
    return line_append(observer->shard, "start", &observer->about, why);
}

static const struct seat *seat_of(const struct observer *observer)
{
    return &observer->setting->seats[observer->rank];
}

int observer_prepare(struct observer *observer, struct text *why)
{
    const struct rank_setting *setting = observer->setting;
    const struct seat *seat = seat_of(observer);
    unlink(observer->live); /* left by an earlier run of the same command line */
    unlink(observer->phases);
    if (observer->trace != NULL)
        shard_drop_trace(setting->run_folder, observer->rank);
    if (live_create(observer->live, why) != 0)
        return -1;
    if (!seat_has_card(seat)) /* of a card the child tells it */
        row_set_reading(&observer->about, COLUMN_device_capacity_bytes, seat->capacity);
    observer->state = CARD_LOST;
    if (card_open(&observer->card, seat, &observer->refusal) != 0)
        return 0;
    observer->state = card_settle(&observer->card, seat->baseline, setting->settle,
                                  observer->watch, &observer->refusal);
    card_to_row(&observer->card, &observer->about);
    return observer->state == CARD_INTERRUPTED ? 1 : 0;
}

/* --- the child --- */

static void add_words_of_rank(const struct observer *observer, struct words *words)
{
    char *fault = rank_fault(observer->setting->fault, observer->rank);
    words_add(words, observer->program);
    for (char *const *word = observer->child + 1; *word != NULL; word++)
        words_add(words, *word);
    seat_add_words(seat_of(observer), words);
    if (fault != NULL)
        words_addf(words, "--fault=%s", fault);
    if (observer->trace != NULL)
        words_addf(words, "--trace=%s", observer->trace);
    free(fault);
}

static void add_environment(const struct observer *observer, struct words *environment)
{
    words_addf(environment, "%s=%s", PHASES_VARIABLE, observer->phases);
    words_addf(environment, "%s=%s", LIVE_VARIABLE, observer->live);
    seat_add_environment(seat_of(observer), environment);
}

static int start_child(const struct observer *observer, struct child *child, struct text *why)
{
    struct words words = WORDS_INIT, environment = WORDS_INIT;
    add_words_of_rank(observer, &words);
    add_environment(observer, &environment);
    const struct child_plan plan = {.argv = (const char *const *)words.word,
                                    .environment = (const char *const *)environment.word,
                                    .error_path = observer->errors};
    int result = child_start(&plan, child, why);
    words_release(&words);
    words_release(&environment);
    return result;
}

/* One look at card, page and control group while the child lives. */
static void look(struct observer *observer, const struct child *child,
                 const struct live_page *page, struct sampler *sampler, struct oomkill *oomkill)
{
    struct card_sample sample;
    struct live_state before, after;
    oomkill_follow(oomkill, child->pid);
    bool spoke = page != NULL && live_read(page, 0, &before);
    if (!card_sample(&observer->card, child, &sample))
        return;
    /* A reading belongs to a phase only if the page named that phase before and after it, and
     * the phase file shows no end of it. */
    bool inside = spoke && live_read(page, 0, &after) && live_same_phase(&before, &after) &&
                  phases_running(observer->phases);
    sampler_take(sampler, &sample, inside ? &after : NULL, clock_monotonic_ns());
}

/* True when a peer has failed and the time that the child is given after that is over. */
static bool is_to_stop(struct observer *observer, uint64_t now_ns)
{
    const struct observer_peers *peers = observer->peers;
    if (peers == NULL)
        return false;
    if (observer->told_ns == 0 && peers->told(peers->user, &observer->failed_first))
        observer->told_ns = now_ns;
    return observer->told_ns != 0 && now_ns >= observer->told_ns + GRACE_NS;
}

/* Sleeps until the child ends, its time is up or we are told to stop. */
static enum ended_by watch_child(struct observer *observer, const struct child *child,
                                 struct sampler *sampler, struct oomkill *oomkill)
{
    const struct rank_setting *setting = observer->setting;
    uint64_t deadline = child->started_ns + setting->timeout, next = child->started_ns;
    struct live_page *page = NULL;
    enum ended_by by = ENDED_BY_TIMEOUT;
    if (live_open(observer->live, &page, NULL) != 0)
        page = NULL; /* without it samples belong to no phase */
    for (;;) {
        int signal = 0;
        uint64_t until = next < deadline ? next : deadline;
        enum watch_event event =
            watch_wait(observer->watch, child->pid, child->pidfd, until, &signal);
        uint64_t now = clock_monotonic_ns();
        if (event == WATCH_ENDED) {
            by = ENDED_BY_ITSELF;
            break;
        }
        /* A rank that was stopped itself wakes to a signal and a deadline long past: the time
         * that was up first is the cause. */
        if (now >= deadline)
            break;
        if (event == WATCH_SIGNAL) {
            by = ENDED_BY_STOP;
            break;
        }
        if (is_to_stop(observer, now)) {
            by = ENDED_BY_STOP;
            break;
        }
        look(observer, child, page, sampler, oomkill);
        next = now + setting->sample;
    }
    live_close(page);
    return by;
}

/* --- from its start to its shard --- */

static int run_child(struct observer *observer, struct child *child, struct text *why)
{
    struct sampler sampler = {.last_ns = 0};
    struct oomkill oomkill = OOMKILL_INIT;
    struct child_end end = {.reaped = false};
    oomkill_follow(&oomkill, child->pid);
    enum ended_by by = watch_child(observer, child, &sampler, &oomkill);
    child_end(child, by != ENDED_BY_ITSELF, by == ENDED_BY_STOP ? HURRY_NS : PATIENCE_NS, &end);
    card_look_after(&observer->card, by == ENDED_BY_STOP ? 0 : RETURN_NS);
    const struct ending ending = {.by = by,
                                  .reaped = end.reaped,
                                  .wait_status = end.status,
                                  .host_killed = oomkill_happened(&oomkill),
                                  .device_lost = observer->card.lost,
                                  .speaks_phases = observer->setting->speaks_phases,
                                  .left_over = end.left_over};
    int result = observer_report(observer, &ending, &sampler,
                                 reading_of(child->ended_ns - child->started_ns), why);
    if (observer->peers != NULL && observer->failed && observer->told_ns == 0)
        observer->peers->tell(observer->peers->user);
    sampler_release(&sampler);
    oomkill_release(&oomkill);
    return result;
}

int observer_run(struct observer *observer, struct text *why)
{
    struct child child;
    struct text started = TEXT_INIT;
    text_add_utc(&started, clock_realtime_ns());
    row_set_text(&observer->about, COLUMN_started_utc, text_string(&started));
    text_release(&started);
    if (line_append(observer->shard, "begin", &observer->about, why) != 0)
        return -1;
    if (observer->state != CARD_READY)
        return observer_refuse(
            observer, observer->state == CARD_DIRTY ? RULE_card_in_use : RULE_card_gone, why);
    text_clear(&observer->refusal);
    if (start_child(observer, &child, &observer->refusal) != 0)
        return observer_refuse(observer, RULE_not_started, why);
    return run_child(observer, &child, why);
}

void observer_close(struct observer *observer)
{
    if (observer->shard >= 0)
        close(observer->shard);
    card_close(&observer->card);
    row_release(&observer->about);
    text_release(&observer->refusal);
    free(observer->errors);
    free(observer->phases);
    free(observer->live);
    free(observer->trace);
}
