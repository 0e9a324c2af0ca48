#include "harness/observe/rank.h"
#include "harness/base/clock.h"
#include "harness/base/file.h"
#include "harness/base/process.h"
#include "harness/observe/observer.h"
#include "harness/protocol/shard.h"

#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAP_FIRST_NS 20000u      /* between two looks at a barrier: short at first, */
#define NAP_LONGEST_NS 10000000u /* then at no cost for a child that runs for hours */
#define LAST_SOCKET 256

/* Every launcher that we know sets one of these. Read before MPI_Init, so that a rank that
 * never gets through it has left its start in the shard. */
static uint64_t rank_of_environment(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i]) != NULL)
            return strtoull(getenv(names[i]), NULL, 10);
    return 0;
}

static char *child_program(const char *name)
{
#ifdef HIGHWATER_TEST_HOOKS
    if (getenv("HIGHWATER_TEST_CHILD") != NULL)
        return xstrdup(getenv("HIGHWATER_TEST_CHILD"));
#endif
    return strchr(name, '/') != NULL ? xstrdup(name) : file_beside_me(name);
}

/* The launcher's client library talks over loopback TCP in small messages; without this the
 * last of them waits 40 ms for an acknowledgement when MPI is finalized. */
static void send_at_once(void)
{
    for (int fd = 3; fd < LAST_SOCKET; fd++) {
        int protocol = 0, yes = 1;
        socklen_t length = sizeof protocol;
        if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0 &&
            protocol == IPPROTO_TCP)
            (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    }
}

static int join(int *argc, char ***argv, const struct observer *observer, struct text *why)
{
    int rank = 0, size = 0;
    MPI_Init(argc, argv);
    send_at_once();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if ((uint64_t)size == observer->setting->ranks && (uint64_t)rank == observer->rank)
        return 0;
    return text_fail(why, "MPI says rank %d of %d, expected was rank %llu of %llu", rank, size,
                     (unsigned long long)observer->rank,
                     (unsigned long long)observer->setting->ranks);
}

/* All ranks are here. A blocking wait would burn a core while children run. 1: a signal came.
 */
static int meet(const struct watch *watch)
{
    MPI_Request request;
    int done = 0, signal = 0;
    uint64_t nap = NAP_FIRST_NS;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (done)
            return 0;
        if (watch_wait(watch, 0, -1, clock_monotonic_ns() + nap, &signal) == WATCH_SIGNAL)
            return 1;
        nap = nap < NAP_LONGEST_NS / 2 ? nap * 2 : NAP_LONGEST_NS;
    }
}

/* --- coupled programs: the first failure is told to all --- */

#define TAG_FAILED 1

static void tell_others(void *user)
{
    const struct observer *observer = user;
    for (uint64_t rank = 0; rank < observer->setting->ranks; rank++) {
        MPI_Request request;
        if (rank == observer->rank)
            continue;
        MPI_Isend(NULL, 0, MPI_BYTE, (int)rank, TAG_FAILED, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request); /* empty: it is gone once it is sent */
    }
}

static bool was_told(void *user, uint64_t *rank)
{
    MPI_Status status;
    int there = 0;
    (void)user;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_FAILED, MPI_COMM_WORLD, &there, &status);
    if (!there)
        return false;
    MPI_Recv(NULL, 0, MPI_BYTE, status.MPI_SOURCE, TAG_FAILED, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    *rank = (uint64_t)status.MPI_SOURCE;
    return true;
}

/* --- a rank's life --- */

/* From MPI_Init to MPI_Finalize. */
static int live(int *argc, char ***argv, struct observer *observer, struct text *why)
{
    if (join(argc, argv, observer, why) != 0)
        return 1;
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* we still end our child's tree */
    int prepared = observer_prepare(observer, why);
    if (prepared != 0 || meet(observer->watch) != 0) {
        if (prepared >= 0)
            text_add(why, "ended by a signal before the start");
        return 1;
    }
    const struct observer_peers peers = {
        .tell = tell_others, .told = was_told, .user = observer};
    if (observer->setting->stops_others)
        observer->peers = &peers;
    if (observer_run(observer, why) != 0)
        return SHARD_UNWRITTEN;
    if (meet(observer->watch) != 0)
        _exit(0); /* the launcher is ending everything; what we had to say is written */
    for (uint64_t ignored; was_told(observer, &ignored);)
        ; /* messages that came when our own child had ended */
    MPI_Finalize();
    return 0;
}

int rank_main(int argc, char **argv, struct text *why)
{
    struct rank_setting setting;
    struct watch watch;
    int child = 0, result = 1;
    /* A launcher that dies must not leave us behind. While MPI starts nobody reads our signals,
     * and without the launcher it would wait for ever. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    process_become_reaper();
    if (rank_setting_read(argc, argv, &setting, &child, why) != 0)
        return 1;
    if (watch_open(&watch, why) == 0) {
        char *program = child_program(argv[child]);
        struct observer observer = {.setting = &setting,
                                    .watch = &watch,
                                    .child = argv + child,
                                    .program = program,
                                    .rank = rank_of_environment(),
                                    .shard = -1};
        result = SHARD_UNWRITTEN;
        if (observer_start(&observer, why) == 0)
            result = live(&argc, &argv, &observer, why);
        observer_close(&observer);
        free(program);
        watch_close(&watch);
    }
    rank_setting_release(&setting);
    return result;
}
