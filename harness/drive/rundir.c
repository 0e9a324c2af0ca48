#include "harness/drive/rundir.h"
#include "harness/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define MEMORY_FOLDER "/dev/shm"
#define NAME_START "highwater-"
#define LEAST_FREE (32u << 20) /* bytes; a container's default is 64 MiB */
#define SETTLED_SECONDS 10     /* a younger folder may not have its lock yet */

static bool is_memory(const char *path)
{
    struct statfs about;
    return statfs(path, &about) == 0 &&
           (about.f_type == TMPFS_MAGIC || about.f_type == RAMFS_MAGIC) &&
           (uint64_t)about.f_bavail * (uint64_t)about.f_bsize >= LEAST_FREE &&
           access(path, W_OK | X_OK) == 0;
}

static int take_lock(const char *folder, int create)
{
    char *path = xasprintf("%s/lock", folder);
    int fd = open(path, O_RDWR | create | O_CLOEXEC | O_NOFOLLOW, 0600);
    free(path);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void remove_if_left_over(const char *path)
{
    struct stat about;
    if (lstat(path, &about) != 0 || !S_ISDIR(about.st_mode) || about.st_uid != geteuid() ||
        about.st_mtime + SETTLED_SECONDS > time(NULL))
        return;
    if (rmdir(path) == 0) /* it died before it had a lock */
        return;
    int lock = take_lock(path, 0);
    if (lock < 0) /* in use, or of a name like ours, but not ours */
        return;
    may_fail(folder_remove(path, NULL)); /* somebody else's leftover is no reason to fail */
    close(lock);
}

static void remove_leftovers(const char *parent)
{
    DIR *folder = opendir(parent);
    if (folder == NULL)
        return;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!text_starts_with(entry->d_name, NAME_START))
            continue;
        char *path = xasprintf("%s/%s", parent, entry->d_name);
        remove_if_left_over(path);
        free(path);
    }
    closedir(folder);
}

int rundir_open(struct rundir *rundir, const char *fallback, struct text *why)
{
    const char *parent = is_memory(MEMORY_FOLDER) ? MEMORY_FOLDER : fallback;
    remove_leftovers(parent);
    char *path = xasprintf("%s/" NAME_START "%ld-XXXXXX", parent, (long)getpid());
    if (mkdtemp(path) == NULL) {
        text_addf(why, "%s: %s", path, strerror(errno));
        free(path);
        return -1;
    }
    int lock = take_lock(path, O_CREAT);
    if (lock < 0) {
        text_addf(why, "%s/lock: %s", path, strerror(errno));
        may_fail(folder_remove(path, NULL));
        free(path);
        return -1;
    }
    rundir->path = path;
    rundir->lock = lock;
    return 0;
}

char *rundir_for_run(const struct rundir *rundir, uint64_t order, struct text *why)
{
    char *path = xasprintf("%s/%llu", rundir->path, (unsigned long long)order);
    if (mkdir(path, 0700) == 0)
        return path;
    text_addf(why, "%s: %s", path, strerror(errno));
    free(path);
    return NULL;
}

void rundir_end_run(char *path)
{
    may_fail(folder_remove(path, NULL));
    free(path);
}

int rundir_close(struct rundir *rundir, struct text *why)
{
    int result = folder_remove(rundir->path, why);
    close(rundir->lock);
    free(rundir->path);
    *rundir = (struct rundir){.path = NULL, .lock = -1};
    return result;
}
