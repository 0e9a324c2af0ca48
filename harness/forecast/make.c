#include "harness/forecast/make.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TOO_LARGE ((uint64_t)1 << 60)
#define ITEMS_MOST ((uint64_t)1 << 30)

/* A block that is to be freed before a made item: a list per item. */
struct freed {
    uint32_t slot, next;
};

struct maker {
    const struct script *script;
    uint64_t value;
    enum version version;
    struct trace *made;
    struct text *why;
    uint64_t *starts, *times; /* per element: its first made item, times round */
    uint64_t items;
    uint32_t *first; /* per item and one more: index into freed, plus one */
    struct freed *freed;
    uint32_t blocks;
};

static int refuse(struct maker *m, const struct script_slot *slot, const char *what)
{
    const struct take *take = &m->script->takes[slot->take];
    text_addf(m->why, "%" PRIu64 " cannot be made: what %s:%" PRIu64 " shows would be %s",
              m->value, take->path, take_line(take, slot->item), what);
    return -1;
}

/* Bytes per unit, as seen, at the value; `share` sixtieths of it, rounded up. */
static uint64_t scaled(uint64_t bytes, uint64_t of_value, uint64_t value, unsigned share)
{
    const __int128 most = (__int128)TOO_LARGE - 1;
    const __int128 divisor = 60 * (__int128)of_value;
    __int128 product = (__int128)bytes * share;
    if (__builtin_mul_overflow(product, (__int128)value, &product))
        return (uint64_t)most;
    const __int128 result = (product + divisor - 1) / divisor;
    return (uint64_t)(result > most ? most : result);
}

static uint64_t doubtful_bytes(const struct maker *m, const struct script_slot *slot)
{
    /* sixtieths of the bytes per unit, or of the polynomial */
    static const unsigned shares[VERSIONS] = {
        [VERSION_LEAST] = 40, [VERSION_FEWEST] = 60, [VERSION_WIDER] = 63, [VERSION_MOST] = 60};
    const unsigned share = shares[m->version];
    uint64_t bytes;
    if (m->version == VERSION_WITHOUT)
        return 0;
    if (m->version == VERSION_MOST)
        return scaled(slot->most_bytes, slot->most_value, m->value, share);
    if (slot->kind == SLOT_UNCHECKED &&
        polynomial_at(&slot->bytes, m->value, &bytes) == POLYNOMIAL_OK)
        return scaled(bytes, 1, 1, m->version == VERSION_WIDER ? share : 60);
    return slot->partial ? 0 : scaled(slot->few_bytes, slot->few_value, m->value, share);
}

/* The first time round, and what each further one adds. 0 bytes: the request is left out. */
static int find_bytes(struct maker *m, const struct script_slot *slot, bool loop,
                      uint64_t *bytes, uint64_t *growth)
{
    *growth = 0;
    if (slot->kind != SLOT_FITTED) {
        *bytes = doubtful_bytes(m, slot);
        return 0;
    }
    enum polynomial_outcome outcome = polynomial_at(&slot->bytes, m->value, bytes);
    if (outcome == POLYNOMIAL_OK && *bytes == 0)
        return refuse(m, slot, "no bytes at all");
    if (outcome == POLYNOMIAL_OK && loop)
        outcome = polynomial_at(&slot->growth, m->value, growth);
    return outcome == POLYNOMIAL_OK ? 0 : refuse(m, slot, polynomial_outcomes[outcome]);
}

static int lay_out(struct maker *m)
{
    const struct script *p = m->script;
    m->starts = xcalloc((size_t)p->count + 1, sizeof(*m->starts));
    m->times = xcalloc((size_t)p->count + 1, sizeof(*m->times));
    for (uint32_t i = 0; i < p->count; i++) {
        const struct element *element = &p->elements[i];
        m->starts[i] = m->items;
        m->times[i] = 1;
        if (element->repeats) {
            const enum polynomial_outcome outcome =
                polynomial_at(&element->times, m->value, &m->times[i]);
            if (outcome != POLYNOMIAL_OK)
                return refuse(m, &p->slots[element->slot], polynomial_outcomes[outcome]);
            if (m->times[i] < element->least)
                return refuse(m, &p->slots[element->slot],
                              "repeated less often than it takes to know when its blocks are "
                              "freed");
        }
        if (m->times[i] > ITEMS_MOST / element->length ||
            (m->items += m->times[i] * element->length) > ITEMS_MOST)
            return refuse(m, &p->slots[element->slot], "more than 2^30 requests");
    }
    m->starts[p->count] = m->items;
    return 0;
}

/* Which made item a rule means; -1 where the loop does not run that often. */
static int find_item(const struct maker *m, const struct rule *rule, uint64_t time,
                     uint64_t *item)
{
    const struct script *p = m->script;
    int64_t round = rule->start + rule->each * (int64_t)time;
    if (rule->element == p->count) {
        *item = m->items;
        return 0;
    }
    if (rule->from_end)
        round += (int64_t)m->times[rule->element];
    if (round < 0 || (uint64_t)round >= m->times[rule->element])
        return -1;
    *item = m->starts[rule->element] + (uint64_t)round * p->elements[rule->element].length +
            rule->position + rule->after;
    return 0;
}

static const struct rule *rule_of(const struct maker *m, const struct script_slot *slot,
                                  bool loop, uint64_t time, uint64_t times)
{
    if (loop && slot->backs && times - 1 - time < slot->backs)
        return &slot->back[times - 1 - time];
    if (loop && time < slot->fronts)
        return &slot->front;
    return slot->moves && m->version == VERSION_MOST ? &slot->late : &slot->rule;
}

static struct trace_event *add_event(struct maker *m, enum trace_op op)
{
    struct trace_event *event = &m->made->events[m->made->count++];
    *event = (struct trace_event){.op = (uint8_t)op};
    return event;
}

static int add_request(struct maker *m, const struct script_slot *slot, const struct rule *rule,
                       uint64_t time, uint64_t item, uint64_t bytes)
{
    const struct take *take = &m->script->takes[slot->take];
    uint64_t freed;
    if (bytes >= TOO_LARGE)
        return refuse(m, slot, polynomial_outcomes[POLYNOMIAL_TOO_LARGE]);
    struct trace_event *event = add_event(m, TRACE_ALLOC);
    event->slot = m->blocks++;
    event->bytes = bytes;
    event->stream = take->trace.events[take->items[slot->item].event].stream;
    if (rule->element == SLOT_NEVER)
        return 0;
    if (find_item(m, rule, time, &freed) || freed <= item)
        return refuse(m, slot, "freed before it is there, or never");
    m->freed[event->slot] = (struct freed){event->slot, m->first[freed]};
    m->first[freed] = event->slot + 1;
    return 0;
}

static void add_mark(struct maker *m, const struct script_slot *slot, uint64_t time)
{
    struct trace *made = m->made;
    const struct take *take = &m->script->takes[slot->take];
    struct trace_event *event = add_event(m, (enum trace_op)slot->op);
    if (slot->op == TRACE_EMPTY_CACHE)
        return;
    if (slot->op == TRACE_END) {
        event->slot = (uint32_t)made->name_count - 1;
        return;
    }
    const char *name = take_name(take, slot->item);
    size_t prefix;
    uint64_t number;
    made->names = xrealloc(made->names, (made->name_count + 1) * sizeof(*made->names));
    if (slot->numbered && take_numbered(name, &prefix, &number))
        made->names[made->name_count] =
            xasprintf("%.*s%" PRIu64, (int)prefix, name, slot->number + time);
    else
        made->names[made->name_count] = xstrdup(name);
    event->slot = (uint32_t)made->name_count++;
}

static void free_before(struct maker *m, uint64_t item)
{
    for (uint32_t i = m->first[item]; i; i = m->freed[i - 1].next)
        add_event(m, TRACE_FREE)->slot = m->freed[i - 1].slot;
}

static int make_element(struct maker *m, uint32_t index)
{
    const struct element *element = &m->script->elements[index];
    const struct script_slot *slots = &m->script->slots[element->slot];
    uint64_t *bytes = xcalloc(2 * (size_t)element->length, sizeof(*bytes));
    uint64_t *growth = bytes + element->length, item = m->starts[index];
    int result = 0;
    for (uint32_t i = 0; i < element->length && !result; i++) {
        if (slots[i].op == TRACE_ALLOC)
            result = find_bytes(m, &slots[i], element->repeats, &bytes[i], &growth[i]);
    }
    for (uint64_t time = 0; time < m->times[index] && !result; time++) {
        for (uint32_t i = 0; i < element->length && !result; i++, item++) {
            free_before(m, item);
            if (slots[i].op != TRACE_ALLOC)
                add_mark(m, &slots[i], time);
            else if (bytes[i])
                result =
                    add_request(m, &slots[i],
                                rule_of(m, &slots[i], element->repeats, time, m->times[index]),
                                time, item, bytes[i] + time * growth[i]);
        }
    }
    free(bytes);
    return result;
}

static int make_all(struct maker *m)
{
    m->made->events = xcalloc(2 * m->items + 1, sizeof(*m->made->events));
    m->first = xcalloc(m->items + 1, sizeof(*m->first));
    m->freed = xcalloc(m->items + 1, sizeof(*m->freed));
    for (uint32_t i = 0; i < m->script->count; i++) {
        if (make_element(m, i))
            return -1;
    }
    free_before(m, m->items);
    m->made->slots = m->blocks;
    m->made->tagged = m->script->takes[0].trace.tagged;
    return 0;
}

int script_make(const struct script *script, uint64_t value, enum version version,
                struct trace *made, struct text *why)
{
    struct trace trace = {0};
    struct maker m = {.script = script, .value = value, .version = version, .made = &trace};
    m.why = why;
    int result = lay_out(&m);
    if (!result)
        result = make_all(&m);
    free(m.starts);
    free(m.times);
    free(m.first);
    free(m.freed);
    if (result)
        trace_release(&trace);
    else
        *made = trace;
    return result;
}

bool script_is_doubtful(const struct script *script)
{
    return script->irregular || script->doubtful_short || script->moved;
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t multiple(uint64_t step, const struct polynomial *p)
{
    const __int128 most = (__int128)1 << 32;
    if (p->denominator <= 1)
        return step;
    if (p->denominator > most)
        return (uint64_t)most;
    const uint64_t other = (uint64_t)p->denominator;
    const __int128 product = (__int128)step * (other / divisor(step, other));
    return product > most ? (uint64_t)most : (uint64_t)product;
}

uint64_t script_step(const struct script *script)
{
    uint64_t step = 1;
    for (uint32_t i = 0; i < script->count; i++) {
        const struct element *element = &script->elements[i];
        if (element->repeats)
            step = multiple(step, &element->times);
        for (uint32_t k = 0; k < element->length; k++) {
            const struct script_slot *slot = &script->slots[element->slot + k];
            if (slot->op != TRACE_ALLOC || slot->kind != SLOT_FITTED)
                continue;
            step = multiple(step, &slot->bytes);
            if (element->repeats)
                step = multiple(step, &slot->growth);
        }
    }
    return step;
}
