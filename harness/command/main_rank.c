/* highwater-rank: one MPI process per device, the observer; started by highwater sweep. */
#include "harness/base/log.h"
#include "harness/observe/rank.h"

#include <signal.h>

int main(int argc, char **argv)
{
    struct text why = TEXT_INIT;
    log_open("highwater-rank", LOG_NOTE);
    signal(SIGCHLD, SIG_DFL); /* a launcher may ignore it: the end of our child would be lost */
    int code = rank_main(argc, argv, &why);
    if (why.length > 0)
        log_error("%s", text_string(&why));
    text_release(&why);
    return code;
}
