/* Hostile recordings of "one program at several values": whatever is in them, the answer is a
 * forecast or a message, and what is forecast replays.
 *
 * The first byte chooses how the values lie, the second the value that is asked for and the
 * allocator; then come up to three recordings, behind lines "=". A recording that is "&" alone
 * is the one before it again.
 */
#include "harness/forecast/foretell.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GIB ((uint64_t)1 << 30)
enum { TAKES = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_take(const char *bytes, uint64_t value, struct take *take)
{
    struct text why = TEXT_INIT;
    char path[64];
    const int fd = memfd_create("take", 0);
    if (fd < 0 || write(fd, bytes, strlen(bytes)) != (ssize_t)strlen(bytes))
        abort();
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    const int result = take_read(path, value, take, &why);
    assert(result == 0 || strstr(text_string(&why), path));
    text_release(&why);
    close(fd);
    return result;
}

static char *next_part(char **rest)
{
    char *part = *rest;
    char *end = strstr(part, "\n=\n");
    *rest = end ? end + 3 : part + strlen(part);
    if (end)
        end[1] = '\0';
    return part;
}

/* What was made is what a recording may be, and its text reads back as itself. */
static void check_made(const struct script *script, uint64_t value)
{
    struct trace made;
    struct take again;
    struct text why = TEXT_INIT, out = TEXT_INIT;
    for (int version = 0; version < VERSIONS; version++) {
        if (script_make(script, value, (enum version)version, &made, &why)) {
            assert(why.length > 0);
            continue;
        }
        text_clear(&out);
        trace_write(&made, &out);
        if (made.count > 0 && made.slots > 0) {
            assert(read_take(text_string(&out), 1, &again) == 0);
            assert(again.trace.count == made.count);
            take_release(&again);
        }
        trace_release(&made);
    }
    text_release(&out);
    text_release(&why);
}

static void forecast(const struct take *takes, size_t count, uint8_t how)
{
    const uint64_t value = 1 + how % 32;
    const struct foretell_setting setting = {.allocator = allocator_names[how / 32 % 4],
                                             .allocator_setting = {.check = true},
                                             .room = {GIB, how >= 128}};
    struct script script;
    struct foretold f;
    struct text why = TEXT_INIT;
    if (script_find(takes, count, &script, &why)) {
        assert(why.length > 0);
        text_release(&why);
        return;
    }
    check_made(&script, value);
    if (foretell(&script, &setting, value, &f, &why) == 0) {
        assert(f.version_count > 0);
        foretold_release(&f);
    } else {
        assert(why.length > 0);
    }
    if (count > 2) {
        struct foretold_check checks[TAKES];
        if (foretell_check(takes, count, &setting, checks, &why) == 0) {
            for (size_t i = 0; i < count; i++)
                foretold_check_release(&checks[i]);
        }
    }
    script_release(&script);
    text_release(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 3)
        return 0;
    struct take takes[TAKES];
    size_t count = 0;
    char *copy = malloc(size), *rest = copy, *before = NULL;
    memcpy(copy, data + 2, size - 2);
    copy[size - 2] = '\0';
    const uint64_t step = 1 + data[0] % 4, first = 1 + data[0] / 4 % 4;
    for (; count < TAKES && *rest; count++) {
        char *part = next_part(&rest);
        if (before && strcmp(part, "&\n") == 0)
            part = before;
        if (read_take(part, first + count * step, &takes[count]))
            break;
        before = part;
    }
    forecast(takes, count, data[1]);
    for (size_t i = 0; i < count; i++)
        take_release(&takes[i]);
    free(copy);
    return 0;
}
