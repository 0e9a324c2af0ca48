#include "harness/forecast/layout.h"

#include <inttypes.h>
#include <stdlib.h>

/* Takes with more irregular requests than this are not of one program. */
enum { IRREGULAR_TENTHS = 1, IRREGULAR_FEW = 8, STRETCH_MOST = 64 };

struct builder {
    struct script *script;
    struct layout *layout;
    const struct pairing *pairings;
    size_t takes, base; /* the latter: index of the last */
    uint32_t *next;     /* per take: items that have a slot */
    uint32_t room;
};

static uint32_t add_slot(struct builder *b)
{
    struct script *p = b->script;
    if (p->slot_count == b->room) {
        b->room = 2 * b->room + 256;
        p->slots = xrealloc(p->slots, b->room * sizeof(*p->slots));
        b->layout->items =
            xrealloc(b->layout->items, b->room * b->takes * sizeof(*b->layout->items));
    }
    p->slots[p->slot_count] = (struct script_slot){.op = TRACE_ALLOC};
    for (size_t k = 0; k < b->takes; k++)
        b->layout->items[(size_t)p->slot_count * b->takes + k] = PAIRING_NONE;
    return p->slot_count++;
}

/* Room for an element a slot is enough: a loop has one element. */
static struct element *add_element(struct builder *b, uint32_t slot, uint32_t length)
{
    struct script *p = b->script;
    if ((p->count & (p->count + 1)) == 0) {
        const size_t room = 2 * (size_t)p->count + 2;
        p->elements = xrealloc(p->elements, room * sizeof(*p->elements));
        b->layout->loop_of = xrealloc(b->layout->loop_of, room * sizeof(uint32_t));
    }
    b->layout->loop_of[p->count] = PAIRING_NONE;
    p->elements[p->count] = (struct element){.slot = slot, .length = length};
    return &p->elements[p->count++];
}

static void see(struct builder *b, uint32_t slot, size_t take, uint32_t item)
{
    struct script_slot *s = &b->script->slots[slot];
    b->layout->items[(size_t)slot * b->takes + take] = item;
    b->layout->places[take][item] = (struct script_place){.element = b->script->count};
    s->op = b->script->takes[take].items[item].op;
    s->take = (uint32_t)take;
    s->item = item;
}

/* What a take has alone, up to an item of its. */
static void add_extras(struct builder *b, size_t take, uint32_t end)
{
    for (; b->next[take] < end; b->next[take]++) {
        const uint32_t slot = add_slot(b);
        see(b, slot, take, b->next[take]);
        b->script->slots[slot].partial = true;
        add_element(b, slot, 1);
    }
}

static void add_base_item(struct builder *b, uint32_t item)
{
    for (size_t k = 0; k < b->base; k++) {
        const uint32_t there = b->pairings[k].of_base[item];
        if (there != PAIRING_NONE)
            add_extras(b, k, there);
    }
    const uint32_t slot = add_slot(b);
    for (size_t k = 0; k < b->base; k++) {
        const uint32_t there = b->pairings[k].of_base[item];
        if (there != PAIRING_NONE)
            see(b, slot, k, b->next[k]++);
        else
            b->script->slots[slot].partial = true;
    }
    see(b, slot, b->base, item);
    add_element(b, slot, 1);
}

static void place_body(struct builder *b, const struct loop *loop, size_t take)
{
    const uint32_t items = loop->counts[take] * loop->length;
    for (uint32_t i = 0; i < items; i++)
        b->layout->places[take][loop->starts[take] + i] =
            (struct script_place){b->script->count, i % loop->length, i / loop->length};
    b->next[take] = loop->starts[take] + items;
}

static void add_loop(struct builder *b, uint32_t index)
{
    const struct loop *loop = &b->layout->loops.list[index];
    const struct take *base = &b->script->takes[b->base];
    const uint32_t first = b->script->slot_count;
    for (size_t k = 0; k < b->base; k++)
        add_extras(b, k, loop->starts[k]);
    for (size_t k = 0; k < b->takes; k++)
        place_body(b, loop, k);
    for (uint32_t i = 0; i < loop->length; i++) {
        const uint32_t added = add_slot(b); /* which may move them */
        struct script_slot *slot = &b->script->slots[added];
        slot->take = (uint32_t)b->base;
        slot->item = loop->start + i;
        slot->op = base->items[slot->item].op;
    }
    add_element(b, first, loop->length)->repeats = true;
    b->layout->loop_of[b->script->count - 1] = index;
}

static void build(struct builder *b)
{
    const struct take *base = &b->script->takes[b->base];
    const struct loops *loops = &b->layout->loops;
    uint32_t loop = 0;
    for (uint32_t i = 0; i < base->count;) {
        if (loop < loops->count && loops->list[loop].start == i) {
            add_loop(b, loop);
            i += loops->list[loop].length * loops->list[loop].times;
            loop++;
        } else {
            add_base_item(b, i++);
        }
    }
    for (size_t k = 0; k < b->base; k++)
        add_extras(b, k, b->script->takes[k].count);
    for (size_t k = 0; k < b->takes; k++)
        b->layout->places[k][b->script->takes[k].count] =
            (struct script_place){.element = b->script->count};
}

static bool in_loop(const struct loops *loops, size_t take, uint32_t item)
{
    for (size_t i = 0; i < loops->count; i++) {
        const struct loop *loop = &loops->list[i];
        if (item >= loop->starts[take] &&
            item < loop->starts[take] + loop->counts[take] * loop->length)
            return true;
    }
    return false;
}

/* Items of a take that the other lacks, loops aside: how many, the longest stretch of them, and
 * the first. Marks of phases may not be among them. */
struct missing {
    uint32_t count, longest, first;
    bool mark;
};
static struct missing count_missing(const struct take *take, size_t index,
                                    const struct loops *loops, const uint32_t *others)
{
    struct missing missing = {.first = take->count};
    uint32_t stretch = 0;
    for (uint32_t i = 0; i < take->count; i++) {
        if (others[i] != PAIRING_NONE || in_loop(loops, index, i)) {
            stretch = 0;
            continue;
        }
        if (!missing.count++)
            missing.first = i;
        if (++stretch > missing.longest)
            missing.longest = stretch;
        missing.mark = missing.mark || take->items[i].op != TRACE_ALLOC;
    }
    return missing;
}

/* Does a stretch look like the one before or behind it, but for half of its sizes at most? Then
 * it repeats by a rule that is not known. */
enum { LIKENESS_LEAST = 3 };
static bool looks_like(const struct take *take, uint32_t from, uint32_t length, uint32_t other)
{
    uint32_t same = 0;
    if ((uint64_t)other + length > take->count || (uint64_t)from + length > take->count)
        return false;
    for (uint32_t i = 0; i < length; i++) {
        const struct item *a = &take->items[from + i], *b = &take->items[other + i];
        if (a->op != b->op || a->stream != b->stream)
            return false;
        same += a->bytes == b->bytes;
    }
    return 2 * same >= length;
}

/* The first such stretch that the other take lacks; take->count: there is none. */
static uint32_t find_likeness(const struct take *take, size_t index, const struct loops *loops,
                              const uint32_t *others)
{
    for (uint32_t i = 0, from; i < take->count; i++) {
        if (others[i] != PAIRING_NONE || in_loop(loops, index, i))
            continue;
        for (from = i; i < take->count && others[i] == PAIRING_NONE; i++)
            ;
        const uint32_t length = i - from;
        if (length >= LIKENESS_LEAST &&
            ((from >= length && looks_like(take, from, length, from - length)) ||
             looks_like(take, from, length, i)))
            return from;
    }
    return take->count;
}

static bool is_too_much(const struct missing *missing, const struct take *take)
{
    return missing->mark || missing->longest > STRETCH_MOST ||
           (missing->count > IRREGULAR_FEW &&
            10 * (uint64_t)missing->count > IRREGULAR_TENTHS * (uint64_t)take->requests);
}

/* The item of b where item i of a would be: behind the one that i's predecessor pairs with. */
static uint32_t counterpart(const uint32_t *others, uint32_t i)
{
    while (i > 0 && others[i - 1] == PAIRING_NONE)
        i--;
    return i > 0 ? others[i - 1] + 1 : 0;
}

/* What one take has and the other lacks. */
static int check_extra(const struct script *p, size_t index, size_t other,
                       const struct loops *loops, const uint32_t *others, struct text *why)
{
    const struct take *take = &p->takes[index];
    const struct missing missing = count_missing(take, index, loops, others);
    uint32_t first = find_likeness(take, index, loops, others);
    if (first < take->count)
        text_add(why, "something repeats, but not in a way that the recordings explain: ");
    else if (is_too_much(&missing, take))
        text_add(why, "the recordings part, and not by a repetition: ");
    else
        return 0;
    if (first == take->count)
        first = missing.first;
    take_add_parting(take, first, &p->takes[other], counterpart(others, first), why);
    return -1;
}

static int check_pair(const struct script *p, size_t index, const struct loops *loops,
                      const struct pairing *pairing, struct text *why)
{
    const size_t last = p->take_count - 1;
    if (check_extra(p, last, index, loops, pairing->of_base, why) ||
        check_extra(p, index, last, loops, pairing->of_other, why))
        return -1;
    if (pairing->strong < pairing->weak) {
        text_addf(why,
                  "most sizes of %s and %s follow no number of the dimension: they are not of "
                  "one program, or the values are wrong",
                  p->takes[index].path, p->takes[last].path);
        return -1;
    }
    return 0;
}

int layout_find(struct script *p, struct layout *layout, struct text *why)
{
    const size_t takes = p->take_count, base = takes - 1;
    struct pairing *pairings = xcalloc(takes, sizeof(*pairings));
    struct builder b = {.script = p, .layout = layout, .pairings = pairings};
    b.takes = takes;
    b.base = base;
    for (size_t k = 0; k < base; k++)
        pairing_find(&p->takes[base], &p->takes[k], &pairings[k]);
    int result = loops_find(p->takes, takes, pairings, &layout->loops, why);
    for (size_t k = 0; k < base && !result; k++)
        result = check_pair(p, k, &layout->loops, &pairings[k], why);
    layout->places = xcalloc(takes, sizeof(*layout->places));
    if (!result) {
        for (size_t k = 0; k < takes; k++)
            layout->places[k] =
                xcalloc((size_t)p->takes[k].count + 1, sizeof(*layout->places[k]));
        b.next = xcalloc(takes, sizeof(*b.next));
        build(&b);
    }
    for (size_t k = 0; k < base; k++)
        pairing_release(&pairings[k]);
    free(pairings);
    free(b.next);
    return result;
}

void layout_release(struct layout *layout, size_t takes)
{
    loops_release(&layout->loops);
    free(layout->items);
    free(layout->loop_of);
    for (size_t k = 0; layout->places && k < takes; k++)
        free(layout->places[k]);
    free(layout->places);
}

static bool is_everywhere(const struct layout *layout, const struct script *p, size_t take,
                          uint32_t item)
{
    const struct element *element = &p->elements[layout->places[take][item].element];
    return element->repeats || !p->slots[element->slot].partial;
}

struct script_place layout_settle(const struct layout *layout, const struct script *p,
                                  size_t take, uint32_t item)
{
    const uint32_t count = p->takes[take].count;
    if (item > count)
        item = count;
    while (item < count && !is_everywhere(layout, p, take, item))
        item++;
    return layout->places[take][item];
}

bool layout_settle_before(const struct layout *layout, const struct script *p, size_t take,
                          uint32_t item, struct script_place *place)
{
    if (item > p->takes[take].count)
        return false;
    while (item > 0 && !is_everywhere(layout, p, take, item - 1))
        item--;
    if (item == 0)
        return false;
    *place = layout->places[take][item - 1];
    return true;
}
