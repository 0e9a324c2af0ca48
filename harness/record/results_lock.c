#include "harness/record/results_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool means_no_locks(int error)
{
    return error == ENOLCK || error == EOPNOTSUPP || error == ENOSYS || error == EINVAL;
}

enum results_outcome results_lock(int rows_fd, const char *folder, struct text *why)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(rows_fd, F_OFD_SETLK, &whole) == 0)
        return RESULTS_OK;
    if (errno == EAGAIN || errno == EACCES) {
        results_add_user(folder, why);
        return RESULTS_IN_USE;
    }
    int error = errno;
    text_addf(why, "cannot lock %s/rows.csv: %s", folder, strerror(error));
    if (means_no_locks(error))
        text_add(why, "; its file system keeps no locks, and without one a second driver could "
                      "write to the same table: use a folder on another file system");
    return RESULTS_FAILED;
}

static int open_rows(const char *folder)
{
    char *path = xasprintf("%s/rows.csv", folder);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    free(path);
    return fd;
}

bool results_in_use(const char *folder)
{
    int fd = open_rows(folder);
    if (fd < 0)
        return false;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool used = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
    close(fd);
    return used;
}

/* --- who holds it: the kernel does not say, but lists the locks of each open descriptor --- */

static bool holds_lock(const char *pid, const char *descriptor)
{
    char line[256];
    bool found = false;
    char *path = xasprintf("/proc/%s/fdinfo/%s", pid, descriptor);
    FILE *info = fopen(path, "re");
    while (info != NULL && !found && fgets(line, sizeof line, info) != NULL)
        found = strncmp(line, "lock:", 5) == 0 && strstr(line, "WRITE") != NULL;
    if (info != NULL)
        fclose(info);
    free(path);
    return found;
}

static bool holds_rows(const char *pid, const struct stat *rows)
{
    char *path = xasprintf("/proc/%s/fd", pid);
    DIR *open_files = opendir(path);
    bool found = false;
    for (struct dirent *entry; open_files != NULL && !found;) {
        struct stat status;
        if ((entry = readdir(open_files)) == NULL)
            break;
        if (fstatat(dirfd(open_files), entry->d_name, &status, 0) == 0 &&
            status.st_dev == rows->st_dev && status.st_ino == rows->st_ino)
            found = holds_lock(pid, entry->d_name);
    }
    if (open_files != NULL)
        closedir(open_files);
    free(path);
    return found;
}

void results_add_user(const char *folder, struct text *out)
{
    struct stat rows;
    int fd = open_rows(folder);
    DIR *processes = fd >= 0 && fstat(fd, &rows) == 0 ? opendir("/proc") : NULL;
    long pid = 0;
    for (struct dirent *entry; processes != NULL && pid == 0;) {
        if ((entry = readdir(processes)) == NULL)
            break;
        char *end;
        long number = strtol(entry->d_name, &end, 10);
        if (number > 0 && *end == '\0' && holds_rows(entry->d_name, &rows))
            pid = number;
    }
    if (processes != NULL)
        closedir(processes);
    if (fd >= 0)
        close(fd);
    text_addf(out, "%s is in use by ", folder);
    if (pid > 0)
        text_addf(out, "pid %ld", pid);
    else
        text_add(out, "a process of another host or user");
}
