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

struct piece *piece_tree_at_least(const struct piece_tree *set, uint64_t size)
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

struct piece *piece_tree_last(const struct piece_tree *set)
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

struct piece *piece_tree_before(const struct piece_tree *set, const struct piece *piece)
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
