/* sections: one section's keys into their options. Internal to the study room. */
#ifndef HIGHWATER_STUDY_SECTIONS_H
#define HIGHWATER_STUDY_SECTIONS_H

#include "harness/study/document.h"
#include "harness/study/study.h"

#define STUDY_NAME 64       /* bytes of a study's name at most */
#define STUDY_INPUT_NAME 40 /* bytes of an input's name at most */

struct study_scope {
    const struct option *options; /* NULL ends a list */
    void *target;
};
#define STUDY_SCOPES 4 /* tables that share a section, and the end */

/* `section` may be NULL: then only keys that must be given are missed, under `name`. What a
 * malformed line may have taken away is not missed. Keys are spelled exactly as in the table:
 * with a second spelling a key could be given twice unnoticed. */
void study_take_section(const struct document_section *section, const char *name,
                        const struct study_scope *scopes, struct complaints *complaints);
/* What to say behind a refused value that looks commented: "" or a hint. */
const char *study_comment_hint(const char *value);
/* A value for a dimension that the workload does not have would be ignored: refused. */
void study_check_dimensions(const struct document_section *section, const struct study *study,
                            struct complaints *complaints);
/* [input …], [sweep …], [boundary …]; unknown ones are complained of. */
void study_take_named(const struct document_section *section, struct study *study,
                      struct complaints *complaints);
/* Is it a section of settings, which alone is nothing to run? */
bool study_is_setting(const struct document_section *section);
/* A letter or digit, then letters, digits, ".", "_" and "-", up to `limit` bytes. */
bool study_name_is_good(const char *name, size_t limit);

#endif
