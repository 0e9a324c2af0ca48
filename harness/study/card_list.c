#include "harness/study/card_list.h"
#include "harness/base/file.h"
#include "harness/base/units.h"
#include "harness/study/document.h"
#include "harness/study/lines.h"

#include <stdlib.h>
#include <string.h>

static void read_size(const struct document_section *section, const struct document_key *key,
                      struct reading *out, struct complaints *complaints)
{
    struct text reason = TEXT_INIT;
    uint64_t bytes;
    if (!key->value[0])
        return; /* missing, and said to be */
    if (parse_size(key->value, &bytes, &reason) != 0)
        complain(complaints, COMPLAINT_VALUE, key_subject(section, key), "%s: %s", key->name,
                 text_string(&reason));
    else
        *out = reading_of(bytes);
    text_release(&reason);
}

static void read_card(const struct document_section *section, struct card_list *list,
                      struct complaints *complaints)
{
    struct reading capacity = reading_missing();
    struct card_line line = {.name = xstrdup(section->name)};
    for (size_t i = 0; i < section->count; i++) {
        const struct document_key *key = &section->keys[i];
        if (strcmp(key->name, "capacity") == 0)
            read_size(section, key, &capacity, complaints);
        else if (strcmp(key->name, "outside") == 0)
            read_size(section, key, &line.outside, complaints);
        else if (strcmp(key->name, "reserve") == 0)
            read_size(section, key, &line.reserve, complaints);
        else if (strcmp(key->name, "read_by") != 0 && strcmp(key->name, "from") != 0)
            complain(complaints, COMPLAINT_UNKNOWN, key_subject(section, key),
                     "%s: a card has no such key", key->name);
    }
    if (!capacity.known)
        complain(complaints, COMPLAINT_MISSING, section_subject(section),
                 "[%s] has no capacity", section->name);
    line.capacity = capacity.known ? capacity.value : 0;
    list->lines = xrealloc(list->lines, (list->count + 1) * sizeof(*list->lines));
    list->lines[list->count++] = line;
}

int card_list_read(const char *path, struct card_list *list, struct text *why)
{
    struct text bytes = TEXT_INIT;
    struct complaints complaints = {.list = NULL};
    struct document document;
    struct card_list read = {0};
    if (file_read(path, STUDY_FILE_LIMIT, &bytes, why) != 0)
        return -1;
    document_read(&bytes, &document, &complaints);
    for (size_t i = 0; i < document.count; i++) {
        if (!document.sections[i].duplicate)
            read_card(&document.sections[i], &read, &complaints);
    }
    if (document.count == 0 && complaints.count == 0)
        complain(&complaints, COMPLAINT_MISSING, (struct subject){NULL, NULL, 0},
                 "there is no card in it");
    const int result = complaints.count ? -1 : 0;
    complaints_print(&complaints, path, NULL, 0, "", NULL, why);
    complaints_release(&complaints);
    document_release(&document);
    text_release(&bytes);
    if (result)
        card_list_release(&read);
    else
        *list = read;
    return result;
}

void card_list_release(struct card_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->lines[i].name);
    free(list->lines);
    *list = (struct card_list){0};
}
