/* layout: where every item of every take lies in a program; for harness/forecast only. */
#ifndef HIGHWATER_FORECAST_LAYOUT_H
#define HIGHWATER_FORECAST_LAYOUT_H

#include "harness/forecast/script.h"

struct script_place {
    uint32_t element, position, time; /* the last: time round, 0 outside of loops */
};
struct layout {
    struct loops loops;
    uint32_t *items; /* slot x take: the item, or PAIRING_NONE; slots of loops: unused */
    struct script_place **places; /* per take, per item; one more for the end */
    uint32_t *loop_of;            /* per element: index into loops, or PAIRING_NONE */
};
/* Fills the program's elements and the slots' op, take, item and partial. */
int layout_find(struct script *script, struct layout *layout, struct text *why) MUST_CHECK;
void layout_release(struct layout *layout, size_t take_count);

/* The item of a slot outside of loops in a take. */
static inline uint32_t layout_item(const struct layout *layout, const struct script *script,
                                   uint32_t slot, size_t take)
{
    return layout->items[(size_t)slot * script->take_count + take];
}

/* The first place at or behind an item that every take has; and the last before it: false, if
 * there is none. */
struct script_place layout_settle(const struct layout *layout, const struct script *script,
                                  size_t take, uint32_t item);
bool layout_settle_before(const struct layout *layout, const struct script *script, size_t take,
                          uint32_t item, struct script_place *place);

#endif
