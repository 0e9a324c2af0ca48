/* reading: a number that may be missing.
 *
 * There is no sentinel value anywhere in highwater: what was not measured is a reading with
 * known == false, and becomes an empty cell. Never test `value` before `known`.
 */
#ifndef HIGHWATER_BASE_READING_H
#define HIGHWATER_BASE_READING_H

#include <stdbool.h>
#include <stdint.h>

struct reading {
    uint64_t value; /* meaningless unless known */
    bool known;
};

static inline struct reading reading_of(uint64_t value)
{
    return (struct reading){.value = value, .known = true};
}

static inline struct reading reading_missing(void)
{
    return (struct reading){.value = 0, .known = false};
}

/* The larger of two readings; missing only when both are. */
static inline struct reading reading_max(struct reading a, struct reading b)
{
    if (!a.known || (b.known && b.value > a.value))
        return b;
    return a;
}

/* The smaller of two readings; missing only when both are. */
static inline struct reading reading_min(struct reading a, struct reading b)
{
    if (!a.known || (b.known && b.value < a.value))
        return b;
    return a;
}

/* Equal, or both missing. */
static inline bool reading_same(struct reading a, struct reading b)
{
    return a.known == b.known && (!a.known || a.value == b.value);
}

/* At most `slack` apart, or one of them missing: nobody can say that they differ. */
static inline bool reading_near(struct reading a, struct reading b, uint64_t slack)
{
    return !a.known || !b.known ||
           (a.value > b.value ? a.value - b.value : b.value - a.value) <= slack;
}

#endif
