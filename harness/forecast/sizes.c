#include "harness/forecast/sizes.h"

#include <inttypes.h>
#include <stdlib.h>

/* A block that is freed within so many items is a workspace rather than a tensor. */
#define SHORT_LIFE 16

struct sizer {
    struct script *script;
    const struct layout *layout;
    uint64_t *values, *numbers; /* scratch, per take */
    struct text *why;
};

static const struct item *item_of(const struct script *p, size_t take, uint32_t item)
{
    return &p->takes[take].items[item];
}

static bool lives_shortly(const struct script *p, const struct script_slot *slot)
{
    const struct item *item = item_of(p, slot->take, slot->item);
    return item->freed != TAKE_NEVER && item->freed - slot->item <= SHORT_LIFE;
}

/* Per unit of the dimension, as seen: `few` stays missing where a take has none. */
static void frame(struct sizer *s, uint32_t index, struct script_slot *slot)
{
    const struct script *p = s->script;
    bool any = false;
    for (size_t k = 0; k < p->take_count; k++) {
        const uint32_t item = layout_item(s->layout, p, index, k);
        if (item == PAIRING_NONE)
            continue;
        const uint64_t bytes = item_of(p, k, item)->bytes, value = p->takes[k].value;
        if (!any || (__int128)bytes * slot->few_value < (__int128)slot->few_bytes * value) {
            slot->few_bytes = bytes;
            slot->few_value = value;
        }
        if (!any || (__int128)bytes * slot->most_value > (__int128)slot->most_bytes * value) {
            slot->most_bytes = bytes;
            slot->most_value = value;
        }
        any = true;
    }
}

static void count_irregular(struct sizer *s, uint32_t index)
{
    struct script *p = s->script;
    uint64_t largest = 0;
    for (size_t k = 0; k < p->take_count; k++) {
        const uint32_t item = layout_item(s->layout, p, index, k);
        if (item != PAIRING_NONE && item_of(p, k, item)->bytes > largest)
            largest = item_of(p, k, item)->bytes;
    }
    p->irregular++;
    p->irregular_bytes += largest;
}

/* A request outside of loops. */
static void size_plain(struct sizer *s, uint32_t index)
{
    struct script *p = s->script;
    struct script_slot *slot = &p->slots[index];
    bool fits = !slot->partial;
    for (size_t k = 0; k < p->take_count && fits; k++)
        s->numbers[k] = item_of(p, k, layout_item(s->layout, p, index, k))->bytes;
    fits = fits && polynomial_fit(s->values, s->numbers, p->take_count, &slot->bytes);
    const bool brief = lives_shortly(p, slot);
    if (fits && brief && !slot->bytes.checked && slot->bytes.numerators[2] != 0)
        fits = false; /* the sizes of a workspace lie on some parabola always */
    frame(s, index, slot);
    if (!fits) {
        slot->kind = SLOT_IRREGULAR;
        count_irregular(s, index);
    } else if (!slot->bytes.checked && brief) {
        slot->kind = SLOT_UNCHECKED;
        p->doubtful_short++;
    } else if (!slot->bytes.checked) {
        p->unchecked++;
    }
}

static int refuse_loop(struct sizer *s, const struct loop *loop, uint32_t position, size_t take,
                       const char *what)
{
    const struct script *p = s->script;
    text_add(s->why, what);
    take_add_parting(&p->takes[p->take_count - 1], loop->start + position, &p->takes[take],
                     loop->starts[take] + position, s->why);
    return -1;
}

static uint64_t bytes_in_loop(const struct script *p, const struct loop *loop, size_t take,
                              uint32_t position, uint32_t time)
{
    return item_of(p, take, loop->starts[take] + time * loop->length + position)->bytes;
}

/* Bytes of a take in a loop: the same each time round, or more by the same bytes. *known: it
 * runs often enough to tell the growth. */
static bool read_growth(const struct script *p, const struct loop *loop, size_t take,
                        uint32_t position, uint64_t *growth, bool *known)
{
    const uint64_t first = bytes_in_loop(p, loop, take, position, 0);
    *known = loop->counts[take] >= 2;
    *growth = 0;
    for (uint32_t time = 1; time < loop->counts[take]; time++) {
        const uint64_t bytes = bytes_in_loop(p, loop, take, position, time);
        if (time == 1)
            *growth = bytes - first;
        if (bytes < first || bytes - first != time * *growth)
            return false;
    }
    return true;
}

/* What grows by other bytes in each take, or only where one can tell, is not understood. */
static int size_growth(struct sizer *s, const struct loop *loop, uint32_t position,
                       struct script_slot *slot)
{
    const struct script *p = s->script;
    uint64_t values[2 + 1], numbers[2 + 1];
    size_t known = 0, times = 0;
    bool grows = false;
    for (size_t k = p->take_count; k-- > 0;) { /* the longest first: it can tell */
        uint64_t growth;
        bool tells;
        if (!read_growth(p, loop, k, position, &growth, &tells))
            return refuse_loop(s, loop, position, k,
                               "in a repetition a size changes, and not by the same bytes each "
                               "time: ");
        grows = grows || growth;
        if (loop->counts[k] > times)
            times = loop->counts[k];
        if (tells && known < 3) {
            values[known] = p->takes[k].value;
            numbers[known++] = growth;
        }
    }
    slot->growth = polynomial_constant(0);
    if (!grows)
        return 0;
    for (size_t i = 0; i < known / 2; i++) { /* rising values */
        const uint64_t value = values[i], number = numbers[i];
        values[i] = values[known - 1 - i];
        numbers[i] = numbers[known - 1 - i];
        values[known - 1 - i] = value;
        numbers[known - 1 - i] = number;
    }
    if (times < 3 || known < 2 || !polynomial_fit(values, numbers, known, &slot->growth))
        return refuse_loop(s, loop, position, 0,
                           "in a repetition a size grows, and the recordings do not show by "
                           "how much at another value: ");
    return 0;
}

static int size_in_loop(struct sizer *s, const struct loop *loop, uint32_t position,
                        struct script_slot *slot)
{
    struct script *p = s->script;
    if (slot->op != TRACE_ALLOC)
        return 0;
    if (size_growth(s, loop, position, slot))
        return -1;
    for (size_t k = 0; k < p->take_count; k++)
        s->numbers[k] = bytes_in_loop(p, loop, k, position, 0);
    if (!polynomial_fit(s->values, s->numbers, p->take_count, &slot->bytes))
        return refuse_loop(s, loop, position, 0,
                           "in a repetition a size follows no number of the dimension: ");
    if (!slot->bytes.checked || !slot->growth.checked)
        p->unchecked++;
    return 0;
}

/* "step_" and a number that rises by one each time round, from the same one in every take. */
static int number_phase(struct sizer *s, const struct loop *loop, uint32_t position,
                        struct script_slot *slot)
{
    const struct script *p = s->script;
    uint64_t first = 0, number;
    size_t prefix;
    bool same = true;
    if (slot->op != TRACE_BEGIN && slot->op != TRACE_END)
        return 0;
    slot->numbered =
        take_numbered(take_name(&p->takes[slot->take], slot->item), &prefix, &first);
    for (size_t k = 0; k < p->take_count && slot->numbered; k++) {
        for (uint32_t time = 0; time < loop->counts[k]; time++) {
            const uint32_t item = loop->starts[k] + time * loop->length + position;
            if (!take_numbered(take_name(&p->takes[k], item), &prefix, &number) ||
                number != first + time)
                same = false;
        }
    }
    slot->number = first;
    return same ? 0
                : refuse_loop(s, loop, position, 0,
                              "in a repetition phases are not numbered one by one: ");
}

/* Such a repetition may as well be the whole program run twice. */
static bool has_nameless_phase(const struct sizer *s, const struct element *element)
{
    for (uint32_t i = 0; i < element->length; i++) {
        const struct script_slot *slot = &s->script->slots[element->slot + i];
        if (slot->op == TRACE_BEGIN && !slot->numbered)
            return true;
    }
    return false;
}

static int size_loop(struct sizer *s, uint32_t element)
{
    struct script *p = s->script;
    struct element *e = &p->elements[element];
    const struct loop *loop = &s->layout->loops.list[s->layout->loop_of[element]];
    for (uint32_t i = 0; i < e->length; i++) {
        struct script_slot *slot = &p->slots[e->slot + i];
        if (size_in_loop(s, loop, i, slot) || number_phase(s, loop, i, slot))
            return -1;
    }
    for (size_t k = 0; k < p->take_count; k++)
        s->numbers[k] = loop->counts[k];
    if (!polynomial_fit(s->values, s->numbers, p->take_count, &e->times))
        return refuse_loop(s, loop, 0, 0,
                           "how often something repeats follows no number of the dimension: ");
    if (p->take_count < 3 && has_nameless_phase(s, e))
        return refuse_loop(s, loop, 0, 0,
                           "phases of the same names repeat, and two recordings do not show "
                           "how often at another value: ");
    if (!e->times.checked)
        p->unchecked++;
    return 0;
}

int sizes_find(struct script *p, const struct layout *layout, struct text *why)
{
    struct sizer s = {.script = p, .layout = layout, .why = why};
    int result = 0;
    s.values = xcalloc(p->take_count, sizeof(*s.values));
    s.numbers = xcalloc(p->take_count, sizeof(*s.numbers));
    for (size_t k = 0; k < p->take_count; k++)
        s.values[k] = p->takes[k].value;
    for (uint32_t i = 0; i < p->count && !result; i++) {
        const struct element *element = &p->elements[i];
        if (element->repeats)
            result = size_loop(&s, i);
        else if (p->slots[element->slot].op == TRACE_ALLOC)
            size_plain(&s, element->slot);
        for (uint32_t k = 0; k < element->length; k++)
            p->requests += p->slots[element->slot + k].op == TRACE_ALLOC;
    }
    free(s.values);
    free(s.numbers);
    return result;
}
