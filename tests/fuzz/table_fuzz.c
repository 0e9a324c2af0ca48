/* Bytes behind our header: never a crash, and the rows that are taken, written again, are taken
 * again, all of them. */
#include "harness/record/table.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool add_row(void *user, const struct row *row, uint64_t end_offset)
{
    (void)end_offset;
    table_add_row(user, row);
    return true;
}

/* Reads these bytes as a table; appends its rows as they would be written to `out`. */
static struct table_reading read_bytes(const struct text *bytes, struct text *out)
{
    char path[64];
    struct table_reading reading;
    struct text why = TEXT_INIT;
    int fd = memfd_create("rows", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes->data, bytes->length) != (ssize_t)bytes->length)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (table_read(path, false, add_row, out, &reading, &why) != 0)
        abort();
    close(fd);
    text_release(&why);
    return reading;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text first = TEXT_INIT, second = TEXT_INIT, third = TEXT_INIT;
    table_add_header(&first);
    text_add_bytes(&first, data, size);
    table_add_header(&second);
    struct table_reading reading = read_bytes(&first, &second);
    table_add_header(&third);
    struct table_reading again = read_bytes(&second, &third);
    if (again.torn || again.rows != reading.rows || again.good_end != second.length ||
        strcmp(text_string(&second), text_string(&third)) != 0)
        abort();
    text_release(&reading.reason);
    text_release(&again.reason);
    text_release(&first);
    text_release(&second);
    text_release(&third);
    return 0;
}
