#include "harness/base/lines.h"
#include "tests/unit/folder_bed.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void assert_contents(const char *path, const char *bytes, size_t length)
{
    struct text out = TEXT_INIT, why = TEXT_INIT;
    assert_int_equal(file_read(path, 0, &out, &why), 0);
    assert_int_equal(out.length, length);
    assert_memory_equal(text_string(&out), bytes, length);
    text_release(&out);
    text_release(&why);
}

/* The reason names the path and what the system says. */
static void assert_reason(struct text *why, const char *path, const char *words)
{
    if (strstr(text_string(why), path) == NULL || strstr(text_string(why), words) == NULL)
        fail_msg("neither \"%s\" nor \"%s\" in: %s", path, words, text_string(why));
    text_release(why);
}

static int entries_of(const char *folder)
{
    struct text command = TEXT_INIT;
    text_setf(&command, "ls -A '%s' | wc -l", folder);
    FILE *pipe = popen(text_string(&command), "r");
    int count = -1;
    assert_int_equal(fscanf(pipe, "%d", &count), 1);
    pclose(pipe);
    text_release(&command);
    return count;
}

static void creates_once(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    assert_int_equal(file_create("new", "a\0b", 3, &why), 0);
    assert_contents("new", "a\0b", 3);
    assert_int_equal(file_create("new", "other", 5, &why), -1);
    assert_reason(&why, "new", "File exists");
    assert_contents("new", "a\0b", 3);
    assert_int_equal(file_create("no/such/folder", "x", 1, &why), -1);
    assert_reason(&why, "no/such/folder", "No such file");
    assert_true(file_exists("new"));
    assert_false(file_exists("newer"));
}

static void reads_with_a_limit(void **state)
{
    (void)state;
    struct text out = TEXT_INIT, why = TEXT_INIT;
    char bytes[200000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7);
    assert_int_equal(file_create("big", bytes, sizeof bytes, &why), 0);
    assert_contents("big", bytes, sizeof bytes);
    assert_int_equal(file_read("big", sizeof bytes, &out, &why), 0);
    assert_int_equal(out.length, sizeof bytes);
    assert_int_equal(file_read("big", sizeof bytes - 1, &out, &why), -1);
    assert_reason(&why, "big", "longer than 199999");
    assert_int_equal(out.length, sizeof bytes); /* as it was */
    bool more = false;
    assert_int_equal(file_read_head("big", 1000, &out, &more, &why), 0);
    assert_true(more && out.length == 1000);
    assert_memory_equal(out.data, bytes, 1000);
    assert_int_equal(file_read_head("big", sizeof bytes, &out, &more, &why), 0);
    assert_true(!more && out.length == sizeof bytes);
    assert_int_equal(file_read_tail("big", 1000, &out, &why), 0);
    assert_int_equal(out.length, 1000);
    assert_memory_equal(out.data, bytes + sizeof bytes - 1000, 1000);
    assert_int_equal(file_read_tail("big", 1000000, &out, &why), 0);
    assert_int_equal(out.length, sizeof bytes);
    assert_int_equal(file_read("absent", 0, &out, &why), -1);
    assert_reason(&why, "absent", "No such file");
    assert_int_equal(file_read(".", 0, &out, &why), -1);
    assert_reason(&why, ".", "directory");
    assert_int_equal(mkfifo("pipe", 0600), 0); /* nobody writes to it: must not wait */
    assert_int_equal(file_read("pipe", 0, &out, &why), -1);
    assert_reason(&why, "pipe", "no regular file");
    int ends[2];
    char name[32];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "piped", 5), 5);
    close(ends[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
    assert_int_equal(file_read(name, 0, &out, &why), 0);
    assert_string_equal(text_string(&out), "piped");
    close(ends[0]);
    assert_int_equal(file_read("/proc/self/stat", 0, &out, &why), 0);
    assert_true(out.length > 10); /* a size of 0 is not believed */
    text_release(&out);
}

static void replaces_whole(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    assert_int_equal(folder_make("r", &why), 0);
    assert_int_equal(file_replace("r/file", "one", 3, &why), 0);
    assert_int_equal(file_replace("r/file", "two", 3, &why), 0);
    assert_contents("r/file", "two", 3);
    assert_int_equal(entries_of("r"), 1);
    assert_int_equal(mkdir("r/folder", 0777), 0);
    assert_int_equal(file_create("r/folder/x", "", 0, &why), 0);
    assert_int_equal(file_replace("r/folder", "two", 3, &why), -1);
    assert_reason(&why, "r/folder", "");
    assert_int_equal(entries_of("r"), 2); /* no half file beside it */
}

/* A disk that takes 10 bytes of a file, by the process's own limit. */
static void full_disk_leaves_nothing(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    assert_int_equal(folder_make("full", &why), 0);
    assert_int_equal(file_create("full/old", "old", 3, &why), 0);
    pid_t child = fork();
    if (child == 0) {
        char bytes[100] = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){10, 10});
        int right = file_create("full/new", bytes, sizeof bytes, &why) == -1 &&
                    strstr(text_string(&why), "full/new") != NULL &&
                    file_replace("full/old", bytes, sizeof bytes, &why) == -1;
        text_release(&why);
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(entries_of("full"), 1);
    assert_contents("full/old", "old", 3);
}

static void makes_folders(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    struct stat status;
    assert_int_equal(folder_make("a/b//c/", &why), 0);
    assert_int_equal(folder_make("a/b/c", &why), 0);
    assert_int_equal(stat("a/b/c", &status), 0);
    assert_true(S_ISDIR(status.st_mode));
    assert_int_equal(folder_make("/", &why), 0);
    assert_int_equal(file_create("a/file", "", 0, &why), 0);
    assert_int_equal(folder_make("a/file", &why), -1);
    assert_reason(&why, "a/file", "Not a directory");
    assert_int_equal(folder_make("a/file/b", &why), -1);
    assert_reason(&why, "a/file", "Not a directory");
    assert_int_equal(symlink("b", "a/link"), 0);
    assert_int_equal(folder_make("a/link", &why), 0);
    assert_int_equal(folder_sync("a", &why), 0);
    assert_int_equal(folder_sync("absent", &why), -1);
    assert_reason(&why, "absent", "");
}

static void removes_but_never_follows(void **state)
{
    (void)state;
    struct text why = TEXT_INIT;
    assert_int_equal(folder_make("keep/inner", &why), 0);
    assert_int_equal(file_create("keep/inner/file", "x", 1, &why), 0);
    assert_int_equal(folder_make("gone/deep/er", &why), 0);
    assert_int_equal(file_create("gone/deep/er/file", "x", 1, &why), 0);
    assert_int_equal(symlink("../keep", "gone/link"), 0);
    assert_int_equal(symlink("/absent", "gone/deep/dangling"), 0);
    assert_int_equal(folder_remove("gone", &why), 0);
    assert_false(file_exists("gone"));
    assert_contents("keep/inner/file", "x", 1);
    assert_int_equal(folder_remove("gone", &why), 0);
    assert_int_equal(symlink("keep", "link"), 0);
    assert_int_equal(folder_remove("link", &why), 0);
    assert_false(file_exists("link"));
    assert_contents("keep/inner/file", "x", 1);
}

static void finds_neighbours(void **state)
{
    (void)state;
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    char *beside = file_beside_me("file_test");
    assert_string_equal(beside, self);
    free(beside);
}

static void lines_are_whole_or_torn(void **state)
{
    (void)state;
    struct text why = TEXT_INIT, bytes = TEXT_INIT;
    text_add_bytes(&bytes, "one\n\nth\0ree\n", 12);
    for (int i = 0; i < 100000; i++)
        text_add_char(&bytes, 'x');
    text_add(&bytes, "\ntorn");
    assert_int_equal(file_create("lines", bytes.data, bytes.length, &why), 0);
    struct lines lines;
    const char *line;
    size_t length, total = 0;
    assert_int_equal(lines_open(&lines, "lines", &why), 0);
    static const size_t wanted[] = {4, 1, 7, 100001, 4};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(lines_next(&lines, &line, &length), i < 4 ? LINE_WHOLE : LINE_TORN);
        assert_int_equal(length, wanted[i]);
        assert_memory_equal(line, bytes.data + total, length);
        total += length;
    }
    assert_int_equal(lines_next(&lines, &line, &length), LINE_NONE);
    assert_int_equal(lines_next(&lines, &line, &length), LINE_NONE);
    lines_close(&lines);
    text_clear(&bytes);
    for (unsigned i = 0; i < LINE_LONGEST + 10; i++)
        text_add_char(&bytes, 'x');
    assert_int_equal(file_replace("lines", bytes.data, bytes.length, &why), 0);
    assert_int_equal(lines_open(&lines, "lines", &why), 0);
    assert_int_equal(lines_next(&lines, &line, &length), LINE_TOO_LONG);
    lines_close(&lines);
    assert_int_equal(lines_open(&lines, "absent", &why), -1);
    assert_reason(&why, "absent", "No such file");
    assert_int_equal(lines_open(&lines, "/", &why), 0);
    assert_int_equal(lines_next(&lines, &line, &length), LINE_ERROR);
    lines_close(&lines);
    text_release(&bytes);
}

static void paths(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        /* path, plain, parent */
        {"a", "a", "."},   {"a/", "a", "."},     {"a/b", "a/b", "a"}, {"a//b///", "a//b", "a"},
        {"/a", "/a", "/"}, {"//a/", "//a", "/"}, {"/", "/", "/"},     {"///", "/", "/"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *plain = path_plain(cases[i][0]), *parent = path_parent(cases[i][0]);
        assert_string_equal(plain, cases[i][1]);
        assert_string_equal(parent, cases[i][2]);
        free(plain);
        free(parent);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creates_once),
        cmocka_unit_test(reads_with_a_limit),
        cmocka_unit_test(replaces_whole),
        cmocka_unit_test(full_disk_leaves_nothing),
        cmocka_unit_test(makes_folders),
        cmocka_unit_test(removes_but_never_follows),
        cmocka_unit_test(finds_neighbours),
        cmocka_unit_test(lines_are_whole_or_torn),
        cmocka_unit_test(paths),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
