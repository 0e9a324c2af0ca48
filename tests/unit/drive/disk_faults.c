#include "tests/unit/drive/disk_faults.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define DESCRIPTORS 256

static struct disk_fault fault;
static struct disk_story story;
static bool dirty[DESCRIPTORS]; /* written to, not synced; the first: one that is closed */

void disk_arm(const struct disk_fault *asked)
{
    fault = *asked;
    story = (struct disk_story){.counted = 0};
    memset(dirty, 0, sizeof dirty);
}

struct disk_story disk_disarm(void)
{
    fault.at = 0;
    return story;
}

static bool is_below(const char *path)
{
    const char *found = strstr(path, "disk");
    return found != NULL && (found == path || found[-1] == '/') &&
           (found[4] == '/' || found[4] == '\0');
}

/* Counts the call; true: it is to fail, and errno is set. */
static bool fails(enum call call, const char *name, const char *path)
{
    if (fault.at == 0 || (fault.calls & call) == 0 || !is_below(path))
        return false;
    story.counted++;
    if (story.counted < fault.at || (story.counted > fault.at && !fault.stays))
        return false;
    if (!story.fired) {
        story.fired = true;
        story.launches_at_fault = story.launches;
        snprintf(story.what, sizeof story.what, "%s %s", name, path);
    }
    errno = fault.error;
    return true;
}

static void path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
}

static bool fd_fails(enum call call, const char *name, int fd)
{
    char path[PATH_MAX];
    if (fault.at == 0)
        return false;
    path_of(fd, path);
    return fails(call, name, path);
}

/* Marks a descriptor of a file that a launch must not come before. */
static void mark(int fd, bool unsynced)
{
    char path[PATH_MAX];
    if (fault.at == 0 || fd >= DESCRIPTORS)
        return;
    path_of(fd, path);
    if (is_below(path) && strstr(path, "/runs/") == NULL)
        dirty[fd] = unsynced;
}

static bool at_fails(enum call call, const char *name, int folder, const char *path)
{
    char whole[PATH_MAX], joined[PATH_MAX * 2];
    if (folder == AT_FDCWD || fault.at == 0)
        return fails(call, name, path);
    path_of(folder, whole);
    snprintf(joined, sizeof joined, "%s/%s", whole, path);
    return fails(call, name, joined);
}

static bool open_fails(const char *name, int folder, const char *path, int flags)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0;
    if (at_fails(writes ? CALL_CREATE : CALL_OPEN, name, folder, path))
        return true;
    if ((flags & O_CREAT) != 0 && strstr(path, "/shard.") != NULL) {
        story.launches++;
        story.unsynced |= memchr(dirty, true, sizeof dirty) != NULL;
    }
    return false;
}

/* --- the calls: __wrap_X is what X becomes, __real_X is X --- */

#define CALL(type, name, ...)                                                                  \
    type __real_##name(__VA_ARGS__);                                                           \
    type __wrap_##name(__VA_ARGS__);                                                           \
    type __wrap_##name(__VA_ARGS__)

CALL(int, open, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open_fails("open", AT_FDCWD, path, flags) ? -1 : __real_open(path, flags, mode);
}

CALL(int, openat, int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open_fails("openat", folder, path, flags) ? -1
                                                     : __real_openat(folder, path, flags, mode);
}

CALL(ssize_t, read, int fd, void *bytes, size_t count)
{
    return fd_fails(CALL_READ, "read", fd) ? -1 : __real_read(fd, bytes, count);
}

CALL(ssize_t, pread, int fd, void *bytes, size_t count, off_t offset)
{
    return fd_fails(CALL_READ, "pread", fd) ? -1 : __real_pread(fd, bytes, count, offset);
}

CALL(ssize_t, write, int fd, const void *bytes, size_t count)
{
    bool first = !story.fired;
    mark(fd, true);
    if (!fd_fails(CALL_WRITE, "write", fd))
        return __real_write(fd, bytes, count);
    return fault.half && first && count > 1 ? __real_write(fd, bytes, count / 2) : -1;
}

CALL(int, fsync, int fd)
{
    if (fd_fails(CALL_SYNC, "fsync", fd))
        return -1;
    mark(fd, false);
    return __real_fsync(fd);
}

CALL(int, fdatasync, int fd)
{
    if (fd_fails(CALL_SYNC, "fdatasync", fd))
        return -1;
    mark(fd, false);
    return __real_fdatasync(fd);
}

CALL(int, rename, const char *from, const char *to)
{
    return fails(CALL_RENAME, "rename", to) ? -1 : __real_rename(from, to);
}

CALL(int, renameat2, int from_folder, const char *from, int to_folder, const char *to,
     unsigned flags)
{
    return at_fails(CALL_RENAME, "renameat2", to_folder, to)
               ? -1
               : __real_renameat2(from_folder, from, to_folder, to, flags);
}

CALL(int, ftruncate, int fd, off_t length)
{
    mark(fd, true);
    return fd_fails(CALL_CUT, "ftruncate", fd) ? -1 : __real_ftruncate(fd, length);
}

CALL(int, mkdir, const char *path, mode_t mode)
{
    return fails(CALL_CREATE, "mkdir", path) ? -1 : __real_mkdir(path, mode);
}

CALL(int, rmdir, const char *path)
{
    return fails(CALL_REMOVE, "rmdir", path) ? -1 : __real_rmdir(path);
}

CALL(int, unlink, const char *path)
{
    return fails(CALL_REMOVE, "unlink", path) ? -1 : __real_unlink(path);
}

CALL(int, unlinkat, int folder, const char *path, int flags)
{
    return at_fails(CALL_REMOVE, "unlinkat", folder, path)
               ? -1
               : __real_unlinkat(folder, path, flags);
}

CALL(int, fcntl, int fd, int command, ...)
{
    va_list more;
    va_start(more, command);
    void *argument = va_arg(more, void *);
    va_end(more);
    enum call call = command == F_OFD_SETLK   ? CALL_LOCK
                     : command == F_OFD_GETLK ? CALL_ASK
                                              : (enum call)0;
    return fd_fails(call, "fcntl", fd) ? -1 : __real_fcntl(fd, command, argument);
}

/* Closed all the same, as Linux does it. What was only read loses nothing by it. */
CALL(int, close, int fd)
{
    bool writes = fault.at > 0 && (__real_fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
    bool failed = writes && fd_fails(CALL_CLOSE, "close", fd);
    if (fault.at > 0 && fd >= 0 && fd < DESCRIPTORS && dirty[fd]) {
        dirty[0] = true;
        dirty[fd] = false;
    }
    int error = errno, result = __real_close(fd);
    if (failed)
        errno = error;
    return failed ? -1 : result;
}
