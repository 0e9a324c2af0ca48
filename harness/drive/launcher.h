/* launcher: mpirun, from its command line to its end. Every run goes through it, one rank
 * included; its exit status is a hint, the ranks' shards are the facts.
 */
#ifndef HIGHWATER_DRIVE_LAUNCHER_H
#define HIGHWATER_DRIVE_LAUNCHER_H

#include "harness/base/argv.h"
#include "harness/base/watch.h"
#include "harness/verdict/run_rows.h"

struct launcher {
    bool allow_root;     /* the study's consent */
    char *mpirun;        /* its path */
    char *rank_program;  /* highwater-rank, beside us */
    struct text version; /* first line of mpirun --version */
};
/* Everything that can be told before a run: mpirun and highwater-rank exist, root has
 * consented. -1: a plain reason. */
int launcher_open(struct launcher *launcher, bool allow_root, struct text *why) MUST_CHECK;
void launcher_close(struct launcher *launcher);

struct launch {
    uint64_t ranks;
    const char *run_folder;         /* shards */
    const char *live_folder;        /* in memory: the launcher's session files go there too */
    const struct words *rank_words; /* what follows the rank program's name */
    uint64_t timeout_ns, settle_ns; /* of the study */
};
/* Its words, and the variables that it needs: put before it as NAME=value. */
void launcher_command(const struct launcher *launcher, const struct launch *launch,
                      struct words *environment, struct words *words);
/* Writes RUN_FOLDER/command, the line that repeats the run by hand: its folder in memory may be
 * gone, and is made again and taken away; the one around it belongs to the driver while there
 * is one. */
int launcher_write_command(const struct launcher *launcher, const struct launch *launch,
                           struct text *why) MUST_CHECK;

/* Runs it to its end and leaves no process behind. Its output goes to RUN_FOLDER/launcher. -1:
 * we lack what it takes to start anything; that is no end of a run. */
int launcher_run(const struct launcher *launcher, const struct launch *launch,
                 const struct watch *watch, struct launch_end *end,
                 struct text *why) MUST_CHECK;

/* The path of that file; the caller frees. */
char *launcher_output_path(const char *run_folder) MUST_CHECK;

#endif
