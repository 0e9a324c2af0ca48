/* choices: one recording through a table of allocator settings, the smallest capacity first.
 *
 * Each is a setting that PyTorch's environment variable takes, spelled as it is written there.
 */
#ifndef HIGHWATER_TRACE_CHOICES_H
#define HIGHWATER_TRACE_CHOICES_H

#include "harness/trace/replay.h"

struct allocator_choice {
    const char *allocator;
    struct allocator_setting setting; /* owns roundup_power2_divisions */
    char *spelled;                    /* for PYTORCH_CUDA_ALLOC_CONF; "" for the defaults */
    int options;                      /* how many differ from the defaults */
    bool runs;                        /* within the device; else `fit` says nothing */
    struct replay_fit fit;
};
struct choices {
    struct allocator_choice
        *list; /* by capacity, then by options; those that do not run last */
    size_t count;
    uint64_t fits_by_default; /* of the caching allocator without options */
};
/* `setting` says the device and the ties; its allocator and options are not used. -1: not even
 * the defaults run. */
int choices_compare(const struct trace *trace, const struct replay_setting *setting,
                    struct choices *choices, struct text *why) MUST_CHECK;
void choices_print_csv(const struct choices *choices, struct text *out);
void choices_print_json(const struct choices *choices, struct text *out);
void choices_release(struct choices *choices);

#endif
