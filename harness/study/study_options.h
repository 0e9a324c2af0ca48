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

extern const struct option point_options[];    /* dimensions; for struct point */
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

/* What a key means for the record. */
enum key_role {
    KEY_OF_RUN,      /* changes what a run is, and has no column: stands in `options` */
    KEY_IN_COLUMN,   /* changes what a run is, and has a column (or several) of its own */
    KEY_OF_SCHEDULE, /* which runs, when, how long to wait: no run becomes another by it */
    KEY_PERMISSION,  /* nobody's result depends on it: not part of the hash either */
};
enum key_role key_role(const char *section, const char *key);

/* Calls `each` for every key of the study in canonical order, the workload's own last. */
void study_each_key(const struct study *study,
                    void (*each)(void *user, const char *section, const struct option *option,
                                 const void *target),
                    void *user);

#endif
