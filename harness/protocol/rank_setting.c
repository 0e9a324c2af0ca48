#include "harness/protocol/rank_setting.h"
#include "harness/base/units.h"

#include <stdlib.h>
#include <string.h>

#define ROW(name_, type_, fallback_, help_)                                                    \
    {                                                                                          \
        .name = #name_, .type = type_, .offset = offsetof(struct rank_setting, name_),         \
        .fallback = fallback_, .help = help_                                                   \
    }
static const struct option rank_options[] = {
    ROW(run_folder, OPTION_TEXT, NULL, "FOLDER for shards and standard error"),
    ROW(live_folder, OPTION_TEXT, NULL, "FOLDER for live pages and phase files"),
    ROW(timeout, OPTION_DURATION, "600s", "TIME from the start barrier to the end"),
    ROW(settle, OPTION_DURATION, "30s", "TIME to wait for the card's baseline"),
    ROW(sample, OPTION_DURATION, "100ms", "TIME between two readings of the card"),
    ROW(fault, OPTION_TEXT, "", "PHASE:KIND[:RANK]"),
    ROW(trace, OPTION_FLAG, "no", "trace.RANK.csv in the run folder"),
    ROW(speaks_phases, OPTION_FLAG, "yes", "the child must close its phases"),
    ROW(stops_others, OPTION_FLAG, "no", "a rank that fails stops the others"),
    {.name = NULL},
};

#define SEAT "--seat=" /* may be given again, so it is no row of the table */

static int add_seat(const char *word, struct rank_setting *setting, struct text *why)
{
    setting->seats = xgrow(setting->seats, (size_t)setting->ranks, sizeof *setting->seats);
    if (seat_parse(word, &setting->seats[setting->ranks], why) != 0)
        return -1;
    setting->ranks++;
    return 0;
}

void rank_setting_add_words(const struct rank_setting *setting, struct words *words)
{
    words_add_options(words, rank_options, setting);
    for (uint64_t rank = 0; rank < setting->ranks; rank++) {
        struct text word = TEXT_INIT;
        seat_format(&setting->seats[rank], &word);
        words_addf(words, SEAT "%s", text_string(&word));
        text_release(&word);
    }
}

int rank_setting_read(int argc, char **argv, struct rank_setting *setting, int *child,
                      struct text *why)
{
    struct rank_setting read = {.run_folder = NULL};
    const struct option_home homes[] = {{rank_options, &read}, {NULL, NULL}};
    int i = 1;
    option_defaults(rank_options, &read);
    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        if ((text_starts_with(argv[i], SEAT) ? add_seat(argv[i] + strlen(SEAT), &read, why)
                                             : option_take(homes, argv[i], why)) != 0)
            goto fail;
    if (i + 1 >= argc || read.run_folder == NULL || read.live_folder == NULL ||
        read.ranks == 0) {
        text_add(why,
                 "this program is started by highwater sweep: --run-folder, --live-folder, "
                 "a --seat for each rank and a child behind -- are needed");
        goto fail;
    }
    *setting = read;
    *child = i + 1;
    return 0;
fail:
    rank_setting_release(&read);
    return -1;
}

void rank_setting_release(struct rank_setting *setting)
{
    option_release(rank_options, setting);
    free(setting->seats);
    setting->seats = NULL;
    setting->ranks = 0;
}

char *rank_fault(const char *fault, uint64_t rank)
{
    const char *kind = fault != NULL ? strchr(fault, ':') : NULL;
    const char *of = kind != NULL ? strchr(kind + 1, ':') : NULL;
    if (kind == NULL)
        return NULL;
    if (of == NULL)
        return xstrdup(fault);
    uint64_t wanted = 0;
    bool ours = parse_count(of + 1, &wanted, NULL) == 0 && wanted == rank;
    return ours ? xstrndup(fault, (size_t)(of - fault)) : NULL;
}
