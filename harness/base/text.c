#include "harness/base/text.h"

#include <assert.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
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

/* --- UTF-8, and text as it may be shown --------------------------------------------------- */

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

/* Beyond ASCII. The joiners U+200C and U+200D are not among them: words are written with them.
 */
static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x0080, 0x009f},   /* controls */
    {0x00ad, 0x00ad},   /* soft hyphen */
    {0x061c, 0x061c},   /* mark of direction */
    {0x180e, 0x180e},   /* no width */
    {0x200b, 0x200b},   /* no width */
    {0x200e, 0x200f},   /* marks of direction */
    {0x2028, 0x202e},   /* ends of lines; embeddings and overrides of direction */
    {0x2060, 0x206f},   /* no width; isolates */
    {0xfeff, 0xfeff},   /* no width */
    {0xfff9, 0xfffb},   /* annotations */
    {0xe0000, 0xe007f}, /* tags */
};

static uint32_t decode(const unsigned char *at, size_t length)
{
    static const unsigned char lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t character = at[0] & lead[length];
    for (size_t i = 1; i < length; i++)
        character = character << 6 | (at[i] & 0x3f);
    return character;
}

/* `length` is that of a valid character. */
static bool is_hidden(const unsigned char *at, size_t length)
{
    if (length == 1)
        return at[0] < 0x20 || at[0] == 0x7f;
    uint32_t character = decode(at, length);
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (character >= hidden[i].first && character <= hidden[i].last)
            return true;
    return false;
}

size_t text_hidden(const char *at, size_t left, uint32_t *character)
{
    const unsigned char *first = (const unsigned char *)at;
    size_t length = left > 0 ? utf8_length(first, left) : 0;
    if (length == 0 || !is_hidden(first, length))
        return 0;
    *character = decode(first, length);
    return length;
}

bool text_is_shown(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length;) {
        size_t step = utf8_length(at + i, length - i);
        if (step == 0 || (at[i] != '\t' && is_hidden(at + i, step)))
            return false;
        i += step;
    }
    return true;
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
    if (length > 0 && !is_hidden(at, length)) {
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

void text_add_shown(struct text *text, const void *bytes, size_t length)
{
    const char *at = bytes;
    for (size_t i = 0; i < length;) {
        size_t plain = i;
        while (plain < length && ((at[plain] >= 0x20 && at[plain] < 0x7f) || at[plain] == '\n'))
            plain++;
        text_add_bytes(text, at + i, plain - i);
        i = plain;
        if (i == length)
            return;
        char out[8];
        size_t written;
        i += escape_one((const unsigned char *)at + i, length - i, out, &written);
        text_add_bytes(text, out, written);
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
