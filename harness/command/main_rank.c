/* highwater-rank: one MPI process per device, the observer; started by highwater sweep. */
#include "harness/base/log.h"
#include "harness/observe/rank.h"

int main(int argc, char **argv)
{
    struct text why = TEXT_INIT;
    log_open("highwater-rank", LOG_NOTE);
    int code = rank_main(argc, argv, &why);
    if (why.length > 0)
        log_error("%s", text_string(&why));
    text_release(&why);
    return code;
}
