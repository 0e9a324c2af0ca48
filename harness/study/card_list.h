/* card_list: cards as the sections of an INI file.
 *
 *     [H100 80GB]
 *     capacity = 85520809984B
 *     outside  = 623706112B      ; context, libraries: of the card, but not the allocator's
 *     reserve  = 0B              ; what the driver keeps of the capacity
 *     read_by  = nvml            ; words, not read: where the figures come from
 *     from     = public nvidia-smi
 */
#ifndef HIGHWATER_STUDY_CARD_LIST_H
#define HIGHWATER_STUDY_CARD_LIST_H

#include "harness/base/reading.h"
#include "harness/base/text.h"

struct card_line {
    char *name;
    uint64_t capacity;
    struct reading outside, reserve;
};
struct card_list {
    struct card_line *lines;
    size_t count;
};
/* -1: "FILE:LINE: reason", all of them; a card without a capacity is one of them. */
int card_list_read(const char *path, struct card_list *list, struct text *why) MUST_CHECK;
void card_list_release(struct card_list *list);

#endif
