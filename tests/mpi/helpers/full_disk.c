/* Preloaded: a disk that is full for one file: from the $FULL_DISK_FROM-th write on to a path
 * that ends with $FULL_DISK, nothing is taken any more. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_full(int fd)
{
    static long writes;
    const char *file = getenv("FULL_DISK"), *from = getenv("FULL_DISK_FROM");
    char link[64], path[PATH_MAX];
    if (file == NULL || from == NULL)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    size_t end = strlen(file);
    return length >= (ssize_t)end && memcmp(path + (size_t)length - end, file, end) == 0 &&
           ++writes >= strtol(from, NULL, 10);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    ssize_t (*real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (!is_full(fd))
        return real(fd, bytes, count);
    errno = ENOSPC;
    return -1;
}
