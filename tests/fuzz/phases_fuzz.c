/* Phase files as a hostile child may write them: never a crash, and every row that comes out
 * can be said and heard again. */
#include "harness/protocol/phases.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct row *row)
{
    struct text line = TEXT_INIT, again = TEXT_INIT;
    struct row back = ROW_INIT;
    char verb[16];
    line_format(&line, "row", row);
    if (line_parse(line.data, line.length - 1, verb, &back) != 0)
        abort();
    line_format(&again, verb, &back);
    if (strcmp(text_string(&line), text_string(&again)) != 0)
        abort();
    row_release(&back);
    text_release(&line);
    text_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct phase_record record;
    struct text why = TEXT_INIT;
    int fd = memfd_create("phases", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (phases_read(path, NULL, &record, &why) != 0)
        abort();
    check_row(&record.hello);
    for (size_t i = 0; i < record.count; i++)
        check_row(&record.rows[i]);
    phase_record_release(&record);
    text_release(&why);
    close(fd);
    return 0;
}
