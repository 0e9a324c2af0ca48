/* live: lets a child script name its phase on its live page.
 *
 *     live PHASE [PASS [REPEAT]] [COUNTER=VALUE]…
 */
#include "harness/protocol/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_counter(struct live_state *state, const char *word, const char *equals)
{
    for (int i = 0; i < COUNTERS; i++) {
        const char *name = column_facts[counter_column[i]].name;
        if (strlen(name) == (size_t)(equals - word) && strncmp(name, word, strlen(name)) == 0)
            state->counters.value[i] = reading_of(strtoull(equals + 1, NULL, 10));
    }
}

int main(int argc, char **argv)
{
    struct live_state state = {.pid = 1};
    struct live_page *page;
    struct text why = TEXT_INIT;
    const char *path = getenv(LIVE_VARIABLE);
    if (argc < 2 || path == NULL || live_open(path, &page, &why) != 0) {
        fprintf(stderr, "live: %s\n", text_string(&why));
        return 1;
    }
    snprintf(state.phase, sizeof state.phase, "%s", argv[1]);
    for (int i = 2, place = 0; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        if (equals != NULL)
            set_counter(&state, argv[i], equals);
        else if (place++ == 0)
            snprintf(state.pass, sizeof state.pass, "%s", argv[i]);
        else
            state.repeat = reading_of(strtoull(argv[i], NULL, 10));
    }
    struct live_state old;
    if (!live_read(page, 0, &old) && live_claim(page, state.pid) != 0)
        return 1;
    live_publish(page, 0, &state);
    live_close(page);
    return 0;
}
