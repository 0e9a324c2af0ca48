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
    text->length = 0;
    if (text->data != NULL)
        text->data[0] = '\0';
}

void text_release(struct text *text)
{
    free(text->data);
    *text = (struct text)TEXT_INIT;
}

const char *text_string(const struct text *text)
{
    return text->data != NULL ? text->data : "";
}

char *text_detach(struct text *text)
{
    text_reserve(text, 0);
    char *data = text->data;
    data[text->length] = '\0';
    *text = (struct text)TEXT_INIT;
    return data;
}

/* --- UTF-8 and escapes ----------------------------------------------------------------- */

/* Length of the valid UTF-8 character at `at`, 0 when there is none (RFC 3629: nothing
 * overlong, no surrogates, nothing above U+10FFFF). */
static size_t utf8_length(const unsigned char *at, size_t left)
{
    unsigned char first = at[0];
    if (first < 0x80)
        return 1;
    size_t length = first < 0xc2   ? 0
                    : first < 0xe0 ? 2
                    : first < 0xf0 ? 3
                    : first < 0xf5 ? 4
                                   : 0;
    if (length == 0 || left < length)
        return 0;
    unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

bool text_is_utf8(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length;) {
        size_t step = utf8_length(at + i, length - i);
        if (step == 0)
            return false;
        i += step;
    }
    return true;
}

/* C1 controls (U+0080 to U+009F) drive terminals, U+2028 and U+2029 end lines. */
static bool is_hidden_control(const unsigned char *at, size_t length)
{
    if (length == 2)
        return at[0] == 0xc2 && at[1] < 0xa0;
    return length == 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9);
}

/* Puts one character or byte of the input, as it is written, in `out`; returns bytes eaten. */
static size_t escape_one(const unsigned char *at, size_t left, char out[8], size_t *written)
{
    static const char named[] = "n\nr\rt\t0\0\\\\";
    for (size_t i = 0; i < sizeof named - 1; i += 2)
        if (at[0] == (unsigned char)named[i + 1]) {
            out[0] = '\\';
            out[1] = named[i];
            *written = 2;
            return 1;
        }
    size_t length = utf8_length(at, left);
    bool plain = length == 1 ? at[0] >= 0x20 && at[0] != 0x7f
                             : length > 1 && !is_hidden_control(at, length);
    if (plain) {
        memcpy(out, at, length);
        *written = length;
        return length;
    }
    static const char digits[] = "0123456789abcdef";
    out[0] = '\\';
    out[1] = 'x';
    out[2] = digits[at[0] >> 4];
    out[3] = digits[at[0] & 15];
    *written = 4;
    return 1;
}

void text_add_escaped(struct text *text, const void *bytes, size_t length, size_t limit)
{
    const unsigned char *at = bytes;
    size_t total = 0;
    for (size_t i = 0; i < length;) {
        char out[8];
        size_t written;
        size_t step = escape_one(at + i, length - i, out, &written);
        if (limit > 0 && total + written > limit)
            return;
        text_add_bytes(text, out, written);
        total += written;
        i += step;
    }
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* One escape behind its backslash; returns the bytes eaten, 0 when it is none. */
static size_t unescape_one(const char *at, size_t left, char *out)
{
    static const char named[] = "n\nr\rt\t0\0\\\\";
    if (left == 0)
        return 0;
    for (size_t i = 0; i < sizeof named - 1; i += 2)
        if (at[0] == named[i]) {
            *out = named[i + 1];
            return 1;
        }
    if (at[0] != 'x' || left < 3 || hex_value(at[1]) < 0 || hex_value(at[2]) < 0)
        return 0;
    *out = (char)(hex_value(at[1]) * 16 + hex_value(at[2]));
    return 3;
}

int text_add_unescaped(struct text *text, const char *string, size_t length)
{
    size_t before = text->length;
    for (size_t i = 0; i < length; i++) {
        char c = string[i];
        if (c == '\\') {
            size_t eaten = unescape_one(string + i + 1, length - i - 1, &c);
            if (eaten == 0) {
                text->length = before;
                if (text->data != NULL)
                    text->data[before] = '\0';
                return -1;
            }
            i += eaten;
        }
        text_add_char(text, c);
    }
    return 0;
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
