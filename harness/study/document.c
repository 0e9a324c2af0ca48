#include "harness/study/document.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    const struct document_section *left = *(struct document_section *const *)a;
    const struct document_section *right = *(struct document_section *const *)b;
    int order = strcmp(left->name, right->name);
    if (order != 0)
        return order;
    return left->line < right->line ? -1 : left->line > right->line;
}

static void forget_keys(struct document_section *section)
{
    for (size_t i = 0; i < section->count; i++) {
        free(section->keys[i].name);
        free(section->keys[i].value);
    }
    section->count = 0;
}

void document_put(struct document *document, const char *section, const char *key,
                  const char *value, size_t line)
{
    struct document_section *of = (struct document_section *)document_find(document, section);
    if (!of) {
        of = GROW(document->sections, document->count);
        *of = (struct document_section){.name = xstrdup(section), .line = line};
    }
    struct document_key *known = key ? (struct document_key *)section_find(of, key) : NULL;
    if (known) {
        free(known->value);
        known->value = xstrdup(value);
        known->line = line;
    } else if (key) {
        *GROW(of->keys, of->count) = (struct document_key){xstrdup(key), xstrdup(value), line};
    }
}

void document_check_duplicates(struct document *document, struct complaints *complaints)
{
    struct document_section **sorted =
        xcalloc(document->count + 1, sizeof(struct document_section *));
    for (size_t i = 0; i < document->count; i++)
        sorted[i] = &document->sections[i];
    qsort(sorted, document->count, sizeof(struct document_section *), by_name);
    size_t first = 0;
    for (size_t i = 1; i < document->count; i++) {
        if (strcmp(sorted[i]->name, sorted[first]->name) != 0) {
            first = i;
            continue;
        }
        complain(complaints, COMPLAINT_TWICE, section_subject(sorted[i]),
                 "section [%s] is already in line %zu", sorted[i]->name, sorted[first]->line);
        forget_keys(sorted[i]);
        sorted[i]->duplicate = true;
    }
    free(sorted);
}

void document_release(struct document *document)
{
    for (size_t i = 0; i < document->count; i++) {
        forget_keys(&document->sections[i]);
        free(document->sections[i].keys);
        free(document->sections[i].name);
    }
    free(document->sections);
    *document = (struct document){.sections = NULL};
}

const struct document_section *document_find(const struct document *document, const char *name)
{
    for (size_t i = 0; i < document->count; i++)
        if (strcmp(document->sections[i].name, name) == 0)
            return &document->sections[i];
    return NULL;
}

const struct document_key *section_find(const struct document_section *section, const char *key)
{
    for (size_t i = 0; section && i < section->count; i++)
        if (strcmp(section->keys[i].name, key) == 0)
            return &section->keys[i];
    return NULL;
}

struct subject document_subject(const struct document *document, const char *section,
                                const char *key)
{
    const struct document_section *found = document_find(document, section);
    const struct document_key *at = key ? section_find(found, key) : NULL;
    return (struct subject){section, key, at ? at->line : found ? found->line : 0};
}

struct subject section_subject(const struct document_section *section)
{
    return (struct subject){section->name, NULL, section->line};
}

struct subject key_subject(const struct document_section *section,
                           const struct document_key *key)
{
    return (struct subject){section->name, key->name, key->line};
}

const char *section_argument(const struct document_section *section, const char *kind)
{
    size_t length = strlen(kind);
    if (strncmp(section->name, kind, length) != 0 || section->name[length] != ' ')
        return NULL;
    return section->name + length + 1;
}
