/* study: one INI file, a question. study.c alone knows inih.
 *
 * Reading refuses a file before anything is created or launched; all errors of a file are given
 * at once, one line each as "FILE:LINE: reason" in line order.
 */
#ifndef HIGHWATER_STUDY_STUDY_H
#define HIGHWATER_STUDY_STUDY_H

#include "harness/study/describe.h"
#include "harness/workload/workload.h"

enum study_order { ORDER_LISTED, ORDER_SHUFFLED };
enum study_after_oom { AFTER_OOM_RUN_ALL, AFTER_OOM_SKIP_LARGER };
enum study_placement { PLACEMENT_TOGETHER, PLACEMENT_ALONE };
enum study_rank_failure { RANK_FAILURE_FINISH, RANK_FAILURE_STOP };
enum study_trace { TRACE_NEVER, TRACE_ON_FAILURE, TRACE_ALWAYS };

/* A named complete input: [point] with some values replaced. */
struct study_input {
    char *name;
    struct point point;
};
struct study_sweep {
    enum dimension dimension;
    uint64_t *values; /* in listed order */
    size_t count;
};
struct study_boundary {
    enum dimension dimension;
    uint64_t from, to, step, confirm;
};

#define STUDY_RUNS_LIMIT ((size_t)1000000) /* runs of a study at most */

struct study {
    /* What its runs have in common: the plan varies point and phases, a rank its device. */
    struct setting setting;
    /* [study] */
    char *name, *question;
    char *workload_name;
    uint64_t trials, timeout_ns;
    char *until;          /* "" none */
    int phases;           /* enum phases */
    int order, after_oom; /* enums above */
    /* [identity] */
    char *model_revision, *input_set;
    /* [launch] */
    int launcher;         /* 0 mpirun, 1 srun */
    char *ranks_text;     /* "1" … or "per-device" */
    struct reading ranks; /* missing: per-device */
    int placement, on_rank_failure;
    char *devices, *hostfile;
    bool allow_root;
    uint64_t settle_ns;
    /* [device] */
    int trace;
    char *capacity_text;
    uint64_t *capacity; /* one per rank, or one, or none */
    size_t capacities;
    char *fault; /* PHASE:KIND[:RANK], "" none */
    /* what is to be run */
    struct study_input *inputs;
    size_t input_count;
    struct study_sweep *sweeps;
    size_t sweep_count;
    struct study_boundary *boundaries;
    size_t boundary_count;
    /* provenance */
    struct text frozen; /* the file's bytes with overrides applied */
    char hash[24]; /* "s-" and 16 hex digits, of the meaning: cosmetic edits do not change it */
};

/* Overrides are "section.key=value", split at the last dot before the first '='. */
int study_read(const char *path, const char *const *overrides, size_t count,
               struct study *study, struct text *errors) MUST_CHECK;
/* The same from memory; `name` stands for the file in messages. */
int study_parse(const char *name, const struct text *bytes, const char *const *overrides,
                size_t count, struct study *study, struct text *errors) MUST_CHECK;
/* A setting of a study that stands in no file. */
struct study_given {
    const char *section, *key; /* no section: the value is section.key=value */
    const char *value;
    const char *typed; /* what to call it in a message */
};
/* A study of such settings, of two of one key the later; no bytes of it are frozen. Errors are
 * "TYPED: reason", or "NAME: reason". */
int study_make(const char *name, const struct study_given *given, size_t count,
               struct study *study, struct text *errors) MUST_CHECK;
/* The study.ini of a results folder, which was checked when the folder was made: the files that
 * it names may have gone since, so its points are not checked again. */
int study_read_frozen(const char *path, struct study *study, struct text *errors) MUST_CHECK;

#endif
