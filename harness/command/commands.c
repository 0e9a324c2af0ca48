#include "harness/command/command.h"

#include "harness/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct command command_compare = {
    .name = "compare",
    .summary = "two results folders side by side",
    .not_yet = "report prints each of the two folders",
};

const struct command *const commands[] = {
    &command_estimate,
    &command_environment,
    &command_measure,
    &command_plan,
    &command_sweep,
    &command_status,
    &command_report,
    &command_compare,
    &command_replay,
    &command_forecast,
    &command_columns,
    NULL,
};

static const struct command *find(const char *name)
{
    for (size_t i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    const char *names[sizeof commands / sizeof commands[0]] = {NULL};
    for (size_t i = 0; commands[i]; i++)
        names[i] = commands[i]->name;
    const char *nearest = text_nearest(name, names);
    if (nearest)
        log_error("unknown command '%s'; did you mean %s?", name, nearest);
    else
        log_error("unknown command '%s'; highwater --help lists them", name);
    return NULL;
}

static int print_overview(void)
{
    struct text out = TEXT_INIT;
    command_help(NULL, &out);
    int code = command_write(&out, NULL);
    text_release(&out);
    return code;
}

static int print_version(void)
{
    struct text out = TEXT_INIT;
    text_add(&out, "highwater " HIGHWATER_VERSION "\n");
    int code = command_write(&out, NULL);
    text_release(&out);
    return code;
}

/* A standard descriptor that is closed would be given to the next file opened, and messages
 * would be written into it: a read-only null device in its place makes such writes fail
 * instead. Whoever started us may ignore SIGCHLD (trap '' CHLD): our children's ends would be
 * lost. */
static void guard_inheritance(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDONLY) != fd)
            _exit(EXIT_FAILURE);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error, which is reported, */
    signal(SIGXFSZ, SIG_IGN); /* and so is a file that may not grow */
    signal(SIGCHLD, SIG_DFL);
}

static bool is_either(const char *word, const char *one, const char *other)
{
    return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

int command_main(int argc, char **argv)
{
    guard_inheritance();
    log_open("highwater", LOG_NOTE);
    if (argc < 2) {
        log_error("a command is missing; highwater --help lists them");
        return EXIT_FAILURE;
    }
    if (strcmp(argv[1], "--version") == 0)
        return print_version();
    bool help = strcmp(argv[1], "help") == 0;
    if (is_either(argv[1], "--help", "-h") || (help && argc == 2))
        return print_overview();
    const struct command *command = find(argv[help ? 2 : 1]);
    if (!command)
        return EXIT_FAILURE;
    if (help)
        return command_run(command, 2, (char *[]){argv[2], "--help", NULL});
    return command_run(command, argc - 1, argv + 1);
}
