/* disk_faults: system calls that fail when they are asked to; linked with --wrap=CALL for each.
 *
 * Calls on names below a folder "disk" are counted, whoever makes them; others pass. */
#ifndef TESTS_UNIT_DISK_FAULTS_H
#define TESTS_UNIT_DISK_FAULTS_H

#include <stdbool.h>

/* What a call does; a fault is for some of them. */
enum call {
    CALL_OPEN = 1,   /* to read */
    CALL_CREATE = 2, /* a file or a folder, or open to write */
    CALL_READ = 4,
    CALL_WRITE = 8,
    CALL_SYNC = 16,
    CALL_CLOSE = 32,
    CALL_RENAME = 64,
    CALL_REMOVE = 128,
    CALL_CUT = 256, /* ftruncate */
    CALL_LOCK = 512,
    CALL_ASK = 1024, /* who holds a lock */
};

struct disk_fault {
    unsigned calls; /* a sum of enum call */
    int at;         /* the how many-th of them fails, from 1 on; 0: none */
    int error;      /* errno */
    bool stays;     /* and all behind it */
    bool half;      /* a write takes the first half of its bytes, and the next one fails */
};

/* What came of it. */
struct disk_story {
    int counted;
    bool fired;
    char what[4200]; /* "fsync disk/night/rows.csv" */
    int launches;    /* shards that were created */
    int launches_at_fault;
    bool unsynced; /* when one was, the disk did not have all that was written outside runs/ */
};

void disk_arm(const struct disk_fault *fault);
/* Nothing fails any more. */
struct disk_story disk_disarm(void);

#endif
