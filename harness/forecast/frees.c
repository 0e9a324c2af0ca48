#include "harness/forecast/frees.h"

#include <inttypes.h>
#include <stdlib.h>

struct freer {
    struct script *script;
    const struct layout *layout;
    struct text *why;
    bool after; /* places are those of the item before a free, not behind it */
};

static bool is_loop(const struct freer *f, uint32_t element)
{
    return element < f->script->count && f->script->elements[element].repeats;
}

static uint32_t times_of(const struct freer *f, uint32_t element, size_t take)
{
    if (!is_loop(f, element))
        return 0;
    return f->layout->loops.list[f->layout->loop_of[element]].counts[take];
}

static struct script_place place_of(const struct freer *f, size_t take, uint32_t item)
{
    const uint32_t freed = f->script->takes[take].items[item].freed;
    struct script_place place;
    if (f->after && layout_settle_before(f->layout, f->script, take, freed, &place))
        return place;
    return layout_settle(f->layout, f->script, take, freed);
}

/* Blocks of one request, one entry each time round and take, that are to obey one rule. */
struct seen {
    struct script_place place;
    int64_t time;   /* the block's own time round */
    uint32_t times; /* of the loop that it is freed in, in this take */
};

/* A rule that every entry obeys. false: there is none. */
static bool find_rule(const struct seen *seen, size_t count, struct rule *rule)
{
    const struct seen *first = &seen[0];
    int64_t each = 0;
    for (size_t i = 1; i < count; i++) {
        if (seen[i].place.element != first->place.element ||
            seen[i].place.position != first->place.position)
            return false;
        if (seen[i].time == seen[i - 1].time + 1 && seen[i].times == seen[i - 1].times)
            each = (int64_t)seen[i].place.time - (int64_t)seen[i - 1].place.time;
    }
    bool from_start = true, from_end = true;
    const int64_t start = (int64_t)first->place.time - each * first->time;
    for (size_t i = 0; i < count; i++) {
        const int64_t here = (int64_t)seen[i].place.time - each * seen[i].time;
        from_start = from_start && here == start;
        from_end = from_end && here - (int64_t)seen[i].times == start - (int64_t)first->times;
    }
    if (!from_start && !from_end)
        return false;
    *rule = (struct rule){.element = first->place.element,
                          .position = first->place.position,
                          .start = from_start ? start : start - (int64_t)first->times,
                          .each = each,
                          .from_end = !from_start};
    return true;
}

static bool comes_before(const struct script_place *a, const struct script_place *b)
{
    if (a->element != b->element)
        return a->element < b->element;
    return a->time != b->time ? a->time < b->time : a->position < b->position;
}

static int refuse(struct freer *f, const struct script_slot *slot)
{
    const struct take *take = &f->script->takes[slot->take];
    text_addf(f->why,
              "%s:%" PRIu64 ": when this block of %" PRIu64 " bytes is freed follows no rule "
              "that the recordings share",
              take->path, take_line(take, slot->item), take->items[slot->item].bytes);
    return -1;
}

/* The takes differ in when they free it, and not by a count of times round. */
static int free_at_both(struct freer *f, struct script_slot *slot, const struct seen *seen,
                        size_t count)
{
    const struct script_place *early = &seen[0].place, *late = early;
    for (size_t i = 1; i < count; i++) {
        if (comes_before(&seen[i].place, early))
            early = &seen[i].place;
        if (comes_before(late, &seen[i].place))
            late = &seen[i].place;
    }
    if (is_loop(f, early->element) || is_loop(f, late->element))
        return refuse(f, slot);
    slot->rule = (struct rule){.element = early->element};
    slot->late = (struct rule){.element = late->element};
    slot->moves = true;
    f->script->moved++;
    return 0;
}

static int free_plain(struct freer *f, uint32_t index, struct seen *seen)
{
    const struct script *p = f->script;
    struct script_slot *slot = &f->script->slots[index];
    size_t count = 0;
    bool never = true;
    for (size_t k = 0; k < p->take_count; k++) {
        const uint32_t item = layout_item(f->layout, p, index, k);
        if (item == PAIRING_NONE)
            continue;
        const struct script_place place = place_of(f, k, item);
        never = never && p->takes[k].items[item].freed == TAKE_NEVER;
        seen[count++] = (struct seen){place, 0, times_of(f, place.element, k)};
    }
    if (never) {
        slot->rule.element = SLOT_NEVER;
        return 0;
    }
    if (!find_rule(seen, count, &slot->rule))
        return free_at_both(f, slot, seen, count);
    /* between the two neighbours that all have, as the largest take has it */
    const uint32_t freed = p->takes[slot->take].items[slot->item].freed;
    if (!is_loop(f, slot->rule.element) && freed < p->takes[slot->take].count)
        slot->rule.element = f->layout->places[slot->take][freed].element;
    return 0;
}

/* Those times round [from, counts - behind) of every take, with one rule: more of them than one
 * of each take, so that what the next time round brings is seen. */
static bool rule_between(const struct freer *f, const struct loop *loop, uint32_t position,
                         uint32_t from, uint32_t behind, struct seen *seen, struct rule *rule)
{
    const struct script *p = f->script;
    size_t count = 0;
    bool never = false, ever = false;
    for (size_t k = 0; k < p->take_count; k++) {
        for (uint32_t time = from; time + behind < loop->counts[k]; time++) {
            const uint32_t item = loop->starts[k] + time * loop->length + position;
            const struct script_place place = place_of(f, k, item);
            const bool kept = p->takes[k].items[item].freed == TAKE_NEVER;
            never = never || kept;
            ever = ever || !kept;
            seen[count++] = (struct seen){place, time, times_of(f, place.element, k)};
        }
    }
    if (count == 0)
        return false;
    if (never && !ever) {
        *rule = (struct rule){.element = SLOT_NEVER};
        return true;
    }
    return count > p->take_count && find_rule(seen, count, rule);
}

/* The `behind`-th time round from the end, alone, of every take. */
static bool rule_at_back(const struct freer *f, const struct loop *loop, uint32_t position,
                         uint32_t behind, struct seen *seen, struct rule *rule)
{
    const struct script *p = f->script;
    bool never = true;
    for (size_t k = 0; k < p->take_count; k++) {
        if (loop->counts[k] <= behind)
            return false;
        const uint32_t time = loop->counts[k] - 1 - behind;
        const uint32_t item = loop->starts[k] + time * loop->length + position;
        const struct script_place place = place_of(f, k, item);
        never = never && p->takes[k].items[item].freed == TAKE_NEVER;
        seen[k] = (struct seen){place, 0, times_of(f, place.element, k)};
    }
    if (never) {
        *rule = (struct rule){.element = SLOT_NEVER};
        return true;
    }
    return find_rule(seen, p->take_count, rule);
}

static bool rule_at_front(const struct freer *f, const struct loop *loop, uint32_t position,
                          struct seen *seen, struct rule *rule)
{
    const struct script *p = f->script;
    for (size_t k = 0; k < p->take_count; k++) {
        const uint32_t item = loop->starts[k] + position;
        const struct script_place place = place_of(f, k, item);
        if (p->takes[k].items[item].freed == TAKE_NEVER)
            return false;
        seen[k] = (struct seen){place, 0, times_of(f, place.element, k)};
    }
    return find_rule(seen, p->take_count, rule);
}

/* The fewest exceptions at front and back with which everything obeys, by what stands behind
 * the frees or before them. */
static bool free_in_loop(struct freer *f, const struct loop *loop, uint32_t position,
                         struct seen *seen, struct script_slot *slot)
{
    static const struct {
        uint8_t fronts, backs;
        bool after;
    } ways[] = {{0, 0, false}, {0, 0, true},  {0, 1, false}, {1, 0, false}, {1, 0, true},
                {0, 1, true},  {1, 1, false}, {0, 2, false}, {1, 2, false}};
    bool found = false;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]) && !found; i++) {
        const uint8_t fronts = ways[i].fronts, backs = ways[i].backs;
        f->after = ways[i].after;
        found = rule_between(f, loop, position, fronts, backs, seen, &slot->rule);
        for (uint8_t back = 0; back < backs && found; back++)
            found = rule_at_back(f, loop, position, back, seen, &slot->back[back]);
        if (found && fronts)
            found = rule_at_front(f, loop, position, seen, &slot->front);
        slot->fronts = fronts;
        slot->backs = backs;
        slot->rule.after = slot->front.after = f->after;
        slot->back[0].after = slot->back[1].after = f->after;
    }
    f->after = false;
    return found;
}

static int free_loop(struct freer *f, uint32_t element)
{
    struct script *p = f->script;
    struct element *e = &p->elements[element];
    const struct loop *loop = &f->layout->loops.list[f->layout->loop_of[element]];
    size_t most = 0;
    for (size_t k = 0; k < p->take_count; k++)
        most += loop->counts[k];
    struct seen *seen = xcalloc(most + p->take_count, sizeof(*seen));
    int result = 0;
    e->least = 1;
    for (uint32_t i = 0; i < e->length && !result; i++) {
        struct script_slot *slot = &p->slots[e->slot + i];
        if (slot->op != TRACE_ALLOC)
            continue;
        if (!free_in_loop(f, loop, i, seen, slot))
            result = refuse(f, slot);
        if (e->least < (uint32_t)slot->fronts + slot->backs)
            e->least = (uint32_t)slot->fronts + slot->backs;
    }
    free(seen);
    return result;
}

int frees_find(struct script *p, const struct layout *layout, struct text *why)
{
    struct freer f = {.script = p, .layout = layout, .why = why};
    struct seen *seen = xcalloc(p->take_count, sizeof(*seen));
    int result = 0;
    for (uint32_t i = 0; i < p->count && !result; i++) {
        const struct element *element = &p->elements[i];
        if (element->repeats)
            result = free_loop(&f, i);
        else if (p->slots[element->slot].op == TRACE_ALLOC)
            result = free_plain(&f, element->slot, seen);
    }
    free(seen);
    return result;
}
