/* text: a growable string, the strict helpers around it, and host allocation that never fails.
 *
 * Exhausted host memory inside our own bookkeeping ends the process (exit 1, one line on
 * standard error): only device memory is handled as data. A `struct text` starts as TEXT_INIT
 * and is given back with text_release(); `data` is always NUL-terminated once anything was
 * added, but may contain NULs itself: `length` decides, never strlen.
 *
 * Whatever is added to a text that is NULL is not kept: a caller who wants no reason passes
 * NULL for `why`. Only text_detach, text_string and text_add_unescaped need one.
 */
#ifndef HIGHWATER_BASE_TEXT_H
#define HIGHWATER_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUST_CHECK __attribute__((warn_unused_result))
/* Of a function that must be checked, where its failure changes nothing. */
static inline void may_fail(int result)
{
    (void)result;
}
#define PRINTF_LIKE(string, first) __attribute__((format(printf, string, first)))

struct text {
    char *data;
    size_t length;
    size_t capacity;
};
#define TEXT_INIT {NULL, 0, 0}

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t length);
void text_add_char(struct text *text, char c);
void text_addf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_addv(struct text *text, const char *format, va_list arguments);
/* Appends a reason and is -1, so that to refuse is one statement. */
#define text_fail(why, ...) (text_addf((why), __VA_ARGS__), -1)
/* Set the whole text: clear, then format. */
void text_setf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_clear(struct text *text); /* length 0, memory kept */
void text_release(struct text *text);
/* The NUL-terminated contents, "" when empty; borrowed until the next change. */
const char *text_string(const struct text *text);
/* The line that begins at byte *at, without its newline; NULL at the end. *at, 0 before the
 * first, moves behind it. */
const char *text_line(const struct text *text, size_t *at, size_t *length);
/* Hands the buffer over to the caller, who frees it; text is empty afterwards. */
char *text_detach(struct text *text) MUST_CHECK;

/* Appends bytes as one printable line of valid UTF-8: newline, carriage return, tab, NUL and
 * backslash become \n \r \t \0 \\. Invalid UTF-8 and hidden characters become \xNN, byte by
 * byte: what acts on a terminal (controls, C1 too), ends a line, or shows nothing and may
 * reorder what stands beside it (marks of direction, Unicode's invisible format characters).
 * Stops at a whole character or escape before `limit` output bytes (0: no limit). */
void text_add_escaped(struct text *text, const void *bytes, size_t length, size_t limit);
/* The same for text that goes to a terminal as it stands: newlines and backslashes stay. */
void text_add_shown(struct text *text, const void *bytes, size_t length);
/* One line of UTF-8 without hidden characters; tabs and backslashes may be in it. */
bool text_is_shown(const void *bytes, size_t length);
/* Length of the hidden character at `at`, tab and newline included; 0: there is none. */
size_t text_hidden(const char *at, size_t left, uint32_t *character);

/* Appends what text_add_escaped was given. -1: not such a text, nothing appended. */
int text_add_unescaped(struct text *text, const char *string, size_t length) MUST_CHECK;

/* Is this byte range valid UTF-8? */
bool text_is_utf8(const void *bytes, size_t length);

/* The candidate nearest to `name` (edit distance at most a third of its length), or NULL.
 * `names` ends with NULL. */
const char *text_nearest(const char *name, const char *const *names);

bool text_starts_with(const char *string, const char *prefix);

/* Host allocation for bookkeeping: never returns NULL. xmalloc_failed() ends the process; for
 * libraries that report it in their own way. */
_Noreturn void xmalloc_failed(void);
void *xmalloc(size_t bytes) MUST_CHECK;
void *xcalloc(size_t count, size_t bytes) MUST_CHECK;
void *xrealloc(void *pointer, size_t bytes) MUST_CHECK;
/* Room for an element behind `count` others of `size` bytes: the array, which may have moved.
 * The room follows from the count (the next power of two), so none is kept beside it, and an
 * array that grows here grows nowhere else. It may lose elements at its end. */
void *xgrow(void *array, size_t count, size_t size) MUST_CHECK;
/* One more element: its address; nothing is in it yet. Both are evaluated more than once, and
 * what is put there looks at neither: `*GROW(list->values, list->count) = value;` */
#define GROW(array, count)                                                                     \
    ((array) = xgrow((array), (count), sizeof *(array)), &(array)[(count)++])
char *xstrdup(const char *string) MUST_CHECK;
char *xstrndup(const char *string, size_t length) MUST_CHECK;
char *xasprintf(const char *format, ...) PRINTF_LIKE(1, 2) MUST_CHECK;

#endif
