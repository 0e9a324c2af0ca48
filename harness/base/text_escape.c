/* text_escape.c: UTF-8, and text as it may be shown. */
#include "harness/base/text.h"

#include <string.h>

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
