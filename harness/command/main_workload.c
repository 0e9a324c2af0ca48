/* highwater-workload: the built-in workloads, the reference child of a rank. Links no MPI.
 * Exit: 0 ended well · 1 bad words or bookkeeping · 3 a fail line was said */
#include "harness/base/log.h"
#include "harness/command/describe.h"
#include "harness/workload/request.h"
#include "harness/workload/session.h"
#include "harness/protocol/phases.h"
#include "harness/workload/speaker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_FAIL_LINE = 3 };

static int print(const struct text *text)
{
    struct text shown = TEXT_INIT;
    text_add_shown(&shown, text_string(text), text->length);
    bool printed = fwrite(text_string(&shown), 1, shown.length, stdout) == shown.length &&
                   fflush(stdout) == 0;
    if (!printed)
        log_error("standard output: %s", strerror(errno));
    text_release(&shown);
    return printed ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int describe(bool measure)
{
    struct text out = TEXT_INIT, why = TEXT_INIT;
    int code = EXIT_FAILURE;
    if (describe_build(measure, &out, &why) == 0)
        code = print(&out);
    else
        log_error("%s", text_string(&why));
    text_release(&out);
    text_release(&why);
    return code;
}

static int help(void)
{
    struct text out = TEXT_INIT;
    request_help(&out);
    int code = print(&out);
    text_release(&out);
    return code;
}

static int say_end(struct speaker *speaker, enum status status)
{
    if (status == STATUS_ok)
        speaker_bye(speaker);
    int code = speaker->phases < 0 ? print(&speaker->table) : EXIT_SUCCESS;
    if (speaker->why.length) {
        log_error("%s", text_string(&speaker->why));
        return EXIT_FAILURE;
    }
    if (status == STATUS_ok)
        return code;
    log_error("%s", text_string(&speaker->error));
    return EXIT_FAIL_LINE;
}

static int run(const struct request *request, struct text *why)
{
    const char *live_path = getenv(LIVE_VARIABLE);
    struct live_page *page = NULL;
    struct speaker speaker;
    if (speaker_open(&speaker, getenv(PHASES_VARIABLE), why) != 0)
        return -1;
    if (live_path && live_path[0] && live_open(live_path, &page, why) != 0) {
        speaker_close(&speaker);
        return -1;
    }
    struct phase_listener listener = {.line = speaker_line, .user = &speaker};
    enum status status = session_run(&request->setting, request->backend, page, &listener);
    int code = say_end(&speaker, status);
    speaker_close(&speaker);
    if (page)
        live_close(page);
    return code;
}

int main(int argc, char **argv)
{
    log_open("highwater-workload", LOG_NOTE);
    if (argc == 2 && strcmp(argv[1], "--help") == 0)
        return help();
    if (argc == 2 && strcmp(argv[1], "--describe") == 0)
        return describe(false);
    if (argc == 3 && strcmp(argv[1], "--describe") == 0 && strcmp(argv[2], "--measure") == 0)
        return describe(true);
    struct request request;
    struct text why = TEXT_INIT;
    int code = -1;
    if (argc < 2)
        text_add(&why, "a workload is missing; highwater-workload --help lists them");
    else if (request_read(argc - 1, argv + 1, &request, &why) == 0) {
        code = run(&request, &why);
        request_release(&request);
    }
    if (code < 0)
        log_error("%s", text_string(&why));
    text_release(&why);
    return code < 0 ? EXIT_FAILURE : code;
}
