/* folder_view: what a results folder says of its study, read without touching it, also while a
 * sweep runs.
 */
#ifndef HIGHWATER_COMMAND_FOLDER_VIEW_H
#define HIGHWATER_COMMAND_FOLDER_VIEW_H

#include "harness/record/results.h"
#include "harness/plan/searches.h"

struct folder_view {
    const char *folder; /* borrowed */
    struct study study;
    struct plan plan;
    struct probes probes;
    struct whole_runs table;                    /* no damage is told of what is being written */
    uint64_t places;                            /* placement = alone: devices */
    size_t made, fitted, failed, skipped, left; /* of those made, some were skipped */
    uint32_t unfinished[ROLE_INPUT + 1]; /* by role: a bit for each dimension with runs left */
    bool in_use;
    struct text user;    /* who works in it */
    struct text current; /* the run in progress, "" none */
    struct text since;   /* when it began, UTC */
};
/* -1: no results folder of ours. */
int folder_view_open(struct folder_view *view, const char *folder, struct text *why) MUST_CHECK;
void folder_view_close(struct folder_view *view);
/* Why `file` is not there: "FOLDER: there is no such folder; there is FOLDER.host". sweep names
 * the folder of a study of which nothing was observed after the backend. */
void folder_add_missing(const char *folder, const char *file, struct text *why);

#endif
