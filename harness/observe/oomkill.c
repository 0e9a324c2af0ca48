#include "harness/observe/oomkill.h"
#include "harness/base/file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"
#define WHOLE_HOST "/proc/vmstat"
#define LARGEST_FILE (64u << 10)

static struct reading read_counter(const char *path)
{
    struct text contents = TEXT_INIT;
    struct reading count = reading_missing();
    if (file_read(path, LARGEST_FILE, &contents, NULL) == 0) {
        size_t at = 0, length;
        for (const char *line; (line = text_line(&contents, &at, &length)) != NULL;)
            if (text_starts_with(line, "oom_kill "))
                count = reading_of(strtoull(line + strlen("oom_kill "), NULL, 10));
    }
    text_release(&contents);
    return count;
}

/* The group's folder under a mount point, or the mount point itself: inside a container the
 * path is that of the host, and the mount shows the container's own group. */
static void counter_file(const char *mount, const char *group, size_t length, const char *file,
                         struct text *path)
{
    text_setf(path, "%s%.*s/%s", mount, length > 1 ? (int)length : 0, group, file);
    if (access(text_string(path), R_OK) != 0)
        text_setf(path, "%s/%s", mount, file);
    if (access(text_string(path), R_OK) != 0)
        text_clear(path);
}

static bool names_memory(const char *controllers, size_t length)
{
    static const char name[] = "memory";
    for (size_t i = 0; i + strlen(name) <= length; i++) {
        bool starts = i == 0 || controllers[i - 1] == ',';
        size_t end = i + strlen(name);
        if (starts && strncmp(controllers + i, name, strlen(name)) == 0 &&
            (end == length || controllers[end] == ','))
            return true;
    }
    return false;
}

void oomkill_path(const char *groups, const char *mount, struct text *path)
{
    text_clear(path);
    for (const char *line = groups; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        size_t length = end != NULL ? (size_t)(end - line) : strlen(line);
        const char *controllers = memchr(line, ':', length);
        size_t left = controllers != NULL ? length - (size_t)(controllers - line) - 1 : 0;
        const char *group = left > 0 ? memchr(++controllers, ':', left) : NULL;
        if (group != NULL) {
            size_t named = (size_t)(group - controllers);
            size_t group_length = left - named - 1;
            struct text found = TEXT_INIT, under = TEXT_INIT;
            text_setf(&under, "%s/memory", mount);
            if (named > 0 && names_memory(controllers, named))
                counter_file(text_string(&under), group + 1, group_length, "memory.oom_control",
                             &found);
            else if (named == 0 && path->length == 0)
                counter_file(mount, group + 1, group_length, "memory.events", &found);
            if (found.length > 0)
                text_setf(path, "%s", text_string(&found));
            text_release(&found);
            text_release(&under);
        }
        line = end != NULL ? end + 1 : NULL;
    }
}

static bool has_risen(const struct oomkill *oomkill)
{
    struct reading now = read_counter(text_string(&oomkill->path));
    return now.known && oomkill->before.known && now.value > oomkill->before.value;
}

void oomkill_watch(struct oomkill *oomkill, const char *path)
{
    if (oomkill->path.length > 0) {
        if (strcmp(path, text_string(&oomkill->path)) == 0)
            return;
        oomkill->risen = oomkill->risen || has_risen(oomkill);
    }
    text_setf(&oomkill->path, "%s", path);
    oomkill->before = read_counter(path);
}

/* A process that was just killed and not reaped yet has left its group for the topmost one. */
void oomkill_follow(struct oomkill *oomkill, pid_t pid)
{
    struct text groups = TEXT_INIT, path = TEXT_INIT;
    char *file = xasprintf("/proc/%ld/cgroup", (long)pid);
    if (file_read(file, LARGEST_FILE, &groups, NULL) == 0 && groups.length > 0)
        oomkill_path(text_string(&groups), MOUNT, &path);
    if (path.length > 0)
        oomkill_watch(oomkill, text_string(&path));
    else if (oomkill->path.length == 0)
        oomkill_watch(oomkill, WHOLE_HOST);
    free(file);
    text_release(&groups);
    text_release(&path);
}

bool oomkill_happened(const struct oomkill *oomkill)
{
    return oomkill->risen || has_risen(oomkill);
}

void oomkill_release(struct oomkill *oomkill)
{
    text_release(&oomkill->path);
}
