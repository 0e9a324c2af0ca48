#include "harness/device/piece.h"
#include "harness/base/text.h"

#include <assert.h>
#include <stdlib.h>

struct piece_slab {
    struct piece_slab *next;
    size_t count;
    struct piece *pieces; /* a cache line each */
};
#define LINE 64u

static const char nothing = 0;
struct segment *const piece_no_segment = (struct segment *)(uintptr_t)&nothing;

static uint64_t order_of(const struct piece *piece)
{
    return ((const struct segment_rank *)(const void *)piece->segment)->order;
}

static inline bool before(enum piece_order order, const struct piece *a, const struct piece *b)
{
    if (order != BY_ADDRESS && a->size != b->size)
        return a->size < b->size;
    if (order == BY_SIZE_THEN_SEGMENT && a->segment != b->segment)
        return order_of(a) < order_of(b);
    if (order == BY_SIZE_THEN_BIRTH && a->birth != b->birth)
        return (int32_t)(a->birth - b->birth) < 0; /* the counter may wrap */
    return a->address < b->address;
}

bool piece_before(enum piece_order order, const struct piece *a, const struct piece *b)
{
    return before(order, a, b);
}

/* Addresses are regular, so they are mixed thoroughly (the finalizer of splitmix64). */
static inline uint64_t priority(const struct piece *piece)
{
    uint64_t x = piece->address;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void piece_tree_insert(struct piece_tree *set, struct piece *piece)
{
    const enum piece_order order = set->order;
    const uint64_t mine = priority(piece);
    struct piece **place = &set->root;
    while (*place && priority(*place) >= mine)
        place = before(order, piece, *place) ? &(*place)->left : &(*place)->right;
    /* What hung here is divided into what comes before and after the newcomer. */
    struct piece *rest = *place;
    struct piece **left = &piece->left, **right = &piece->right;
    *place = piece;
    while (rest) {
        if (before(order, rest, piece)) {
            *left = rest;
            left = &rest->right;
            rest = rest->right;
        } else {
            *right = rest;
            right = &rest->left;
            rest = rest->left;
        }
    }
    *left = NULL;
    *right = NULL;
}

void piece_tree_remove(struct piece_tree *set, struct piece *piece)
{
    const enum piece_order order = set->order;
    struct piece **place = &set->root;
    while (*place != piece) {
        assert(*place);
        place = before(order, piece, *place) ? &(*place)->left : &(*place)->right;
    }
    struct piece *left = piece->left, *right = piece->right;
    while (left && right) {
        if (priority(left) >= priority(right)) {
            *place = left;
            place = &left->right;
            left = left->right;
        } else {
            *place = right;
            place = &right->left;
            right = right->left;
        }
    }
    *place = left ? left : right;
}

/* The first of at least this size, in a tree by size. */
static struct piece *piece_tree_at_least(const struct piece_tree *set, uint64_t size)
{
    struct piece *best = NULL;
    for (struct piece *p = set->root; p;) {
        if (p->size >= size) {
            best = p;
            p = p->left;
        } else {
            p = p->right;
        }
    }
    return best;
}

struct piece *piece_tree_first(const struct piece_tree *set)
{
    struct piece *p = set->root;
    while (p && p->left)
        p = p->left;
    return p;
}

static struct piece *piece_tree_last(const struct piece_tree *set)
{
    struct piece *p = set->root;
    while (p && p->right)
        p = p->right;
    return p;
}

struct piece *piece_tree_after(const struct piece_tree *set, const struct piece *piece)
{
    struct piece *best = NULL;
    for (struct piece *p = set->root; p;) {
        if (before(set->order, piece, p)) {
            best = p;
            p = p->left;
        } else {
            p = p->right;
        }
    }
    return best;
}

static struct piece *piece_tree_before(const struct piece_tree *set, const struct piece *piece)
{
    struct piece *best = NULL;
    for (struct piece *p = set->root; p;) {
        if (before(set->order, p, piece)) {
            best = p;
            p = p->right;
        } else {
            p = p->left;
        }
    }
    return best;
}

struct piece *piece_tree_at(const struct piece_tree *set, uint64_t address)
{
    struct piece *p = set->root;
    while (p && p->address != address)
        p = address < p->address ? p->left : p->right;
    return p;
}

/* --- bins: a tree per size class --- */

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

/* --- the store --- */

/* Slabs double from 63 to 4,095 pieces: a plan's thousands of short lives stay cheap. */
static void grow(struct piece_store *store)
{
    size_t count = store->slabs ? 2 * store->slabs->count + 1 : 63;
    if (count > 4095)
        count = 4095;
    struct piece_slab *slab = xmalloc(sizeof(*slab) + LINE + count * sizeof(struct piece));
    slab->count = count;
    slab->pieces =
        (struct piece *)(void *)((char *)(slab + 1) + LINE - (uintptr_t)(slab + 1) % LINE);
    slab->next = store->slabs;
    store->slabs = slab;
    for (size_t i = count; i-- > 0;) {
        slab->pieces[i].segment = NULL;
        slab->pieces[i].next = store->unused;
        store->unused = &slab->pieces[i];
    }
}

struct piece *piece_new(struct piece_store *store, struct segment *segment, uint64_t address,
                        uint64_t size)
{
    if (!store->unused)
        grow(store);
    struct piece *piece = store->unused;
    store->unused = piece->next;
    *piece =
        (struct piece){.address = address, .size = size, .segment = segment, .mapped = true};
    return piece;
}

void piece_drop(struct piece_store *store, struct piece *piece)
{
    piece->segment = NULL;
    piece->next = store->unused;
    store->unused = piece;
}

struct piece *piece_store_next(const struct piece_store *store, struct piece *piece)
{
    bool found = !piece;
    for (struct piece_slab *slab = store->slabs; slab; slab = slab->next) {
        size_t i = 0;
        if (!found) {
            const uintptr_t begin = (uintptr_t)slab->pieces, at = (uintptr_t)piece;
            if (at < begin || at >= begin + slab->count * sizeof(*piece))
                continue;
            i = (at - begin) / sizeof(*piece) + 1;
            found = true;
        }
        for (; i < slab->count; i++) {
            if (slab->pieces[i].segment)
                return &slab->pieces[i];
        }
    }
    return NULL;
}

void piece_store_release(struct piece_store *store)
{
    while (store->slabs) {
        struct piece_slab *next = store->slabs->next;
        free(store->slabs);
        store->slabs = next;
    }
    store->unused = NULL;
}

struct piece *piece_split_front(struct piece_store *store, struct piece *piece, uint64_t size)
{
    struct piece *front = piece_new(store, piece->segment, piece->address, size);
    front->mapped = piece->mapped;
    front->prev = piece->prev;
    front->next = piece;
    if (front->prev)
        front->prev->next = front;
    piece->prev = front;
    piece->address += size;
    piece->size -= size;
    return front;
}

void piece_join(struct piece_store *store, struct piece *piece, struct piece *neighbour)
{
    if (neighbour == piece->prev) {
        piece->address = neighbour->address;
        piece->prev = neighbour->prev;
        if (piece->prev)
            piece->prev->next = piece;
    } else {
        assert(neighbour == piece->next);
        piece->next = neighbour->next;
        if (piece->next)
            piece->next->prev = piece;
    }
    piece->size += neighbour->size;
    piece_drop(store, neighbour);
}
