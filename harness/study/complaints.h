/* complaints: everything that is wrong with a study, found in any order, told in line order.
 * Internal to the study room.
 *
 * What a complaint is about stands in its fields. Its reason is for people: nothing is decided
 * by it, and it may begin with the name of the key or not.
 */
#ifndef HIGHWATER_STUDY_COMPLAINTS_H
#define HIGHWATER_STUDY_COMPLAINTS_H

#include "harness/base/text.h"

enum complaint_kind {
    COMPLAINT_FORM,     /* bytes, a line or an override that cannot be read */
    COMPLAINT_UNKNOWN,  /* a section or key that this study does not have */
    COMPLAINT_TWICE,    /* the section or key was given before */
    COMPLAINT_MISSING,  /* a key or section that must be given */
    COMPLAINT_VALUE,    /* a value that is refused by itself */
    COMPLAINT_TOGETHER, /* values that do not go with each other, or make a refused point */
};

/* What a complaint is about. */
struct subject {
    const char *section, *key; /* borrowed; NULL: no single one */
    size_t line;               /* of the frozen study, from 1; 0: about the whole file */
};

/* Where a line of the frozen study comes from. */
struct origin {
    size_t line;     /* of the file, from 1 */
    size_t override; /* the override that wrote it, from 1; 0: none */
};

struct complaint {
    enum complaint_kind kind;
    char *section, *key; /* NULL: none */
    size_t line;         /* as in struct subject; once printed, of the file */
    size_t override;     /* about an override itself, from 1; 0: about the line */
    char *reason;
};
struct complaints {
    struct complaint *list;
    size_t count;
    size_t dropped; /* beyond COMPLAINTS_LIMIT */
};
#define COMPLAINTS_LIMIT ((size_t)1000)
void complain(struct complaints *complaints, enum complaint_kind kind, struct subject about,
              const char *format, ...) PRINTF_LIKE(4, 5);
/* An override that cannot be applied: it is no line of the frozen study. */
void complain_of_override(struct complaints *complaints, size_t override, const char *format,
                          ...) PRINTF_LIKE(3, 4);
/* Is something inside the section of this name complained of? A section that stands there twice
 * is good itself. */
bool complaints_about(const struct complaints *complaints, const char *section);
/* Appends them in line order as "NAME:LINE: reason", then those of overrides as
 * "FLAG OVERRIDE: reason". `origins` has `lines` entries. Without a flag (NULL) there is no
 * file: "NAME: reason", "OVERRIDE: reason". */
void complaints_print(struct complaints *complaints, const char *name,
                      const struct origin *origins, size_t lines, const char *flag,
                      const char *const *overrides, struct text *out);
void complaints_release(struct complaints *complaints);

#endif
