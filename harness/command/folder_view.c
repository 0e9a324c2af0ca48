#include "harness/command/folder_view.h"

#include "harness/base/file.h"

#include <stdlib.h>
#include <string.h>

static void count(struct folder_view *view, uint32_t statuses)
{
    view->made++;
    enum run_count as = run_counts_as(statuses);
    view->fitted += as == COUNTS_AS_FITTED;
    view->skipped += as == COUNTS_AS_SKIPPED;
    view->failed += as == COUNTS_AS_FAILED;
}

static bool is_alone(const struct folder_view *view)
{
    return view->study.placement == PLACEMENT_ALONE;
}

/* The number of ranks stands in the rows; before the first there is none to search for. */
static void hear_run(void *user, const struct row *closing, size_t ranks)
{
    struct folder_view *view = user;
    const char *role = row_text(&closing[0], COLUMN_role);
    uint32_t statuses = 0;
    if (view->probes.study == NULL)
        probes_open(&view->probes, &view->study, is_alone(view) ? view->places : ranks, NULL);
    for (size_t i = 0; i < ranks; i++)
        statuses |= 1u << row_status(&closing[i]);
    if (role != NULL && strcmp(role, plan_role_names[ROLE_BOUNDARY]) == 0)
        count(view, statuses);
    probes_feed(&view->probes, closing, ranks, NULL);
}

static void hear_place(void *user, const struct row *closing, size_t ranks)
{
    struct folder_view *view = user;
    for (size_t i = 0; i < ranks; i++) {
        uint64_t place = plan_place(&closing[i]);
        view->places = place > view->places ? place : view->places;
    }
}

/* The study or its rows say how many devices it is on. */
static int count_places(struct folder_view *view, struct text *why)
{
    const struct run_listener listener = {.run = hear_place, .user = view};
    struct reading told = study_ranks(&view->study);
    struct whole_runs table;
    view->places = told.known ? told.value : 1;
    if (!is_alone(view) || told.known)
        return 0;
    if (whole_runs_read(view->folder, true, &listener, &table, why) != 0)
        return -1;
    whole_runs_release(&table);
    return 0;
}

static void add_left(struct folder_view *view, const struct plan_run *run)
{
    view->left++;
    if (run->dimension >= 0)
        view->unfinished[run->role] |= 1u << run->dimension;
}

static void look_at_searches(struct folder_view *view)
{
    const struct probes *probes = &view->probes;
    for (size_t i = 0; i < view->study.boundary_count * probes->ranks; i++) {
        uint64_t value, trial;
        if (boundary_next(&probes->searches[i], &value, &trial))
            view->unfinished[ROLE_BOUNDARY] |= 1u << probes->searches[i].boundary.dimension;
    }
}

static int look(struct folder_view *view, struct text *why)
{
    const struct run_listener listener = {.run = hear_run, .user = view};
    struct plan_run run;
    if (count_places(view, why) != 0 ||
        whole_runs_read(view->folder, true, &listener, &view->table, why) != 0 ||
        plan_make(&view->study, view->places, &view->plan, why) != 0)
        return -1;
    for (size_t i = 0; i < view->plan.count; i++) {
        plan_run_at(&view->plan, i, &run);
        const struct run_record *record = run_set_find(&view->table.done, run.name);
        if (record != NULL && (record->statuses & RUNS_MADE_AGAIN) == 0)
            count(view, record->statuses);
        else
            add_left(view, &run);
    }
    if (view->probes.study == NULL)
        probes_open(&view->probes, &view->study, view->places, NULL);
    probes_resume(&view->probes);
    if (probes_next(&view->probes, &view->table.done, &run))
        view->left += (size_t)probes_left(&view->probes);
    look_at_searches(view);
    view->in_use = results_in_use(view->folder);
    if (view->in_use && view->table.at_end)
        text_clear(&view->table.damage); /* a run's rows, half written */
    if (view->in_use) {
        results_add_user(view->folder, &view->user);
        results_current(view->folder, &view->current, &view->since);
    }
    return 0;
}

void folder_add_missing(const char *folder, const char *file, struct text *why)
{
    static const char *const endings[] = {"simulated", "host"};
    char *plain = path_plain(folder);
    text_addf(why, "%s: ", folder);
    if (file_exists(folder))
        text_addf(why, "no %s in it", file);
    else
        text_add(why, "there is no such folder");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char *other = xasprintf("%s.%s", plain, endings[i]);
        if (file_exists(other))
            text_addf(why, "; there is %s", other);
        free(other);
    }
    free(plain);
}

int folder_view_open(struct folder_view *view, const char *folder, struct text *why)
{
    char *frozen = xasprintf("%s/study.ini", folder);
    struct folder_view opened = {.folder = folder};
    int result = -1;
    if (file_exists(frozen))
        result = study_read_frozen(frozen, &opened.study, why);
    else
        folder_add_missing(folder, "study.ini", why);
    free(frozen);
    if (result != 0)
        return -1;
    *view = opened; /* the searches keep pointers into it */
    if (look(view, why) == 0)
        return 0;
    folder_view_close(view);
    return -1;
}

void folder_view_close(struct folder_view *view)
{
    probes_close(&view->probes);
    plan_release(&view->plan);
    whole_runs_release(&view->table);
    text_release(&view->user);
    text_release(&view->current);
    text_release(&view->since);
    study_release(&view->study);
}
