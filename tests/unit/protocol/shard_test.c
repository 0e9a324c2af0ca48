#include "harness/protocol/shard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static void assert_text(const struct row *row, enum column column, const char *wanted)
{
    struct text out = TEXT_INIT;
    row_format_cell(row, column, &out);
    assert_string_equal(text_string(&out), wanted);
    text_release(&out);
}

/* Cut at every byte, a shard is either what it says or not complete. */
static void a_torn_shard_is_not_complete(void **state)
{
    (void)state;
    char folder[] = "/tmp/shard_test-XXXXXX";
    struct text why = TEXT_INIT;
    struct row rows[2] = {ROW_INIT, ROW_INIT}, about = ROW_INIT;
    assert_non_null(mkdtemp(folder));
    char *path = shard_path(folder, 7);
    row_set_count(&about, COLUMN_rank, 7);
    row_set_text(&rows[0], COLUMN_phase, "context");
    row_set_text(&rows[1], COLUMN_phase, "run");
    row_set_status(&rows[0], STATUS_ok);
    row_set_status(&rows[1], STATUS_ok);
    int fd = shard_create(path, &why);
    assert_true(fd >= 0);
    assert_int_equal(line_append(fd, "start", &about, &why), 0);
    assert_int_equal(line_append(fd, "begin", &about, &why), 0);
    assert_int_equal(shard_finish(fd, rows, 2, &why), 0);
    off_t whole = lseek(fd, 0, SEEK_END);
    struct shard shard;
    assert_int_equal(shard_read(path, &shard, &why), 0);
    assert_true(shard.started && shard.begun && shard.complete);
    assert_int_equal(shard.count, 2);
    assert_text(&shard.about, COLUMN_rank, "7");
    shard_release(&shard);
    for (off_t cut = whole - 1; cut >= 0; cut--) {
        assert_int_equal(truncate(path, cut), 0);
        assert_int_equal(shard_read(path, &shard, &why), 0);
        assert_false(shard.complete);
        assert_true(shard.count <= 2);
        shard_release(&shard);
    }
    close(fd);
    unlink(path);
    assert_int_equal(shard_read(path, &shard, &why), 0);
    assert_false(shard.started);
    shard_release(&shard);
    rmdir(folder);
    free(path);
    row_release(&about);
    row_release(&rows[0]);
    row_release(&rows[1]);
    text_release(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torn_shard_is_not_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
