/* run_rows: the rows of one run, whatever became of it: what the ranks said, what is known of
 * those that said nothing, the plan's predictions beside it, phases not reached. Made of what
 * the driver has read; the driver's rules of rules.def decide, from `out_of_order` on.
 */
#ifndef HIGHWATER_VERDICT_RUN_ROWS_H
#define HIGHWATER_VERDICT_RUN_ROWS_H

#include "harness/nvml/seat.h"
#include "harness/plan/plan.h"
#include "harness/protocol/phases.h"
#include "harness/protocol/shard.h"

/* How the launcher ended. */
struct launch_end {
    bool started;     /* false: mpirun itself cannot be started */
    bool interrupted; /* ended because of `signal`, which is ours */
    int signal;
    bool late;     /* ended at our own deadline: ranks that never met, or lost ranks */
    int status;    /* as from waitpid */
    int left_over; /* processes that had to be ended after it; -1: some live on */
};
/* What is known of one rank. */
struct rank_facts {
    uint64_t rank;
    const struct seat *seat;
    const struct shard *shard;       /* what it wrote; empty when it was skipped */
    const struct phase_record *left; /* what its child left behind, when it was lost */
    const char *unread;              /* why that cannot be read; "": it can */
    const char *skipped;             /* why there was no launch; NULL: there was */
    const struct launch_end *end;
    const char *launcher_words; /* why it cannot be started, or what it said; escaped; "" */
    uint64_t started_ns;        /* realtime of the launch; 0: unknown */
    const struct plan_run *run;
    const struct row *decided;     /* before the run: stands over what rank and child say */
    const struct prediction *plan; /* NULL: there is none, for the reason `unpredicted` */
    const char *unpredicted;
};
struct run_rows {
    struct row *rows; /* rank by rank in plan order, each with its closing row last */
    size_t count;
    struct text lost; /* the ranks that were, as told to those who were ended with them */
    /* by run_rows_judge: */
    size_t worst; /* index of the closing row that says most about the run */
    bool ok;      /* every rank ended as asked */
    bool device_lost;
};

/* Appends the rows of the next rank. A child that ran under something else, or did not reach a
 * phase, did not do what was asked. */
void rank_rows_add(const struct rank_facts *facts, struct run_rows *rows);
/* The run as a whole, when the rows of all its ranks are there. */
void run_rows_judge(struct run_rows *rows, const struct launch_end *end);
/* The files of the study changed meanwhile: nothing predicted or estimated stands beside what
 * was seen, and it proves nothing of those that the study began with. */
void run_rows_disown(struct run_rows *rows, const char *reason);
void run_rows_release(struct run_rows *rows);

#endif
