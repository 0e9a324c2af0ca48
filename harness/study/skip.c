#include "harness/study/skip.h"

/* The runs at one value of one sweep stand together in listed order. */
static bool together(const struct plan_run *a, const struct plan_run *b)
{
    return a->role == b->role && a->dimension == b->dimension && a->value == b->value;
}

static bool all_ran_out(const struct plan *plan, size_t last, const struct run_set *done)
{
    for (size_t i = last + 1; i-- > 0 && together(&plan->runs[i], &plan->runs[last]);) {
        const struct run_record *record = run_set_find(done, plan->runs[i].name);
        if (record == NULL || record->statuses != 1u << STATUS_oom)
            return false;
    }
    return true;
}

bool skip_says(struct skip *skip, const struct plan *plan, size_t index,
               const struct run_set *done, uint64_t *limit)
{
    const struct plan_run *run = &plan->runs[index];
    const struct plan_run *before = index > 0 ? run - 1 : NULL;
    if (before != NULL && before->role == ROLE_SWEEP && !together(before, run) &&
        all_ran_out(plan, index - 1, done)) {
        struct reading *known = &skip->limit[before->dimension];
        if (!known->known || before->value < known->value)
            *known = reading_of(before->value);
    }
    if (run->role != ROLE_SWEEP || !skip->limit[run->dimension].known)
        return false;
    *limit = skip->limit[run->dimension].value;
    return run->value > *limit;
}
