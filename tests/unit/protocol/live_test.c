#include "harness/protocol/live.h"

#include "harness/base/clock.h"
#include "tests/unit/folder_bed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static struct live_page *open_new(void)
{
    struct live_page *page = NULL;
    struct text why = TEXT_INIT;
    unlink("page");
    if (live_create("page", &why) != 0 || live_open("page", &page, &why) != 0)
        fail_msg("%s", text_string(&why));
    return page;
}

/* A state in which every part tells the same number. */
static struct live_state numbered(uint64_t number)
{
    struct live_state state = {.pid = number, .repeat = {number, number % 2 == 0}};
    memset(state.phase, 'a' + (int)(number % 26), sizeof state.phase - 1);
    memset(state.pass, 'a' + (int)(number % 26), sizeof state.pass - 1);
    memset(state.refused_by, 'a' + (int)(number % 26), sizeof state.refused_by - 1);
    for (uint64_t i = 0; i < COUNTERS; i++)
        state.counters.value[i] = (struct reading){number + i, (number + i) % 3 != 0};
    return state;
}

static bool is_consistent(const struct live_state *state)
{
    struct live_state wanted = numbered(state->pid);
    bool same = strcmp(state->phase, wanted.phase) == 0 &&
                strcmp(state->pass, wanted.pass) == 0 &&
                strcmp(state->refused_by, wanted.refused_by) == 0 &&
                state->repeat.known == wanted.repeat.known &&
                (!state->repeat.known || state->repeat.value == wanted.repeat.value);
    for (int i = 0; i < COUNTERS && same; i++) {
        struct reading a = state->counters.value[i], b = wanted.counters.value[i];
        same = a.known == b.known && (!a.known || a.value == b.value);
    }
    return same;
}

static void publishes_and_reads(void **state)
{
    (void)state;
    struct live_page *page = open_new();
    struct live_state got;
    for (int i = 0; i < LIVE_SLOTS; i++)
        assert_false(live_read(page, i, &got));
    int slot = live_claim(page, 77);
    assert_int_equal(slot, 0);
    assert_true(live_read(page, slot, &got));
    assert_true(got.pid == 77 && got.phase[0] == '\0' && !got.repeat.known);
    for (int i = 0; i < COUNTERS; i++)
        assert_false(got.counters.value[i].known);
    for (uint64_t number = 1; number < 10; number++) {
        struct live_state sent = numbered(number);
        live_publish(page, slot, &sent);
        assert_true(live_read(page, slot, &got));
        assert_true(got.pid == number && is_consistent(&got));
    }
    /* zero is a value, not a missing one */
    struct live_state zero = {.pid = 77, .repeat = reading_of(0)};
    zero.counters.value[0] = reading_of(0);
    live_publish(page, slot, &zero);
    assert_true(live_read(page, slot, &got));
    assert_true(got.repeat.known && got.counters.value[0].known &&
                !got.counters.value[1].known);
    live_close(page);
    live_close(NULL);
}

static void slots_are_claimed_once(void **state)
{
    (void)state;
    struct live_page *page = open_new(), *other;
    struct text why = TEXT_INIT;
    assert_int_equal(live_open("page", &other, &why), 0);
    for (int i = 0; i < LIVE_SLOTS; i++)
        assert_int_equal(live_claim(i % 2 == 0 ? page : other, 100 + (uint64_t)i / 2), i);
    assert_int_equal(live_claim(page, 999), -1);
    for (int i = 0; i < LIVE_SLOTS; i++) {
        struct live_state got;
        assert_true(live_read(other, i, &got));
        assert_true(got.pid == 100 + (uint64_t)i / 2);
    }
    live_close(page);
    live_close(other);
}

static void assert_not_opened(const char *path, const char *words)
{
    struct live_page *page = NULL;
    struct text why = TEXT_INIT;
    assert_int_equal(live_open(path, &page, &why), -1);
    assert_null(page);
    if (strstr(text_string(&why), words) == NULL || strstr(text_string(&why), path) == NULL)
        fail_msg("neither \"%s\" nor the path in: %s", words, text_string(&why));
    text_release(&why);
}

static void strange_files_are_refused(void **state)
{
    (void)state;
    struct text why = TEXT_INIT, bytes = TEXT_INIT;
    live_close(open_new());
    assert_int_equal(live_create("page", &why), -1);
    assert_non_null(strstr(text_string(&why), "page: File exists"));
    text_clear(&why);
    assert_int_equal(live_create("no/folder", &why), -1);
    text_release(&why);
    assert_int_equal(file_read("page", 0, &bytes, &why), 0);
    for (size_t i = 0; i < 20; i++) { /* magic, layout, slots, words */
        bytes.data[i] = (char)(bytes.data[i] ^ 0x10);
        assert_int_equal(file_replace("strange", bytes.data, bytes.length, &why), 0);
        assert_not_opened("strange", "layout");
        bytes.data[i] = (char)(bytes.data[i] ^ 0x10);
    }
    assert_int_equal(file_replace("strange", bytes.data, bytes.length - 1, &why), 0);
    assert_not_opened("strange", "map");
    assert_int_equal(file_replace("strange", "", 0, &why), 0);
    assert_not_opened("strange", "map");
    assert_not_opened("absent", "No such file");
    text_release(&bytes);
}

/* Whatever a wild child leaves in its slot, names end and nothing is read outside. */
static void wild_bytes_are_survived(void **state)
{
    (void)state;
    struct live_page *page = open_new();
    struct stat status;
    assert_int_equal(stat("page", &status), 0);
    assert_int_equal(status.st_blocks > 0, 1); /* real blocks, no hole */
    uint64_t random = 88172645463325252ull;
    int fd = open("page", O_RDWR);
    for (int round = 0; round < 2000; round++) {
        unsigned char bytes[512];
        for (size_t i = 0; i < sizeof bytes; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            bytes[i] = (unsigned char)random;
        }
        off_t place = (off_t)(random % ((uint64_t)status.st_size - sizeof bytes));
        assert_int_equal(pwrite(fd, bytes, sizeof bytes, place), sizeof bytes);
        for (int slot = 0; slot < LIVE_SLOTS; slot++) {
            struct live_state got;
            if (live_read(page, slot, &got))
                assert_true(strlen(got.phase) < LIVE_NAME && strlen(got.pass) < 8 &&
                            strlen(got.refused_by) < 8);
        }
    }
    close(fd);
    live_close(page);
}

static int create_in_full(void)
{
    struct text why = TEXT_INIT;
    int failed = live_create("full", &why);
    bool told = strstr(text_string(&why), "full") != NULL;
    text_release(&why);
    return failed == -1 && told && !file_exists("full") ? 0 : 1;
}

static void no_room_is_told_at_once(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
        _exit(create_in_full());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A memory file system of one page, where we may mount one. */
static void a_full_memory_file_system_is_told_at_once(void **state)
{
    (void)state;
    int status;
    pid_t child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            _exit(77);
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", ".", "tmpfs", 0, "size=4k") != 0)
            _exit(77);
        char *here = realpath(".", NULL);
        _exit(here == NULL || chdir(here) != 0 ? 2 : create_in_full());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

static _Atomic bool stop;
static void *publish_forever(void *user)
{
    for (uint64_t number = 1; !stop; number++) {
        struct live_state state = numbered(number);
        live_publish(user, 0, &state);
    }
    return NULL;
}

/* A writer that never pauses: every copy is of one moment, and moments only move on. */
static void reads_under_a_busy_writer(void **state)
{
    (void)state;
    struct live_page *page = open_new();
    assert_int_equal(live_claim(page, 1), 0);
    struct live_state got = numbered(1);
    live_publish(page, 0, &got);
    pthread_t writer;
    stop = false;
    assert_int_equal(pthread_create(&writer, NULL, publish_forever, page), 0);
    uint64_t last = 0, seen = 0;
    for (long i = 0; i < 300000 || seen <= 100; i++) {
        assert_true(live_read(page, 0, &got));
        assert_true(is_consistent(&got));
        assert_true(got.pid >= last || last == 1);
        seen += got.pid != last;
        last = got.pid;
    }
    stop = true;
    pthread_join(writer, NULL);
    live_close(page);
}

/* SIGKILL in the middle of whatever the writer was at, two hundred times. */
static void survives_killed_writers(void **state)
{
    (void)state;
    uint64_t random = 1234567;
    for (int round = 0; round < 200; round++) {
        struct live_page *page = open_new();
        assert_int_equal(live_claim(page, 1), 0);
        struct live_state got = numbered(1);
        live_publish(page, 0, &got);
        pid_t child = fork();
        if (child == 0) {
            stop = false;
            publish_forever(page);
            _exit(0);
        }
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        clock_sleep_ns(100000 + (random >> 33) % 3000000);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_true(live_read(page, 0, &got));
        assert_true(is_consistent(&got));
        live_close(page);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(publishes_and_reads),
        cmocka_unit_test(slots_are_claimed_once),
        cmocka_unit_test(strange_files_are_refused),
        cmocka_unit_test(wild_bytes_are_survived),
        cmocka_unit_test(no_room_is_told_at_once),
        cmocka_unit_test(a_full_memory_file_system_is_told_at_once),
        cmocka_unit_test(reads_under_a_busy_writer),
        cmocka_unit_test(survives_killed_writers),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
