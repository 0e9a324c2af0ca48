#include "harness/plan/skip.h"

/* The runs at one value of one sweep stand together in listed order. */
static bool together(const struct plan_run *a, const struct plan_run *b)
{
    return a->role == b->role && a->dimension == b->dimension && a->value == b->value;
}

static bool all_ran_out(const struct plan *plan, size_t last, const struct run_set *done)
{
    struct plan_run run, last_run;
    plan_run_at(plan, last, &last_run);
    for (size_t i = last + 1; i-- > 0;) {
        plan_run_at(plan, i, &run);
        if (!together(&run, &last_run))
            break;
        const struct run_record *record = run_set_find(done, run.name);
        if (record == NULL || record->statuses != 1u << STATUS_oom)
            return false;
    }
    return true;
}

bool skip_says(struct skip *skip, const struct plan *plan, size_t index,
               const struct run_set *done, uint64_t *limit)
{
    struct plan_run run, before;
    plan_run_at(plan, index, &run);
    if (index > 0)
        plan_run_at(plan, index - 1, &before);
    if (index > 0 && before.role == ROLE_SWEEP && !together(&before, &run) &&
        all_ran_out(plan, index - 1, done)) {
        struct reading *known = &skip->limit[before.dimension];
        if (!known->known || before.value < known->value)
            *known = reading_of(before.value);
    }
    if (run.role != ROLE_SWEEP || !skip->limit[run.dimension].known)
        return false;
    *limit = skip->limit[run.dimension].value;
    return run.value > *limit;
}
