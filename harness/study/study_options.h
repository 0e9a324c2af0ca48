/* study_options: every key of a study file, a row each. Reader, record, hash, help and the
 * commands that take single settings as options walk these tables.
 */
#ifndef HIGHWATER_STUDY_STUDY_OPTIONS_H
#define HIGHWATER_STUDY_STUDY_OPTIONS_H

#include "harness/study/study.h"

struct study_table {
    const char *section; /* NULL ends the list */
    const struct option *options;
    size_t offset; /* of the table's target in struct study */
};
/* The sections that every workload has, in canonical order. The workload's own section is
 * study->setting.workload->options for study->setting.options. */
extern const struct study_table study_tables[];

extern const struct option protocol_options[]; /* dtype, warmup, repeats; for struct study */
extern const struct option sweep_options[];    /* for struct sweep_text */
extern const struct option boundary_options[]; /* for struct study_boundary */

/* The sections whose names have two words, "sweep batch". */
struct study_kind {
    const char *name, *argument; /* "sweep", "DIMENSION"; NULL ends the list */
    const struct option *options;
    const char *help; /* one line */
};
extern const struct study_kind study_kinds[];

/* Appends every key that a study may have, section by section: how it is written, what it
 * means, its default and bounds. */
void study_keys_help(struct text *out);
struct sweep_text {
    char *values;
};

/* Workloads of later issues: their names are "not yet" rather than unknown. A workload that is
 * in workloads[] is never looked up here. NULL-terminated. */
extern const char *const later_workloads[];

struct study_key {
    const char *section;
    const struct option *option;
    const void *target; /* of the option */
    enum key_role role;
};
/* Calls `each` for every key of the study in canonical order, the workload's own last. */
void study_each_key(const struct study *study,
                    void (*each)(void *user, const struct study_key *key), void *user);

#endif
