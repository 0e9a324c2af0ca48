#include "harness/base/process.h"

#include "harness/base/clock.h"
#include "tests/unit/folder_bed.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define SECOND 1000000000ull
#define HANGS (300 * SECOND) /* no machine is that busy */

static int enter(void **state)
{
    process_become_reaper();
    for (int fd = 3; fd < 64; fd++) /* what whoever started the test left open: we count ours */
        close(fd);
    return enter_folder(state);
}

static uint64_t in(uint64_t nanoseconds)
{
    return clock_monotonic_ns() + nanoseconds;
}

/* Runs a shell script to its end; what it printed is in the file "out". */
static int run_script(const char *script, struct process_plan plan)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct text why = TEXT_INIT;
    pid_t pid;
    int pidfd, status = -1;
    unlink("out");
    plan.argv = argv;
    plan.output_path = "out";
    if (process_start(&plan, &pid, &pidfd, &why) != 0)
        fail_msg("%s", text_string(&why));
    assert_int_equal(process_wait(pid, pidfd, in(HANGS), &status), 1);
    close(pidfd);
    text_release(&why);
    return status;
}

static void assert_out(const char *wanted)
{
    struct text out = TEXT_INIT, why = TEXT_INIT;
    assert_int_equal(file_read("out", 0, &out, &why), 0);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
}

/* The pid that a script wrote into a file, waited for. */
static pid_t pid_in(const char *path)
{
    long pid = 0;
    for (int i = 0; i < 100000 && pid == 0; i++) {
        FILE *file = fopen(path, "re");
        if (file != NULL) {
            if (fscanf(file, "%ld", &pid) != 1)
                pid = 0;
            fclose(file);
        }
        clock_sleep_ns(1000000);
    }
    assert_true(pid > 0);
    return (pid_t)pid;
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

static void tells_how_it_ended(void **state)
{
    (void)state;
    int status = run_script("exit 7", (struct process_plan){0});
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    status = run_script("kill -SEGV $$", (struct process_plan){.no_core = true});
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_false(WCOREDUMP(status));
}

static void output_is_appended(void **state)
{
    (void)state;
    struct process_plan plan = {.error_path = "err"};
    run_script("echo to-error >&2; echo out", plan);
    run_script("echo again >&2; cat; echo out", plan);
    assert_out("out\n"); /* and cat read nothing from the null device */
    struct text err = TEXT_INIT, why = TEXT_INIT;
    assert_int_equal(file_read("err", 0, &err, &why), 0);
    assert_string_equal(text_string(&err), "to-error\nagain\n");
    text_release(&err);
}

static void exec_failure_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *program, *folder, *words;
    } bad[] = {
        {"no-such-program-anywhere", NULL, "No such file"},
        {"/etc/passwd", NULL, "Permission denied"},
        {"true", "/no/such/folder", "change folder"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *argv[] = {bad[i].program, NULL};
        struct process_plan plan = {.argv = argv, .folder = bad[i].folder};
        struct text why = TEXT_INIT;
        pid_t pid = -5;
        int pidfd = -5;
        assert_int_equal(process_start(&plan, &pid, &pidfd, &why), PROCESS_BAD);
        assert_true(pid == -5 && pidfd == -5);
        assert_non_null(strstr(text_string(&why), bad[i].program));
        assert_non_null(strstr(text_string(&why), bad[i].words));
        text_release(&why);
    }
    const char *argv[] = {"true", NULL};
    struct process_plan plan = {.argv = argv, .output_path = "/no/such/folder/out"};
    struct text why = TEXT_INIT;
    pid_t pid;
    int pidfd;
    assert_int_equal(process_start(&plan, &pid, &pidfd, &why), PROCESS_STARVED);
    assert_non_null(strstr(text_string(&why), "/no/such/folder/out"));
    text_release(&why);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nothing left to reap */
}

/* Fewer descriptors than it takes, one more each time: nothing is started, nothing stays open,
 * and it is not the program's fault. */
static void too_few_descriptors(void **state)
{
    (void)state;
    const char *argv[] = {"true", NULL};
    struct process_plan plan = {.argv = argv};
    struct rlimit before, limit;
    int first = open("/dev/null", O_RDONLY | O_CLOEXEC), refused = 0;
    assert_true(first >= 0);
    close(first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (rlim_t most = (rlim_t)first;; most++) {
        struct text why = TEXT_INIT;
        pid_t pid;
        int pidfd, status;
        limit = (struct rlimit){most, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        int started = process_start(&plan, &pid, &pidfd, &why);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (started == 0) {
            assert_int_equal(process_wait(pid, pidfd, in(HANGS), &status), 1);
            close(pidfd);
        } else {
            assert_int_equal(started, PROCESS_STARVED);
            assert_int_equal(next, first);
            assert_non_null(strstr(text_string(&why), "Too many open files"));
        }
        close(next);
        text_release(&why);
        refused += started != 0;
        if (started == 0)
            break;
    }
    assert_int_equal(refused, 5); /* three standard ones, and a pipe */
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static int open_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void starts_clean(void **state)
{
    (void)state;
    int before = open_descriptors();
    int leak = open("/dev/null", O_RDONLY), high = fcntl(leak, F_DUPFD, 900);
    assert_true(leak >= 0 && high >= 900);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    char low_name[32], high_name[32];
    snprintf(low_name, sizeof low_name, "LOW=%d", leak);
    snprintf(high_name, sizeof high_name, "HIGH=%d", high);
    const char *added[] = {low_name, high_name, NULL};
    run_script("for fd in 0 1 2 $LOW $HIGH; do test -e /proc/$$/fd/$fd && echo $fd; done; "
               "grep -E '^Sig(Blk|Ign)' /proc/$$/status | cut -f2",
               (struct process_plan){.environment = added});
    signal(SIGPIPE, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    close(leak);
    close(high);
    assert_out("0\n1\n2\n0000000000000000\n0000000000000000\n");
    assert_int_equal(open_descriptors(), before);
}

static void own_group_environment_and_folder(void **state)
{
    (void)state;
    setenv("OMPI_COMM_WORLD_RANK", "3", 1);
    setenv("KEPT", "kept", 1);
    setenv("REPLACED", "old", 1);
    const char *added[] = {"REPLACED=new", "ADDED=a=b c", "OMPI_OURS=1", NULL};
    const char *dropped[] = {"OMPI_", "PMIX_", NULL};
    run_script(
        "test $(ps -o pgid= -p $$) = $$ && echo group; pwd; "
        "echo \"$KEPT|$REPLACED|$ADDED|$OMPI_COMM_WORLD_RANK|$OMPI_OURS\"; "
        "env | grep -c ^REPLACED",
        (struct process_plan){.environment = added, .drop_prefixes = dropped, .folder = "/"});
    assert_out("group\n/\nkept|new|a=b c||1\n1\n");
}

static void raises_oom_score(void **state)
{
    (void)state;
    run_script("cat /proc/$$/oom_score_adj; ulimit -c",
               (struct process_plan){.oom_score = 900, .no_core = true});
    assert_out("900\n0\n");
}

static volatile sig_atomic_t alarms;
static void on_alarm(int number)
{
    (void)number;
    alarms++;
}

static void waits_until_the_deadline(void **state)
{
    (void)state;
    const char *argv[] = {"sleep", "100", NULL};
    struct process_plan plan = {.argv = argv};
    struct text why = TEXT_INIT;
    pid_t pid;
    int pidfd, status = 77;
    assert_int_equal(process_start(&plan, &pid, &pidfd, &why), 0);
    uint64_t start = clock_monotonic_ns();
    assert_int_equal(process_wait(pid, pidfd, in(SECOND / 10), &status), 0);
    uint64_t took = clock_monotonic_ns() - start;
    assert_true(took >= SECOND / 10); /* and not for the child, which is still there */
    assert_int_equal(process_wait(pid, pidfd, 0, &status), 0);
    assert_int_equal(status, 77);

    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    ualarm(50000, 50000); /* again and again: the first may come before the wait */
    assert_int_equal(process_wait(pid, pidfd, in(HANGS), &status), -1);
    ualarm(0, 0);
    assert_true(alarms >= 1);

    kill(pid, SIGKILL);
    assert_int_equal(process_wait(pid, pidfd, UINT64_MAX, &status), 1);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(pidfd);
    /* the same where the kernel has no pidfd */
    assert_int_equal(process_start(&plan, &pid, &pidfd, &why), 0);
    assert_int_equal(process_wait(pid, -1, in(SECOND / 10), &status), 0);
    kill(pid, SIGKILL);
    assert_int_equal(process_wait(pid, -1, in(HANGS), &status), 1);
    close(pidfd);
}

/* The process between us and the child is killed outright: the child follows. */
static void dies_with_its_parent(void **state)
{
    (void)state;
    pid_t between = fork();
    if (between == 0) {
        const char *argv[] = {"sh", "-c", "trap '' TERM; echo $$ > child; sleep 100", NULL};
        struct process_plan plan = {.argv = argv, .death_signal = SIGKILL};
        struct text why = TEXT_INIT;
        pid_t pid;
        int pidfd;
        int failed = process_start(&plan, &pid, &pidfd, &why);
        pause();
        _exit(failed ? 1 : 0);
    }
    pid_t child = pid_in("child");
    assert_false(is_gone(child));
    kill(between, SIGKILL);
    assert_int_equal(waitpid(between, NULL, 0), between);
    int status;
    assert_int_equal(process_wait(child, -1, in(HANGS), &status), 1);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(process_sweep(0, in(HANGS)), 1); /* its sleep */
}

/* Every way out of a process group, of a session and of a parent's sight. */
static void sweeps_the_whole_tree(void **state)
{
    (void)state;
    static const char script[] =
        "trap '' TERM HUP INT\n"
        "sleep 100 & echo $! > plain\n"
        "setsid sh -c 'echo $$ > session; exec sleep 100' &\n"
        "(setsid sh -c '(sh -c \"echo \\$\\$ > double; exec sleep 100\" &) ; exit 0' &) \n"
        "sh -c 'echo $$ > stopped; kill -STOP $$; sleep 100' &\n"
        "sh -c 'sh -c \"sh -c \\\"echo \\\\\\$\\\\\\$ > deep; exec sleep 100\\\" & wait\" & "
        "wait' &\n"
        "echo $$ > top; while :; do sleep 100; done\n";
    const char *argv[] = {"sh", "-c", script, NULL};
    static const char *const files[] = {"plain", "session", "double", "stopped", "deep", "top"};
    struct process_plan plan = {.argv = argv};
    struct text why = TEXT_INIT;
    pid_t pid, found[6];
    int pidfd;
    assert_int_equal(process_start(&plan, &pid, &pidfd, &why), 0);
    for (size_t i = 0; i < 6; i++)
        found[i] = pid_in(files[i]);
    clock_sleep_ns(SECOND / 20);
    int killed = process_sweep(0, in(HANGS));
    assert_true(killed >= 6);
    for (size_t i = 0; i < 6; i++)
        if (!is_gone(found[i]))
            fail_msg("%s survived", files[i]);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(process_sweep(0, in(HANGS)), 0);
    close(pidfd);
}

static void spares_and_does_not_count_the_dead(void **state)
{
    (void)state;
    const char *sleeper[] = {"sleep", "100", NULL}, *ended[] = {"true", NULL};
    struct process_plan plan = {.argv = sleeper};
    struct text why = TEXT_INIT;
    pid_t spared, dead;
    int spared_fd, dead_fd, status;
    assert_int_equal(process_start(&plan, &spared, &spared_fd, &why), 0);
    plan.argv = ended;
    assert_int_equal(process_start(&plan, &dead, &dead_fd, &why), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)dead, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_sweep(spared, in(HANGS)), 0);
    assert_true(is_gone(dead));
    assert_int_equal(process_wait(spared, spared_fd, 0, &status), 0);
    assert_int_equal(process_sweep(0, in(HANGS)), 1);
    assert_true(is_gone(spared));
    close(spared_fd);
    close(dead_fd);
}

/* New ones all the time: found as long as they come. */
static void outruns_a_forking_child(void **state)
{
    (void)state;
    const char *argv[] = {
        "sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i+1)); setsid sleep 100 & done; wait",
        NULL};
    struct process_plan plan = {.argv = argv};
    struct text why = TEXT_INIT;
    pid_t pid;
    int pidfd;
    assert_int_equal(process_start(&plan, &pid, &pidfd, &why), 0);
    clock_sleep_ns(SECOND / 50);
    assert_true(process_sweep(0, in(HANGS)) > 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    close(pidfd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_how_it_ended),
        cmocka_unit_test(output_is_appended),
        cmocka_unit_test(exec_failure_is_told),
        cmocka_unit_test(too_few_descriptors),
        cmocka_unit_test(starts_clean),
        cmocka_unit_test(own_group_environment_and_folder),
        cmocka_unit_test(raises_oom_score),
        cmocka_unit_test(waits_until_the_deadline),
        cmocka_unit_test(dies_with_its_parent),
        cmocka_unit_test(sweeps_the_whole_tree),
        cmocka_unit_test(spares_and_does_not_count_the_dead),
        cmocka_unit_test(outruns_a_forking_child),
    };
    return cmocka_run_group_tests(tests, enter, leave_folder);
}
