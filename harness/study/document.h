/* document: the sections and keys of a study file, not yet understood. Internal to the room. */
#ifndef HIGHWATER_STUDY_DOCUMENT_H
#define HIGHWATER_STUDY_DOCUMENT_H

#include "harness/study/complaints.h"

struct document_key {
    char *name, *value;
    size_t line;
};
struct document_section {
    char *name;
    size_t line;
    bool duplicate; /* of an earlier one: not read */
    bool malformed; /* has a malformed line: keys may be missing because of it */
    struct document_key *keys;
    size_t count;
};
struct document {
    struct document_section *sections; /* in file order */
    size_t count;
    bool malformed; /* a section may be missing because of a malformed line */
};

/* Reads through inih (study.c). Malformed lines are complained of and left out. */
void document_read(const struct text *bytes, struct document *document,
                   struct complaints *complaints);
/* Adds a key (NULL: the section alone), or gives one that is there another value and line. */
void document_put(struct document *document, const char *section, const char *key,
                  const char *value, size_t line);
/* Complains of sections of the same name; the later ones lose their keys. */
void document_check_duplicates(struct document *document, struct complaints *complaints);
void document_release(struct document *document);

/* NULL: not there. */
const struct document_section *document_find(const struct document *document, const char *name);
const struct document_key *section_find(const struct document_section *section,
                                        const char *key);
/* What to complain about: `key` (NULL: none) of `section`; its line, else the section's, else
 * 0. */
struct subject document_subject(const struct document *document, const char *section,
                                const char *key);
struct subject section_subject(const struct document_section *section);
struct subject key_subject(const struct document_section *section,
                           const struct document_key *key);
/* What follows "kind " in a section's name, or NULL: "batch" of "sweep batch". */
const char *section_argument(const struct document_section *section, const char *kind);

#endif
