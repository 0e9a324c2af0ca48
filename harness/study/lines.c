#include "harness/study/lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_key_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

char *section_name(const char *bytes, size_t length)
{
    struct text name = TEXT_INIT;
    for (size_t i = 0; i < length; i++) {
        if (!is_blank(bytes[i]))
            text_add_char(&name, bytes[i]);
        else if (name.length > 0 && !is_blank(bytes[i - 1]))
            text_add_char(&name, ' ');
    }
    if (name.length > 0 && name.data[name.length - 1] == ' ')
        name.data[--name.length] = '\0';
    return name.length > 0 ? text_detach(&name) : xstrdup("");
}

static void bad(struct line *line, const char *format, ...) PRINTF_LIKE(2, 3);
static void bad(struct line *line, const char *format, ...)
{
    struct text reason = TEXT_INIT;
    va_list arguments;
    va_start(arguments, format);
    text_addv(&reason, format, arguments);
    va_end(arguments);
    line->kind = LINE_BAD;
    line->text = text_detach(&reason);
}

/* What no line may hold, comments included: a line that cannot be shown cannot be judged. */
static bool bytes_are_bad(const char *at, size_t length, struct line *line)
{
    if (length > STUDY_LINE_LIMIT) {
        bad(line, "line of %zu bytes: at most %zu can be read", length, STUDY_LINE_LIMIT);
        return true;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)at[i];
        if (c == '\0')
            bad(line, "NUL byte");
        else if (c == '\r')
            bad(line, "carriage return in the middle of a line");
        else if ((c < 0x20 && c != '\t') || c == 0x7f)
            bad(line, "control byte 0x%02x", c);
        else
            continue;
        return true;
    }
    if (!text_is_utf8(at, length)) {
        bad(line, "not valid UTF-8");
        return true;
    }
    for (size_t i = 0; i < length; i++) {
        uint32_t c;
        if (text_hidden(at + i, length - i, &c) == 2 && c >= 0x80 && c < 0xa0) {
            bad(line, "control character U+%04X", c);
            return true;
        }
    }
    return false;
}

/* Length of `at` without a comment (blank, then ;) and without blanks at its end. */
static size_t without_comment(const char *at, size_t length)
{
    for (size_t i = 1; i < length; i++) {
        if (at[i] == ';' && is_blank(at[i - 1])) {
            length = i;
            break;
        }
    }
    while (length > 0 && is_blank(at[length - 1]))
        length--;
    return length;
}

static void scan_section(const char *at, size_t length, struct line *line)
{
    const char *end = memchr(at, ']', length);
    line->opens = true;
    if (!end) {
        bad(line, "a section's name ends with ]");
        return;
    }
    size_t inside = (size_t)(end - at) - 1;
    size_t after = inside + 2;
    if (without_comment(end, length - after + 1) > 1) {
        bad(line, "text after ]");
        return;
    }
    char *name = section_name(at + 1, inside);
    size_t name_length = strlen(name);
    if (name_length == 0) {
        bad(line, "a section without a name");
    } else if (name_length > STUDY_NAME_LIMIT) {
        bad(line, "section name of %zu bytes: at most %zu", name_length, STUDY_NAME_LIMIT);
    } else {
        line->kind = LINE_SECTION;
        line->text = name;
        return;
    }
    free(name);
}

static void scan_key(const char *base, const char *at, size_t length, struct line *line)
{
    const char *equals = memchr(at, '=', length);
    if (!equals) {
        const char *hint = memchr(at, ':', length) ? " (= separates them)" : "";
        bad(line, "neither [section] nor key = value%s", hint);
        return;
    }
    size_t key = (size_t)(equals - at);
    while (key > 0 && is_blank(at[key - 1]))
        key--;
    bool good = key > 0;
    for (size_t i = 0; i < key; i++)
        good = good && is_key_char(at[i]);
    if (!good || key > STUDY_NAME_LIMIT) {
        struct text shown = TEXT_INIT;
        text_add_escaped(&shown, at, key, STUDY_NAME_LIMIT);
        bad(line, "\"%s\" is not a key: letters, digits, _ and -, at most %zu bytes",
            text_string(&shown), STUDY_NAME_LIMIT);
        text_release(&shown);
        return;
    }
    line->kind = LINE_KEY;
    line->text = xstrndup(at, key);
    const char *value = equals + 1;
    size_t room = length - (size_t)(value - at);
    /* The comment is looked for before blanks are skipped: "key = ;x" is a comment. */
    size_t value_length = without_comment(value, room);
    while (value_length > 0 && is_blank(*value)) {
        value++;
        value_length--;
    }
    line->value_start = (size_t)(value - base);
    line->value_length = value_length;
}

static void scan_line(const char *base, size_t start, size_t length, struct line *line)
{
    *line = (struct line){.kind = LINE_BLANK, .start = start, .length = length};
    const char *at = base + start;
    if (start == 0 && length >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) {
        at += 3;
        length -= 3;
    }
    if (bytes_are_bad(at, length, line))
        return;
    while (length > 0 && is_blank(*at)) {
        at++;
        length--;
    }
    if (length == 0 || *at == ';' || *at == '#')
        return;
    if (*at == '[')
        scan_section(at, length, line);
    else
        scan_key(base, at, length, line);
}

void lines_scan(const struct text *bytes, struct study_lines *lines)
{
    *lines = (struct study_lines){NULL, 0};
    size_t next = 0, length;
    for (const char *at; (at = text_line(bytes, &next, &length)) != NULL;) {
        size_t start = (size_t)(at - bytes->data);
        if (length > 0 && at[length - 1] == '\r')
            length--;
        scan_line(bytes->data, start, length, GROW(lines->line, lines->count));
    }
}

void lines_release(struct study_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->line[i].text);
    free(lines->line);
    *lines = (struct study_lines){NULL, 0};
}
