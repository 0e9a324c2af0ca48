#include "harness/base/text.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEAREST_LONGEST 64

/* --- host allocation ------------------------------------------------------------------- */

/* Exhausted bookkeeping memory: nothing is formatted, since formatting may allocate. */
_Noreturn void xmalloc_failed(void)
{
    static const char message[] = "highwater: out of host memory\n";
    ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void)ignored;
    _exit(1);
}

void *xrealloc(void *pointer, size_t bytes)
{
    void *moved = realloc(pointer, bytes > 0 ? bytes : 1);
    if (moved == NULL)
        xmalloc_failed();
    return moved;
}

void *xgrow(void *array, size_t count, size_t size)
{
    const size_t least = 8;
    bool full = count == 0 || (count >= least && (count & (count - 1)) == 0);
    if (count > SIZE_MAX / 2 / size)
        xmalloc_failed();
    return full ? xrealloc(array, (count == 0 ? least : 2 * count) * size) : array;
}

void *xmalloc(size_t bytes)
{
    return xrealloc(NULL, bytes);
}

void *xcalloc(size_t count, size_t bytes)
{
    bool nothing = count == 0 || bytes == 0;
    void *pointer = calloc(nothing ? 1 : count, nothing ? 1 : bytes);
    if (pointer == NULL)
        xmalloc_failed();
    return pointer;
}

char *xstrndup(const char *string, size_t length)
{
    size_t copied = strnlen(string, length);
    char *copy = xmalloc(copied + 1);
    memcpy(copy, string, copied);
    copy[copied] = '\0';
    return copy;
}

char *xstrdup(const char *string)
{
    return xstrndup(string, strlen(string));
}

char *xasprintf(const char *format, ...)
{
    struct text text = TEXT_INIT;
    va_list arguments;
    va_start(arguments, format);
    text_addv(&text, format, arguments);
    va_end(arguments);
    return text_detach(&text);
}

/* --- growable string ------------------------------------------------------------------- */

/* Room for `more` bytes and the NUL behind them. */
static void text_reserve(struct text *text, size_t more)
{
    if (more >= SIZE_MAX / 2 - text->length)
        xmalloc_failed();
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return;
    size_t capacity = text->capacity < 32 ? 64 : text->capacity * 2;
    if (capacity < needed)
        capacity = needed;
    text->data = xrealloc(text->data, capacity);
    text->capacity = capacity;
}

void text_add_bytes(struct text *text, const void *bytes, size_t length)
{
    if (text == NULL)
        return;
    text_reserve(text, length);
    if (length > 0)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_char(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

void text_addv(struct text *text, const char *format, va_list arguments)
{
    if (text == NULL)
        return;
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    assert(length >= 0 && "a format that cannot be printed");
    text_reserve(text, (size_t)length);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    text->length += (size_t)length;
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_addv(text, format, arguments);
    va_end(arguments);
}

void text_setf(struct text *text, const char *format, ...)
{
    va_list arguments;
    text_clear(text);
    va_start(arguments, format);
    text_addv(text, format, arguments);
    va_end(arguments);
}

void text_clear(struct text *text)
{
    if (text == NULL)
        return;
    text->length = 0;
    if (text->data != NULL)
        text->data[0] = '\0';
}

void text_release(struct text *text)
{
    if (text == NULL)
        return;
    free(text->data);
    *text = (struct text)TEXT_INIT;
}

const char *text_string(const struct text *text)
{
    return text->data != NULL ? text->data : "";
}

const char *text_line(const struct text *text, size_t *at, size_t *length)
{
    if (*at >= text->length)
        return NULL;
    const char *line = text->data + *at;
    const char *newline = memchr(line, '\n', text->length - *at);
    *length = newline != NULL ? (size_t)(newline - line) : text->length - *at;
    *at += *length + (newline != NULL);
    return line;
}

char *text_detach(struct text *text)
{
    text_reserve(text, 0);
    char *data = text->data;
    data[text->length] = '\0';
    *text = (struct text)TEXT_INIT;
    return data;
}

/* --- names ----------------------------------------------------------------------------- */

bool text_starts_with(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

/* Case and the kind of dash never make a difference in a suggestion. */
static char folded(char c)
{
    return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits between two short names: insert, delete, replace, or swap of two neighbours. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[3][NEAREST_LONGEST + 1];
    for (size_t j = 0; j <= b_length; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            char x = folded(a[i - 1]), y = folded(b[j - 1]);
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == folded(b[j - 2]) && y == folded(a[i - 2]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[a_length % 3][b_length];
}

const char *text_nearest(const char *name, const char *const *names)
{
    size_t length = strlen(name);
    if (length > NEAREST_LONGEST)
        return NULL;
    const char *nearest = NULL;
    size_t best = length / 3 + 1;
    for (; *names != NULL; names++) {
        size_t other = strlen(*names);
        if (other > NEAREST_LONGEST)
            continue;
        size_t distance = edit_distance(name, length, *names, other);
        if (distance < best) {
            best = distance;
            nearest = *names;
        }
    }
    return nearest;
}
