/* file: whole-file helpers; every write, sync, close and rename is checked.
 * Return 0, or -1 with a reason naming the path appended to `why`. */
#ifndef HIGHWATER_BASE_FILE_H
#define HIGHWATER_BASE_FILE_H

#include "harness/base/hash.h"
#include "harness/base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* A path without slashes at its end, and the folder in which its last name lies ("." for a bare
 * name). The caller frees. */
char *path_plain(const char *path) MUST_CHECK;
char *path_parent(const char *path) MUST_CHECK;
/* A descriptor to read from. What is no regular file is refused, without waiting for a writer,
 * unless the path names a device or a descriptor (/dev/stdin, /dev/fd/3, /proc/self/fd/3). */
int file_open(const char *path, struct text *why) MUST_CHECK;
/* Reads replace what `out` held, on success only.
 * Reads at most `limit` bytes (0: no limit); a longer file is an error. */
int file_read(const char *path, size_t limit, struct text *out, struct text *why) MUST_CHECK;
/* *hash becomes that of what it was of, followed by the file's bytes. */
int file_hash(const char *path, uint64_t *hash, struct text *why) MUST_CHECK;
/* Reads the first `limit` bytes (more than 0); *more (may be NULL): are there others? */
int file_read_head(const char *path, size_t limit, struct text *out, bool *more,
                   struct text *why) MUST_CHECK;
/* Reads the last `limit` bytes. */
int file_read_tail(const char *path, size_t limit, struct text *out,
                   struct text *why) MUST_CHECK;
/* Creates a new file (refuses an existing one), writes, syncs, closes. */
int file_create(const char *path, const void *bytes, size_t length,
                struct text *why) MUST_CHECK;
/* Replaces by a temporary file beside it, synced and renamed. */
int file_replace(const char *path, const void *bytes, size_t length,
                 struct text *why) MUST_CHECK;
/* write(2) until all is written. */
int file_write_all(int fd, const void *bytes, size_t length, const char *path,
                   struct text *why) MUST_CHECK;
bool file_exists(const char *path);
/* mkdir -p */
int folder_make(const char *path, struct text *why) MUST_CHECK;
int folder_sync(const char *path, struct text *why) MUST_CHECK;
/* rm -rf: never follows symbolic links; what is not there is removed already */
int folder_remove(const char *path, struct text *why) MUST_CHECK;
/* Absolute path of a program that lies beside the running one (through its real path). */
char *file_beside_me(const char *name) MUST_CHECK;

#endif
