#include "harness/base/units.h"
#include "harness/workload/session_inside.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static void fire_host_oom(struct session *session)
{
    struct refusal refusal = {.by = "host"};
    session_refused(session, OUTCOME_HOST_OOM, &refusal);
}

static void die_by(int signal_number)
{
    signal(signal_number, SIG_DFL); /* a sanitizer's handler would turn it into an exit */
    kill(getpid(), signal_number);
    for (;;)
        pause();
}

static void fire_kill(struct session *session)
{
    (void)session;
    die_by(SIGKILL);
}

static void fire_segv(struct session *session)
{
    (void)session;
    die_by(SIGSEGV);
}

static void fire_hang(struct session *session)
{
    (void)session;
    for (;;)
        pause();
}

static void fire_setsid(struct session *session)
{
    posix_spawnattr_t attributes;
    pid_t pid;
    char *const argv[] = {"sleep", "300", NULL};
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    if (posix_spawnp(&pid, argv[0], NULL, &attributes, argv, environ) != 0)
        session_fail(session, STATUS_error, "fault: cannot start sleep");
    else
        fire_hang(session);
}

static void fire_exit(struct session *session)
{
    fprintf(stderr, "fault: exit %d in the middle of phase %s\n", session->fault.exit_code,
            session->phase);
    _exit(session->fault.exit_code);
}

static void fire_illegal_access(struct session *session)
{
    const struct ops *ops = session->backend->ops;
    if (!ops || !ops->violate)
        session_fail(session, STATUS_error, "illegal access (fault on a device without one)");
    else
        session_check(session, ops->violate(&session->device));
}

static const struct fault_kind kinds[] = {
    {"oom", NULL},        {"host_oom", fire_host_oom},
    {"kill", fire_kill},  {"segv", fire_segv},
    {"hang", fire_hang},  {"setsid", fire_setsid},
    {"exit-", fire_exit}, {"illegal-access", fire_illegal_access},
};

static const struct fault_kind *find_kind(const char *words, int *exit_code)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct fault_kind *kind = &kinds[i];
        if (kind->fire != fire_exit) {
            if (strcmp(words, kind->name) == 0)
                return kind;
            continue;
        }
        uint64_t code;
        if (text_starts_with(words, kind->name) &&
            parse_count(words + strlen(kind->name), &code, NULL) == 0 && code <= 255) {
            *exit_code = (int)code;
            return kind;
        }
    }
    return NULL;
}

int fault_parse(const char *words, const char *const *phases, struct fault *fault,
                struct text *why)
{
    struct fault parsed = {.armed = false};
    if (!words || !words[0]) {
        *fault = parsed;
        return 0;
    }
    const char *colon = strchr(words, ':');
    size_t length = colon ? (size_t)(colon - words) : 0;
    size_t i = 0;
    while (colon && phases[i] &&
           (strlen(phases[i]) != length || memcmp(phases[i], words, length) != 0))
        i++;
    if (!colon || !phases[i]) {
        text_addf(why, "fault %s: must be PHASE:KIND, PHASE one of", words);
        for (i = 0; phases[i]; i++)
            text_addf(why, " %s", phases[i]);
        return -1;
    }
    parsed.kind = find_kind(colon + 1, &parsed.exit_code);
    if (!parsed.kind || length >= sizeof parsed.phase) {
        text_addf(why,
                  "fault %s: KIND must be one of oom host_oom kill segv hang setsid "
                  "exit-N (N at most 255) illegal-access",
                  words);
        return -1;
    }
    memcpy(parsed.phase, words, length);
    *fault = parsed;
    return 0;
}

static void fire(struct session *session)
{
    struct fault *fault = &session->fault;
    if (!fault->armed || !fault->kind->fire)
        return;
    fault->armed = false;
    fault->kind->fire(session);
}

void fault_at_begin(struct session *session)
{
    struct fault *fault = &session->fault;
    if (fault->fired || !fault->phase[0] || strcmp(fault->phase, session->part) != 0)
        return;
    fault->armed = fault->fired = true;
    if (!fault->kind->fire && session->memory)
        memory_refuse_next(session->memory);
}

void fault_at_block(void *session)
{
    fire(session);
}

void fault_at_stop(struct session *session)
{
    struct refusal refusal = {.by = "device"};
    if (!session->fault.armed)
        return;
    if (session->fault.kind->fire)
        fire(session);
    else
        session_refused(session, OUTCOME_OOM, &refusal); /* it asked for nothing */
}
