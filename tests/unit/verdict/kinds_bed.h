/* Cases of the same kind in one line of a golden file. */
#ifndef TESTS_UNIT_KINDS_BED_H
#define TESTS_UNIT_KINDS_BED_H

#include "harness/base/text.h"

#include <stdlib.h>
#include <string.h>

struct kinds {
    struct kind {
        char *key;
        struct text cases; /* names, with ", " between */
        size_t count;
    } * kind;
    size_t count;
};

static inline void kinds_add(struct kinds *kinds, const char *key, const char *name)
{
    size_t i = 0;
    while (i < kinds->count && strcmp(kinds->kind[i].key, key) != 0)
        i++;
    if (i == kinds->count) {
        kinds->kind = xrealloc(kinds->kind, ++kinds->count * sizeof *kinds->kind);
        kinds->kind[i] = (struct kind){.key = xstrdup(key), .cases = TEXT_INIT};
    }
    struct kind *kind = &kinds->kind[i];
    text_addf(&kind->cases, "%s%s", kind->count++ > 0 ? ", " : "", name);
}

static inline void kinds_release(struct kinds *kinds)
{
    for (size_t i = 0; i < kinds->count; i++) {
        free(kinds->kind[i].key);
        text_release(&kinds->kind[i].cases);
    }
    free(kinds->kind);
    *kinds = (struct kinds){.count = 0};
}

/* Its cases, then what is said of them. Releases them. */
static inline void kinds_write(struct kinds *kinds, struct text *out)
{
    for (size_t i = 0; i < kinds->count; i++)
        text_addf(out, "%s: %s\n", text_string(&kinds->kind[i].cases), kinds->kind[i].key);
    kinds_release(kinds);
}

/* The texts of one of the outer cases, each with its places; what is said at all of `all`
 * places needs none. Releases the inner ones. */
static inline void kinds_nest(struct kinds *inner, size_t all, const char *name,
                              struct kinds *outer)
{
    struct text key = TEXT_INIT;
    for (size_t i = 0; i < inner->count; i++) {
        const struct kind *kind = &inner->kind[i];
        text_addf(&key, "\n  \"%s\" at %s", kind->key,
                  kind->count == all ? "all" : text_string(&kind->cases));
    }
    kinds_add(outer, text_string(&key), name);
    text_release(&key);
    kinds_release(inner);
}

#endif
