#include "harness/forecast/script.h"
#include "harness/forecast/frees.h"
#include "harness/forecast/sizes.h"

#include <inttypes.h>
#include <stdlib.h>

static int check_takes(const struct take *takes, size_t count, struct text *why)
{
    if (count < 2) {
        text_add(why, "one recording does not show what follows the dimension: give two or "
                      "three of them");
        return -1;
    }
    for (size_t k = 1; k < count; k++) {
        if (takes[k].value == takes[k - 1].value) {
            text_addf(why, "%s and %s are both of the value %" PRIu64, takes[k - 1].path,
                      takes[k].path, takes[k].value);
            return -1;
        }
        if (takes[k].trace.tagged != takes[0].trace.tagged) {
            text_addf(why, "%s and %s are not of one program: one has tags", takes[0].path,
                      takes[k].path);
            return -1;
        }
    }
    return 0;
}

/* Nothing follows the dimension: the values say nothing, or it is another one that varied. */
static int check_change(const struct script *p, struct text *why)
{
    bool changes = p->irregular > 0 || p->moved > 0;
    for (uint32_t i = 0; i < p->count && !changes; i++) {
        const struct element *element = &p->elements[i];
        changes = element->repeats;
        for (uint32_t k = 0; k < element->length && !changes; k++) {
            const struct script_slot *slot = &p->slots[element->slot + k];
            changes = slot->op == TRACE_ALLOC && !polynomial_is_constant(&slot->bytes);
        }
    }
    if (!changes)
        text_add(why, "the dimension changed nothing: the recordings ask for the same");
    return changes ? 0 : -1;
}

int script_find(const struct take *takes, size_t count, struct script *script, struct text *why)
{
    struct script found = {.takes = takes, .take_count = count};
    struct layout layout = {0};
    if (check_takes(takes, count, why))
        return -1;
    int result = layout_find(&found, &layout, why);
    if (!result)
        result = sizes_find(&found, &layout, why);
    if (!result)
        result = frees_find(&found, &layout, why);
    if (!result)
        result = check_change(&found, why);
    layout_release(&layout, count);
    if (result)
        script_release(&found);
    else
        *script = found;
    return result;
}

void script_release(struct script *script)
{
    free(script->elements);
    free(script->slots);
    *script = (struct script){0};
}
