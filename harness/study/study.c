#include "harness/study/study.h"

#include "harness/base/file.h"
#include "harness/study/overrides.h"
#include "harness/study/interpret.h"
#include "harness/study/lines.h"

#include <ini.h>
#include <stdlib.h>
#include <string.h>

/* inih cuts lines at 200 bytes and sections at 49, joins indented lines to the key above, takes
 * "key: value", reports duplicates as if nothing were wrong, and tells no line numbers. So it
 * is handed one well-formed line at a time (lines.c has judged the form), never indented, never
 * filling its buffer; and a value is taken from the line itself, not from what fitted into the
 * buffer. What the packaged version does with the rest no longer matters. */
struct walk {
    const struct text *bytes;
    const struct study_lines *lines;
    size_t next;   /* line to hand out */
    bool nowhere;  /* below a malformed section: its keys are not judged */
    size_t handed; /* keys handed out and not yet come back */
    struct document *document;
    struct complaints *complaints;
};

static void begin_section(struct document *document, const char *name, size_t line)
{
    *GROW(document->sections, document->count) =
        (struct document_section){.name = xstrdup(name), .line = line};
}

/* NULL: none has begun. */
static struct document_section *open_section(struct document *document)
{
    return document->count > 0 ? &document->sections[document->count - 1] : NULL;
}

/* Decides whether inih is to see this line. */
static bool is_for_inih(struct walk *walk, const struct line *line, size_t number)
{
    struct document_section *open;
    switch (line->kind) {
    case LINE_BLANK:
        return false;
    case LINE_BAD:
        walk->nowhere = walk->nowhere || line->opens;
        open = walk->nowhere ? NULL : open_section(walk->document);
        complain(walk->complaints, COMPLAINT_FORM,
                 (struct subject){open ? open->name : NULL, NULL, number}, "%s", line->text);
        *(open ? &open->malformed : &walk->document->malformed) = true;
        return false;
    case LINE_SECTION:
        walk->nowhere = false;
        begin_section(walk->document, line->text, number);
        return true;
    case LINE_KEY:
        if (walk->document->count == 0 && !walk->nowhere)
            complain(walk->complaints, COMPLAINT_FORM,
                     (struct subject){NULL, line->text, number},
                     "\"%s\" stands before the first section", line->text);
        return walk->document->count > 0 && !walk->nowhere;
    }
    return false;
}

static char *next_line(char *buffer, int size, void *user)
{
    struct walk *walk = user;
    while (walk->next < walk->lines->count) {
        const struct line *line = &walk->lines->line[walk->next++];
        if (!is_for_inih(walk, line, walk->next))
            continue;
        struct text canonical = TEXT_INIT;
        if (line->kind == LINE_SECTION) {
            text_addf(&canonical, "[%s]", line->text);
        } else {
            text_addf(&canonical, "%s=", line->text);
            text_add_bytes(&canonical, walk->bytes->data + line->value_start,
                           line->value_length);
            walk->handed++;
        }
        /* A newer inih skips what follows a buffer that was filled without a newline. */
        size_t room = (size_t)size - 2;
        size_t length = canonical.length < room ? canonical.length : room;
        memcpy(buffer, canonical.data, length);
        memcpy(buffer + length, "\n", 2);
        text_release(&canonical);
        return buffer;
    }
    return NULL;
}

static int take_key(void *user, const char *section, const char *name, const char *cut_value)
{
    struct walk *walk = user;
    struct document_section *open = open_section(walk->document);
    const struct line *line = &walk->lines->line[walk->next - 1];
    (void)cut_value;
    if (strcmp(section, open->name) != 0 || strcmp(name, line->text) != 0)
        return 0;
    *GROW(open->keys, open->count) = (struct document_key){
        .name = xstrdup(name),
        .value = xstrndup(walk->bytes->data + line->value_start, line->value_length),
        .line = walk->next};
    walk->handed--;
    return 1;
}

void document_read(const struct text *bytes, struct document *document,
                   struct complaints *complaints)
{
    struct study_lines lines;
    *document = (struct document){.sections = NULL};
    lines_scan(bytes, &lines);
    struct walk walk = {
        .bytes = bytes, .lines = &lines, .document = document, .complaints = complaints};
    int bad_line = ini_parse_stream(next_line, &walk, take_key, &walk);
    if (bad_line != 0 || walk.handed != 0)
        complain(complaints, COMPLAINT_FORM, (struct subject){NULL, NULL, 0},
                 "the INI library reads this file differently");
    lines_release(&lines);
    document_check_duplicates(document, complaints);
}

/* Releases the document. */
static int understand(struct document *document, bool was_checked, struct study *study,
                      struct complaints *complaints)
{
    struct study result;
    study_fill(document, &result, complaints);
    study_check(document, &result, complaints);
    if (!was_checked)
        study_check_points(document, &result, complaints);
    document_release(document);
    if (complaints->count > 0) {
        study_release(&result);
        return -1;
    }
    study_hash(&result, result.hash);
    *study = result;
    return 0;
}

static int parse(const char *name, const struct text *bytes, const char *const *overrides,
                 size_t count, bool was_checked, struct study *study, struct text *errors)
{
    if (bytes->length > STUDY_FILE_LIMIT)
        return text_fail(errors, "%s:1: file of %zu bytes: at most %zu can be read", name,
                         bytes->length, STUDY_FILE_LIMIT);
    struct complaints complaints = {.list = NULL};
    struct frozen frozen;
    struct document document;
    freeze(bytes, overrides, count, &frozen, &complaints);
    document_read(&frozen.bytes, &document, &complaints);
    int outcome = understand(&document, was_checked, study, &complaints);
    if (outcome == 0) {
        study->frozen = frozen.bytes;
        frozen.bytes = (struct text)TEXT_INIT;
    } else {
        complaints_print(&complaints, name, frozen.origin, frozen.lines, "--set", overrides,
                         errors);
    }
    complaints_release(&complaints);
    frozen_release(&frozen);
    return outcome;
}

/* As an override of a file would be taken: what no file can hold is refused here too. */
static void put(struct document *document, const struct study_given *given, size_t number,
                struct complaints *complaints)
{
    struct override override;
    if (given->section && !given->key) {
        document_put(document, given->section, NULL, NULL, number);
        return;
    }
    int made = given->section ? override_make(given->section, given->key, given->value, number,
                                              complaints, &override)
                              : override_read(given->value, number, complaints, &override);
    if (made != 0)
        return;
    document_put(document, override.section, override.key, override.value, number);
    override_release(&override);
}

int study_make(const char *name, const struct study_given *given, size_t count,
               struct study *study, struct text *errors)
{
    struct complaints complaints = {.list = NULL};
    struct document document = {.sections = NULL};
    struct origin *origins = xcalloc(count + 1, sizeof *origins);
    const char **typed = xcalloc(count + 1, sizeof *typed);
    for (size_t i = 0; i < count; i++) {
        put(&document, &given[i], i + 1, &complaints);
        origins[i].override = i + 1;
        typed[i] = given[i].typed;
    }
    int outcome = understand(&document, false, study, &complaints);
    if (outcome != 0)
        complaints_print(&complaints, name, origins, count, NULL, typed, errors);
    complaints_release(&complaints);
    free(origins);
    free(typed);
    return outcome;
}

static int read_file(const char *path, const char *const *overrides, size_t count,
                     bool was_checked, struct study *study, struct text *errors)
{
    struct text bytes = TEXT_INIT;
    int outcome = file_read(path, STUDY_FILE_LIMIT, &bytes, errors);
    if (outcome == 0)
        outcome = parse(path, &bytes, overrides, count, was_checked, study, errors);
    text_release(&bytes);
    return outcome;
}

int study_parse(const char *name, const struct text *bytes, const char *const *overrides,
                size_t count, struct study *study, struct text *errors)
{
    return parse(name, bytes, overrides, count, false, study, errors);
}

int study_read(const char *path, const char *const *overrides, size_t count,
               struct study *study, struct text *errors)
{
    return read_file(path, overrides, count, false, study, errors);
}

int study_read_frozen(const char *path, struct study *study, struct text *errors)
{
    return read_file(path, NULL, 0, true, study, errors);
}
