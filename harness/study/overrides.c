#include "harness/study/overrides.h"

#include "harness/study/lines.h"

#include <stdlib.h>
#include <string.h>

/* Replaces `length` bytes at `start` by `with`. */
static void splice(struct text *bytes, size_t start, size_t length, const char *with)
{
    struct text result = TEXT_INIT;
    text_add_bytes(&result, bytes->data, start);
    text_add(&result, with);
    text_add_bytes(&result, bytes->data + start + length, bytes->length - start - length);
    text_release(bytes);
    *bytes = result;
}

/* Lines written by an override: `count` of them before the line of this index. */
static void insert_origins(struct frozen *frozen, size_t index, size_t count, size_t number)
{
    frozen->origin = xrealloc(frozen->origin, (frozen->lines + count) * sizeof *frozen->origin);
    memmove(frozen->origin + index + count, frozen->origin + index,
            (frozen->lines - index) * sizeof *frozen->origin);
    for (size_t i = 0; i < count; i++)
        frozen->origin[index + i] = (struct origin){.line = 0, .override = number};
    frozen->lines += count;
}

/* Where an override belongs: the key's line, or the line behind which it is to be added. */
struct place {
    bool section, key; /* found */
    size_t index;
};

static struct place find(const struct study_lines *lines, const struct override *override)
{
    struct place place = {false, false, 0};
    bool inside = false;
    for (size_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->line[i];
        if (line->kind == LINE_SECTION || (line->kind == LINE_BAD && line->opens)) {
            if (place.section)
                return place;
            inside = line->kind == LINE_SECTION && strcmp(line->text, override->section) == 0;
            place.section = inside;
            place.index = inside ? i : place.index;
        } else if (inside && line->kind == LINE_KEY) {
            place.index = i;
            place.key = strcmp(line->text, override->key) == 0;
            if (place.key)
                return place;
        }
    }
    return place;
}

static const char *line_end(const struct text *bytes)
{
    const char *newline = bytes->length ? memchr(bytes->data, '\n', bytes->length) : NULL;
    return newline && newline > bytes->data && newline[-1] == '\r' ? "\r\n" : "\n";
}

static void add_lines(struct frozen *frozen, const struct study_lines *lines,
                      const struct override *override, const struct place *place)
{
    const char *end = line_end(&frozen->bytes);
    struct text added = TEXT_INIT;
    size_t at = frozen->bytes.length, index = frozen->lines, count = 1;
    if (place->section && place->index + 1 < lines->count) {
        index = place->index + 1;
        at = lines->line[index].start;
    } else if (at > 0 && frozen->bytes.data[at - 1] != '\n') {
        text_add(&added, end);
    }
    if (!place->section) {
        text_addf(&added, "[%s]%s", override->section, end);
        count = 2;
    }
    text_addf(&added, "%s = %s%s", override->key, override->value, end);
    splice(&frozen->bytes, at, 0, text_string(&added));
    insert_origins(frozen, index, count, override->number);
    text_release(&added);
}

static void write_override(struct frozen *frozen, const struct override *override)
{
    struct study_lines lines;
    lines_scan(&frozen->bytes, &lines);
    struct place place = find(&lines, override);
    if (place.key) {
        const struct line *line = &lines.line[place.index];
        splice(&frozen->bytes, line->value_start, line->value_length, override->value);
        frozen->origin[place.index].override = override->number;
    } else {
        add_lines(frozen, &lines, override, &place);
    }
    lines_release(&lines);
}

/* Would the lines read back as what was asked for? A value with " ;" or a line break would not.
 */
static bool reads_back(const char *section, const char *key, const char *value)
{
    struct text text = TEXT_INIT;
    struct study_lines lines;
    text_addf(&text, "[%s]\n%s = %s", section, key, value);
    lines_scan(&text, &lines);
    bool good = lines.count == 2 && lines.line[0].kind == LINE_SECTION &&
                strcmp(lines.line[0].text, section) == 0 &&
                lines.line[1].kind == LINE_KEY &&
                strcmp(lines.line[1].text, key) == 0 &&
                lines.line[1].value_length == strlen(value);
    lines_release(&lines);
    text_release(&text);
    return good;
}

int override_make(const char *section, const char *key, const char *value, size_t number,
                  struct complaints *complaints, struct override *override)
{
    const char *start = value + strspn(value, " \t");
    size_t length = strlen(start);
    while (length > 0 && strchr(" \t", start[length - 1]))
        length--;
    struct override made = {.number = number,
                            .section = xstrdup(section),
                            .key = xstrdup(key),
                            .value = xstrndup(start, length)};
    if (reads_back(made.section, made.key, made.value)) {
        *override = made;
        return 0;
    }
    complain_of_override(complaints, number,
                         "cannot stand in a study file (a line break, or a blank before a ;?)");
    override_release(&made);
    return -1;
}

int override_read(const char *text, size_t number, struct complaints *complaints,
                  struct override *override)
{
    const char *equals = strchr(text, '=');
    const char *dot = equals ? memrchr(text, '.', (size_t)(equals - text)) : NULL;
    char *section = section_name(text, dot ? (size_t)(dot - text) : 0);
    char *key = dot ? section_name(dot + 1, (size_t)(equals - dot) - 1) : xstrdup("");
    int result = -1;
    if (section[0] && key[0])
        result = override_make(section, key, equals + 1, number, complaints, override);
    else
        complain_of_override(complaints, number, "not of the form section.key=value");
    free(section);
    free(key);
    return result;
}

void override_release(struct override *override)
{
    free(override->section);
    free(override->key);
    free(override->value);
}

static void apply(struct frozen *frozen, const char *text, size_t number,
                  struct complaints *complaints)
{
    struct override override;
    if (override_read(text, number, complaints, &override) != 0)
        return;
    write_override(frozen, &override);
    override_release(&override);
}

void freeze(const struct text *bytes, const char *const *overrides, size_t count,
            struct frozen *frozen, struct complaints *complaints)
{
    struct study_lines lines;
    *frozen = (struct frozen){.bytes = TEXT_INIT, .origin = NULL, .lines = 0};
    text_add_bytes(&frozen->bytes, bytes->data, bytes->length);
    lines_scan(bytes, &lines);
    frozen->lines = lines.count;
    lines_release(&lines);
    frozen->origin = xcalloc(frozen->lines + 1, sizeof *frozen->origin);
    for (size_t i = 0; i < frozen->lines; i++)
        frozen->origin[i].line = i + 1;
    for (size_t i = 0; i < count; i++)
        apply(frozen, overrides[i], i + 1, complaints);
}

void frozen_release(struct frozen *frozen)
{
    text_release(&frozen->bytes);
    free(frozen->origin);
    *frozen = (struct frozen){.bytes = TEXT_INIT, .origin = NULL, .lines = 0};
}
