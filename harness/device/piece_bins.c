#include "harness/device/piece.h"
#include "harness/base/text.h"

#include <stdlib.h>

/* Classes: multiples of 512 up to 32 KiB have one each, above that every octave has 32. */
#define UNIT_LOG 9
#define EXACT 64u
#define STEPS_LOG 5u
#define CLASSES 1536u /* up to 2^60 bytes */
#define WORDS (CLASSES / 64u)

struct piece_table {
    uint64_t filled;       /* bit per word that is not 0 */
    uint64_t words[WORDS]; /* bit per class that is not empty */
    struct piece *roots[CLASSES];
};

static unsigned class_of(uint64_t size)
{
    const uint64_t units = size >> UNIT_LOG;
    if (units < EXACT)
        return (unsigned)units;
    const unsigned log = 63u - (unsigned)__builtin_clzll(units);
    const unsigned step = (unsigned)(units >> (log - STEPS_LOG)) & ((1u << STEPS_LOG) - 1);
    const unsigned class = EXACT + ((log - 6) << STEPS_LOG) + step;
    return class < CLASSES ? class : CLASSES - 1;
}

/* The first class that is not empty, from `class` on; CLASSES: none. */
static unsigned filled_from(const struct piece_table *table, unsigned class)
{
    if (class >= CLASSES)
        return CLASSES;
    const unsigned word = class / 64;
    const uint64_t here = table->words[word] >> (class % 64);
    if (here)
        return class + (unsigned)__builtin_ctzll(here);
    const uint64_t above = table->filled >> word >> 1;
    if (!above)
        return CLASSES;
    const unsigned next = word + 1 + (unsigned)__builtin_ctzll(above);
    return next * 64 + (unsigned)__builtin_ctzll(table->words[next]);
}

/* The last class that is not empty, below `class`; CLASSES: none. */
static unsigned filled_below(const struct piece_table *table, unsigned class)
{
    while (class -- > 0) {
        const unsigned word = class / 64;
        const uint64_t here = table->words[word] << (63 - class % 64);
        if (here)
            return class - (unsigned)__builtin_clzll(here);
        class = word * 64;
    }
    return CLASSES;
}

static struct piece_tree tree_of(const struct piece_bins *bins, unsigned class)
{
    return (struct piece_tree){bins->table->roots[class], bins->order};
}

void piece_bins_insert(struct piece_bins *bins, struct piece *piece)
{
    if (!bins->table)
        bins->table = xcalloc(1, sizeof(*bins->table));
    struct piece_table *table = bins->table;
    const unsigned class = class_of(piece->size);
    struct piece_tree tree = tree_of(bins, class);
    piece_tree_insert(&tree, piece);
    table->roots[class] = tree.root;
    table->words[class / 64] |= (uint64_t)1 << (class % 64);
    table->filled |= (uint64_t)1 << (class / 64);
}

void piece_bins_remove(struct piece_bins *bins, struct piece *piece)
{
    struct piece_table *table = bins->table;
    const unsigned class = class_of(piece->size);
    struct piece_tree tree = tree_of(bins, class);
    piece_tree_remove(&tree, piece);
    table->roots[class] = tree.root;
    if (tree.root)
        return;
    table->words[class / 64] &= ~((uint64_t)1 << (class % 64));
    if (!table->words[class / 64])
        table->filled &= ~((uint64_t)1 << (class / 64));
}

static struct piece *first_from(const struct piece_bins *bins, unsigned class)
{
    class = filled_from(bins->table, class);
    if (class == CLASSES)
        return NULL;
    const struct piece_tree tree = tree_of(bins, class);
    return piece_tree_first(&tree);
}

static struct piece *last_below(const struct piece_bins *bins, unsigned class)
{
    class = filled_below(bins->table, class);
    if (class == CLASSES)
        return NULL;
    const struct piece_tree tree = tree_of(bins, class);
    return piece_tree_last(&tree);
}

struct piece *piece_bins_at_least(const struct piece_bins *bins, uint64_t size)
{
    if (!bins->table)
        return NULL;
    const unsigned class = class_of(size);
    const struct piece_tree tree = tree_of(bins, class);
    struct piece *piece = piece_tree_at_least(&tree, size);
    return piece ? piece : first_from(bins, class + 1);
}

struct piece *piece_bins_first(const struct piece_bins *bins)
{
    return bins->table ? first_from(bins, 0) : NULL;
}

struct piece *piece_bins_last(const struct piece_bins *bins)
{
    return bins->table ? last_below(bins, CLASSES) : NULL;
}

struct piece *piece_bins_after(const struct piece_bins *bins, const struct piece *piece)
{
    if (!bins->table)
        return NULL;
    const unsigned class = class_of(piece->size);
    const struct piece_tree tree = tree_of(bins, class);
    struct piece *after = piece_tree_after(&tree, piece);
    return after ? after : first_from(bins, class + 1);
}

struct piece *piece_bins_before(const struct piece_bins *bins, const struct piece *piece)
{
    if (!bins->table)
        return NULL;
    const unsigned class = class_of(piece->size);
    const struct piece_tree tree = tree_of(bins, class);
    struct piece *before = piece_tree_before(&tree, piece);
    return before ? before : last_below(bins, class);
}

void piece_bins_release(struct piece_bins *bins)
{
    free(bins->table);
    bins->table = NULL;
}
