#include "harness/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK 65536

/* Appends "cannot VERB PATH: error text"; returns -1 so that a refusal is one statement. */
static int refuse(struct text *why, const char *verb, const char *path)
{
    int error = errno;
    text_addf(why, "cannot %s ", verb);
    text_add_escaped(why, path, strlen(path), 0);
    return text_fail(why, ": %s", strerror(error));
}

/* Everything from the descriptor's place on, at most `limit` bytes and one more (0: no limit).
 */
static int read_rest(int fd, size_t limit, struct text *out)
{
    for (;;) {
        char chunk[CHUNK];
        size_t room = sizeof chunk;
        if (limit > 0 && limit - out->length + 1 < room)
            room = limit - out->length + 1;
        ssize_t got = read(fd, chunk, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return (int)got;
        text_add_bytes(out, chunk, (size_t)got);
        if (limit > 0 && out->length > limit)
            return 0;
    }
}

/* Whoever names a descriptor means it, a pipe too; memory file systems hold plain files. */
static bool names_descriptor(const char *path)
{
    return (text_starts_with(path, "/dev/") && !text_starts_with(path, "/dev/shm/")) ||
           text_starts_with(path, "/proc/");
}

int file_open(const char *path, struct text *why)
{
    bool any = names_descriptor(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | (any ? 0 : O_NONBLOCK));
    struct stat status;
    if (fd < 0)
        return refuse(why, "open", path);
    if (any ||
        (fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))))
        return fd; /* reading a folder fails with words of its own */
    close(fd);
    text_add(why, "cannot open ");
    text_add_escaped(why, path, strlen(path), 0);
    return text_fail(why, ": it is no regular file");
}

/* At most `limit` bytes and one more, from the start or, `tail`, from the last `limit` on. */
static int read_some(const char *path, bool tail, size_t limit, struct text *contents,
                     struct text *why)
{
    int fd = file_open(path, why);
    if (fd < 0)
        return -1;
    struct stat status;
    int failed = tail ? fstat(fd, &status) : 0;
    if (tail && !failed && (uint64_t)status.st_size > limit)
        failed = lseek(fd, status.st_size - (off_t)limit, SEEK_SET) < 0 ? -1 : 0;
    if (!failed)
        failed = read_rest(fd, limit, contents);
    if (failed) {
        refuse(why, "read", path);
        text_release(contents);
    }
    close(fd);
    return failed ? -1 : 0;
}

/* Hands over at most `limit` bytes of what was read (0: all of it). */
static void take_contents(struct text *out, struct text *contents, size_t limit)
{
    if (limit > 0 && contents->length > limit) {
        contents->length = limit;
        contents->data[limit] = '\0';
    }
    text_release(out);
    *out = *contents;
}

int file_read(const char *path, size_t limit, struct text *out, struct text *why)
{
    struct text contents = TEXT_INIT;
    if (read_some(path, false, limit, &contents, why) != 0)
        return -1;
    if (limit == 0 || contents.length <= limit) {
        take_contents(out, &contents, 0);
        return 0;
    }
    text_add(why, "cannot read ");
    text_add_escaped(why, path, strlen(path), 0);
    text_addf(why, ": it is longer than %zu bytes", limit);
    text_release(&contents);
    return -1;
}

int file_hash(const char *path, uint64_t *hash, struct text *why)
{
    struct text bytes = TEXT_INIT;
    if (file_read(path, 0, &bytes, why) != 0)
        return -1;
    *hash = hash_add(*hash, bytes.data, bytes.length);
    text_release(&bytes);
    return 0;
}

int file_read_head(const char *path, size_t limit, struct text *out, bool *more,
                   struct text *why)
{
    struct text contents = TEXT_INIT;
    if (read_some(path, false, limit, &contents, why) != 0)
        return -1;
    if (more != NULL)
        *more = contents.length > limit;
    take_contents(out, &contents, limit);
    return 0;
}

int file_read_tail(const char *path, size_t limit, struct text *out, struct text *why)
{
    struct text contents = TEXT_INIT;
    if (read_some(path, true, limit, &contents, why) != 0)
        return -1;
    take_contents(out, &contents, limit); /* it may have grown in the meantime */
    return 0;
}

int file_write_all(int fd, const void *bytes, size_t length, const char *path, struct text *why)
{
    const char *at = bytes;
    while (length > 0) {
        ssize_t written = write(fd, at, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return refuse(why, "write", path);
        at += written;
        length -= (size_t)written;
    }
    return 0;
}

/* Of the first `length` bytes, those without slashes at their end; the root keeps its own. */
static size_t without_slashes(const char *path, size_t length)
{
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length;
}

char *path_plain(const char *path)
{
    return xstrndup(path, without_slashes(path, strlen(path)));
}

char *path_parent(const char *path)
{
    size_t length = without_slashes(path, strlen(path));
    while (length > 0 && path[length - 1] != '/')
        length--;
    return length == 0 ? xstrdup(".") : xstrndup(path, without_slashes(path, length));
}

static int sync_folder_of(const char *path, struct text *why)
{
    char *folder = path_parent(path);
    int failed = folder_sync(folder, why);
    free(folder);
    return failed;
}

/* Writes, syncs and closes a file that was just made; a failed one is taken away again. */
static int fill(int fd, const char *path, const void *bytes, size_t length, struct text *why)
{
    int failed = file_write_all(fd, bytes, length, path, why);
    if (!failed && fsync(fd) != 0)
        failed = refuse(why, "sync", path);
    if (close(fd) != 0 && !failed)
        failed = refuse(why, "close", path);
    if (failed)
        unlink(path);
    return failed;
}

int file_create(const char *path, const void *bytes, size_t length, struct text *why)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return refuse(why, "create", path);
    if (fill(fd, path, bytes, length, why) != 0)
        return -1;
    if (sync_folder_of(path, why) == 0)
        return 0;
    unlink(path);
    return -1;
}

int file_replace(const char *path, const void *bytes, size_t length, struct text *why)
{
    char *beside = NULL;
    int failed = 0, fd = -1;
    /* Another number when the name is taken: another host may have a process of ours. */
    for (int number = 0; number < 100 && (number == 0 || (fd < 0 && errno == EEXIST));
         number++) {
        free(beside);
        beside = xasprintf("%s.new-%ld-%d", path, (long)getpid(), number);
        fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (fd < 0)
        failed = refuse(why, "create", beside);
    else
        failed = fill(fd, beside, bytes, length, why);
    if (!failed && rename(beside, path) != 0) {
        failed = refuse(why, "replace", path);
        unlink(beside);
    }
    free(beside);
    return failed ? -1 : sync_folder_of(path, why);
}

bool file_exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* --- folders --------------------------------------------------------------------------- */

static int make_one(const char *path, struct text *why)
{
    struct stat status;
    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno == EEXIST) {
        if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
            return 0;
        errno = ENOTDIR;
    }
    return refuse(why, "make folder", path);
}

int folder_make(const char *path, struct text *why)
{
    char *copy = xstrdup(path);
    int failed = 0;
    for (char *slash = strchr(copy + (copy[0] == '/'), '/'); slash != NULL && !failed;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        failed = make_one(copy, why);
        *slash = '/';
    }
    if (!failed && copy[0] != '\0' && copy[strlen(copy) - 1] != '/')
        failed = make_one(copy, why);
    free(copy);
    return failed;
}

int folder_sync(const char *path, struct text *why)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return refuse(why, "open", path);
    int failed = 0;
    /* EINVAL: a file system that knows no such thing; its renames are as safe as it makes them.
     */
    if (fsync(fd) != 0 && errno != EINVAL)
        failed = refuse(why, "sync", path);
    close(fd);
    return failed;
}

static int remove_at(int parent, const char *name, const char *path, struct text *why);

/* Everything in the folder that `fd` is open on; takes the descriptor over. */
static int remove_contents(int fd, const char *path, struct text *why)
{
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        close(fd);
        return refuse(why, "read", path);
    }
    int failed = 0;
    struct dirent *entry;
    while (!failed && (errno = 0, entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *inner = xasprintf("%s/%s", path, entry->d_name);
        failed = remove_at(dirfd(folder), entry->d_name, inner, why);
        free(inner);
    }
    if (!failed && errno != 0)
        failed = refuse(why, "read", path);
    closedir(folder);
    return failed;
}

static int remove_at(int parent, const char *name, const char *path, struct text *why)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return refuse(why, "remove", path);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return refuse(why, "remove", path);
    if (remove_contents(fd, path, why) != 0)
        return -1;
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0)
        return refuse(why, "remove", path);
    return 0;
}

int folder_remove(const char *path, struct text *why)
{
    return remove_at(AT_FDCWD, path, path, why);
}

/* --- neighbours ------------------------------------------------------------------------ */

char *file_beside_me(const char *name)
{
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        return xstrdup(name); /* no /proc: left to PATH */
    self[length] = '\0';
    char *folder = path_parent(self);
    char *path = xasprintf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
    free(folder);
    return path;
}
