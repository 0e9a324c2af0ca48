#include "harness/workload/fault.h"
#include "harness/base/units.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char *const kinds[] = {
    [FAULT_OOM] = "oom",    [FAULT_HOST_OOM] = "host_oom",
    [FAULT_KILL] = "kill",  [FAULT_SEGV] = "segv",
    [FAULT_HANG] = "hang",  [FAULT_SETSID] = "setsid",
    [FAULT_EXIT] = "exit-", [FAULT_ILLEGAL_ACCESS] = "illegal-access",
};

static int parse_kind(const char *words, struct fault *fault)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t code;
        fault->kind = (enum fault_kind)i;
        if (i != FAULT_EXIT && strcmp(words, kinds[i]) == 0)
            return 0;
        if (i == FAULT_EXIT && text_starts_with(words, kinds[i]) &&
            parse_count(words + strlen(kinds[i]), &code, NULL) == 0 && code <= 255) {
            fault->exit_code = (int)code;
            return 0;
        }
    }
    return -1;
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
    if (parse_kind(colon + 1, &parsed) != 0 || length >= sizeof parsed.phase) {
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

bool fault_arm(struct fault *fault, const char *phase)
{
    if (fault->spent || !fault->phase[0] || strcmp(fault->phase, phase) != 0)
        return false;
    fault->armed = fault->spent = true;
    return true;
}

static void stop_for_ever(void)
{
    for (;;)
        pause();
}

static void die_by(int signal_number)
{
    signal(signal_number, SIG_DFL); /* a sanitizer's handler would turn it into an exit */
    kill(getpid(), signal_number);
    stop_for_ever();
}

static int leave_a_child(void)
{
    posix_spawnattr_t attributes;
    pid_t pid;
    char *const argv[] = {"sleep", "300", NULL};
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    return posix_spawnp(&pid, argv[0], NULL, &attributes, argv, environ);
}

void fault_strike(const struct fault *fault, const char *phase)
{
    if (fault->kind == FAULT_KILL)
        die_by(SIGKILL);
    if (fault->kind == FAULT_SEGV)
        die_by(SIGSEGV);
    if (fault->kind == FAULT_EXIT) {
        fprintf(stderr, "fault: exit %d in the middle of phase %s\n", fault->exit_code, phase);
        _exit(fault->exit_code);
    }
    if (fault->kind == FAULT_HANG || leave_a_child() == 0)
        stop_for_ever();
}
