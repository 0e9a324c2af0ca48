/* overrides: the file's bytes with overrides applied. Internal to the study room.
 *
 * An override replaces the value where the key stands, comment and spacing kept; a key that is
 * not there is added behind the last key of its section, a section that is not there at the end
 * of the file. Everything else is an exact copy, so that reading the frozen bytes again gives
 * the same study. Later overrides of the same key win.
 */
#ifndef HIGHWATER_STUDY_OVERRIDES_H
#define HIGHWATER_STUDY_OVERRIDES_H

#include "harness/study/complaints.h"

struct frozen {
    struct text bytes;
    struct origin *origin; /* of each line */
    size_t lines;
};
/* Overrides that cannot be applied are complained of and left out. */
void freeze(const struct text *bytes, const char *const *overrides, size_t count,
            struct frozen *frozen, struct complaints *complaints);
void frozen_release(struct frozen *frozen);

/* The parts of "section.key=value", without blanks around, owned. */
struct override {
    size_t number; /* of the override, from 1 */
    char *section, *key, *value;
};
/* -1: it could not stand in a study file; that was complained of. */
int override_make(const char *section, const char *key, const char *value, size_t number,
                  struct complaints *complaints, struct override *override) MUST_CHECK;
/* The same from "section.key=value"; -1 also for another form. */
int override_read(const char *text, size_t number, struct complaints *complaints,
                  struct override *override) MUST_CHECK;
void override_release(struct override *override);

#endif
