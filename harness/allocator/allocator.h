/* allocator: blocks out of segments. A row each in one table: caching (PyTorch's algorithm,
 * ties broken by segment order unless a replay says otherwise), expandable, async, direct.
 *
 * Not thread-safe; one allocator per device. Sizes in bytes.
 */
#ifndef HIGHWATER_ALLOCATOR_ALLOCATOR_H
#define HIGHWATER_ALLOCATOR_ALLOCATOR_H

#include "harness/allocator/refusal.h"
#include "harness/allocator/statistics.h"
#include "harness/base/option.h"
#include "harness/device/device.h"

/* Which of several equally large free blocks is taken. */
enum tie_break {
    TIE_SEGMENT_ORDER, /* older segment first: the same on every device */
    TIE_ADDRESS,       /* lower address first, as PyTorch 2.11: for recordings */
};

/* The settings of [device] that concern allocators, also long options of `replay`. */
struct allocator_setting {
    char *roundup_power2_divisions;        /* N, or a list "[64:8,256:4,>:1]"; NULL, "0": off */
    struct reading max_split_size;         /* missing: off */
    struct reading max_non_split_rounding; /* missing: 20 MiB */
    double garbage_collection_threshold;   /* 0: off; works only together with a limit */
    struct reading limit;     /* most bytes reserved; missing: none. Not in the table */
    enum tie_break tie_break; /* not a study key */
    bool check;               /* tests: allocator_check after every operation */
};
extern const struct option allocator_options[]; /* for struct allocator_setting */

/* What an allocator asked of its device, as it happens: for replay and recording. */
enum segment_action { SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP };
extern const char *const segment_action_names[]; /* "segment_alloc", … NULL-terminated */
struct segment_event {
    enum segment_action action;
    uint64_t bytes, stream, address;
};

struct allocator;
struct piece;

struct block {
    uint64_t address;
    uint64_t size;       /* handed out, after rounding */
    uint64_t requested;  /* asked for */
    struct piece *piece; /* the allocator's own: enough to free it */
    uint64_t id;         /* memory's own: its number in a recording */
};

/* NULL-terminated names of the table, in its order; also the choices of the option
 * `allocator`. */
extern const char *const allocator_names[];

/* What the option table cannot say of settings, which come from people. -1: `*key` is the one
 * at fault, and the reason does not repeat its name. */
int allocator_check_setting(const struct allocator_setting *setting, const char **key,
                            struct text *why) MUST_CHECK;
/* -1: unknown name, a setting out of range, or a device that has no means for it. */
int allocator_open(struct allocator **allocator, const char *name, struct device *device,
                   const struct allocator_setting *setting, struct text *why) MUST_CHECK;
/* A request of 0 bytes is OK with address 0 and counts nothing. Stream: a handle, 0 = default.
 * 2^60 bytes or more are refused before the allocator sees them, in the device's name. */
enum outcome allocator_alloc(struct allocator *allocator, uint64_t bytes, uint64_t stream,
                             struct block *block, struct refusal *refusal) MUST_CHECK;
/* Would such a request be served from what is cached? */
bool allocator_has_room(struct allocator *allocator, uint64_t bytes, uint64_t stream);
void allocator_free(struct allocator *allocator, struct block *block);
/* The same for those who hold very many blocks and keep only this of each (never NULL). */
void allocator_free_piece(struct allocator *allocator, struct piece *piece);
void allocator_empty_cache(struct allocator *allocator);
void allocator_reset_peaks(struct allocator *allocator);
/* Valid until the next call on this allocator. */
const struct allocator_statistics *allocator_read(struct allocator *allocator);
/* `heard` is called for every segment obtained, given back, mapped or unmapped. */
void allocator_listen(struct allocator *allocator,
                      void (*heard)(void *user, const struct segment_event *event), void *user);
const char *
allocator_counter_source(const struct allocator *allocator); /* highwater.caching … */
/* Aborts unless the invariants hold (blocks tile segments, free lists agree, sums agree). */
void allocator_check(const struct allocator *allocator);
/* Gives everything back. Blocks still handed out are a bug of the caller: returns their
 * count. */
uint64_t allocator_close(struct allocator *allocator);

#endif
