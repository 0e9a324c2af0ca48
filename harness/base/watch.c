#include "harness/base/watch.h"
#include "harness/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define GLANCE_NS 5000000u /* between two looks at a process without a descriptor */

int watch_open(struct watch *watch, struct text *why)
{
    struct watch opened = {.signals = -1};
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_BLOCK, &ours, &opened.before);
    opened.signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    if (opened.signals < 0) {
        text_addf(why, "signalfd: %s", strerror(errno));
        sigprocmask(SIG_SETMASK, &opened.before, NULL);
        return -1;
    }
    *watch = opened;
    return 0;
}

void watch_close(struct watch *watch)
{
    close(watch->signals);
    sigprocmask(SIG_SETMASK, &watch->before, NULL);
}

static bool take_signal(const struct watch *watch, int *signal)
{
    struct signalfd_siginfo info;
    if (read(watch->signals, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    *signal = (int)info.ssi_signo;
    return true;
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}

enum watch_event watch_wait(const struct watch *watch, pid_t pid, int pidfd, uint64_t until_ns,
                            int *signal)
{
    bool blind = pid != 0 && pidfd < 0;
    for (;;) {
        uint64_t now = clock_monotonic_ns();
        uint64_t left = until_ns > now ? until_ns - now : 0;
        if (blind && left > GLANCE_NS)
            left = GLANCE_NS;
        struct timespec wait = {.tv_sec = (time_t)(left / 1000000000u),
                                .tv_nsec = (long)(left % 1000000000u)};
        /* A negative descriptor is skipped by ppoll. */
        struct pollfd fds[2] = {{.fd = pidfd, .events = POLLIN},
                                {.fd = watch->signals, .events = POLLIN}};
        int ready = ppoll(fds, 2, &wait, NULL);
        if ((ready > 0 && fds[0].revents != 0) || (blind && has_ended(pid)))
            return WATCH_ENDED;
        if (ready > 0 && fds[1].revents != 0 && take_signal(watch, signal))
            return WATCH_SIGNAL;
        if (clock_monotonic_ns() >= until_ns)
            return WATCH_TIME;
    }
}
