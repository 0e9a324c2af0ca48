#include "harness/protocol/rank_setting.h"
#include "harness/base/units.h"

#include <stdlib.h>
#include <string.h>

static const char *const backends[] = {"cuda", "simulated", "host", NULL}; /* study_backend */

#define ROW(name_, type_, fallback_, help_)                                                    \
    {                                                                                          \
        .name = #name_, .type = type_, .offset = offsetof(struct rank_setting, name_),         \
        .fallback = fallback_, .help = help_                                                   \
    }
const struct option rank_options[] = {
    ROW(run_folder, OPTION_TEXT, NULL, "FOLDER for shards and standard error"),
    ROW(live_folder, OPTION_TEXT, NULL, "FOLDER for live pages and phase files"),
    ROW(ranks, OPTION_COUNT, "1", "COUNT of ranks that must be there"),
    ROW(timeout, OPTION_DURATION, "600s", "TIME from the start barrier to the end"),
    ROW(settle, OPTION_DURATION, "30s", "TIME to wait for the card's baseline"),
    ROW(sample, OPTION_DURATION, "100ms", "TIME between two readings of the card"),
    {.name = "backend",
     .type = OPTION_CHOICE,
     .offset = offsetof(struct rank_setting, backend),
     .choices = backends,
     .fallback = NULL,
     .help = "what the child runs on"},
    ROW(devices, OPTION_TEXT, "", "UUIDS, one per rank"),
    ROW(shared, OPTION_TEXT, "", "yes or nothing, one per rank"),
    ROW(baselines, OPTION_TEXT, "", "BYTES in use before the study, one per rank"),
    ROW(capacities, OPTION_TEXT, "", "BYTES of devices, or limits on cuda, one per rank"),
    ROW(overhead, OPTION_SIZE, "0", "BYTES assumed for context and libraries"),
    ROW(fault, OPTION_TEXT, "", "PHASE:KIND[:RANK]"),
    ROW(trace, OPTION_FLAG, "no", "trace.RANK.csv in the run folder"),
    ROW(speaks_phases, OPTION_FLAG, "yes", "the child must close its phases"),
    ROW(stops_others, OPTION_FLAG, "no", "a rank that fails stops the others"),
    {.name = NULL},
};

int rank_setting_read(int argc, char **argv, struct rank_setting *setting, int *child,
                      struct text *why)
{
    struct rank_setting read = {.run_folder = NULL};
    const struct option_home homes[] = {{rank_options, &read}, {NULL, NULL}};
    int i = 1;
    option_defaults(rank_options, &read);
    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (option_take(homes, argv[i], why) != 0)
            goto fail;
    if (i + 1 >= argc || read.run_folder == NULL || read.live_folder == NULL) {
        text_add(why, "this program is started by highwater sweep: --run-folder, --live-folder "
                      "and a child behind -- are needed");
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
}

char *rank_entry(const char *list, uint64_t rank)
{
    if (list == NULL || *list == '\0')
        return NULL;
    for (; rank > 0; rank--) {
        list = strchr(list, ',');
        if (list == NULL)
            return NULL;
        list++;
    }
    size_t length = strcspn(list, ",");
    return length > 0 ? xstrndup(list, length) : NULL;
}

struct reading rank_bytes(const char *list, uint64_t rank)
{
    struct reading bytes = reading_missing();
    char *entry = rank_entry(list, rank);
    struct text ignored = TEXT_INIT;
    uint64_t value = 0;
    if (entry != NULL && parse_size(entry, &value, &ignored) == 0)
        bytes = reading_of(value);
    text_release(&ignored);
    free(entry);
    return bytes;
}

char *rank_fault(const char *fault, uint64_t rank)
{
    const char *kind = fault != NULL ? strchr(fault, ':') : NULL;
    const char *of = kind != NULL ? strchr(kind + 1, ':') : NULL;
    if (kind == NULL)
        return NULL;
    if (of == NULL)
        return xstrdup(fault);
    struct text ignored = TEXT_INIT;
    uint64_t wanted = 0;
    bool ours = parse_count(of + 1, &wanted, &ignored) == 0 && wanted == rank;
    text_release(&ignored);
    return ours ? xstrndup(fault, (size_t)(of - fault)) : NULL;
}
