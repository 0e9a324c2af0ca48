#include "harness/plan/outlook.h"

#include "harness/base/units.h"
#include "harness/nvml/devices.h"

#include <inttypes.h>
#include <stdlib.h>

/* Assumed for context and libraries on a real card, until a run has measured them. */
#define ASSUMED_OVERHEAD (UINT64_C(1) << 30)

/* Ranks with the same room share a card: they have the same outlook. */
static void add_rank(struct outlook *list, const struct plan_room *room, const char *basis)
{
    uint64_t rank = list->ranks++;
    list->card_of_rank =
        xrealloc(list->card_of_rank, (size_t)list->ranks * sizeof *list->card_of_rank);
    for (size_t i = 0; i < list->card_count; i++) {
        struct card *card = &list->cards[i];
        if (!reading_same(card->room.capacity, room->capacity) ||
            !reading_same(card->room.limit, room->limit))
            continue;
        list->card_of_rank[rank] = i;
        bool first = text_starts_with(card->ranks, "rank ");
        char *longer = xasprintf("%s%s, %" PRIu64, first ? "ranks " : "",
                                 card->ranks + (first ? 5 : 0), rank);
        free(card->ranks);
        card->ranks = longer;
        return;
    }
    list->cards = xrealloc(list->cards, (list->card_count + 1) * sizeof *list->cards);
    list->card_of_rank[rank] = list->card_count;
    list->cards[list->card_count++] =
        (struct card){.ranks = xasprintf("rank %" PRIu64, rank), .room = *room, .basis = basis};
}

static struct reading usable_bytes(struct nvml *nvml, const struct nvml_device *device)
{
    struct nvml_memory memory;
    struct text ignored = TEXT_INIT;
    bool lost;
    struct reading usable = reading_missing();
    if (nvml_read_memory(nvml, device, &memory, &lost, &ignored) == 0 && memory.total.known) {
        uint64_t taken = ASSUMED_OVERHEAD + (memory.reserved.known ? memory.reserved.value : 0);
        usable = reading_of(memory.total.value > taken ? memory.total.value - taken : 0);
    }
    text_release(&ignored);
    return usable;
}

static int add_devices(struct nvml *nvml, const struct study *study, struct outlook *list,
                       struct text *why)
{
    struct nvml_device *all = NULL;
    struct device_list chosen;
    size_t count;
    if (nvml_devices(nvml, &all, &count, why) != 0)
        return -1;
    int outcome = devices_choose(all, count, getenv("CUDA_VISIBLE_DEVICES"),
                                 getenv("CUDA_DEVICE_ORDER"), study->devices, &chosen, why);
    if (outcome == 0) {
        size_t ranks = chosen.count;
        if (study->ranks.known && study->ranks.value < ranks)
            ranks = (size_t)study->ranks.value;
        for (size_t i = 0; i < ranks; i++)
            add_rank(list,
                     &(struct plan_room){.capacity = usable_bytes(nvml, &chosen.devices[i]),
                                         .limit = study_limit(study, i)},
                     "NVML's total less its reserve, less 1 GiB assumed for context and "
                     "libraries");
        device_list_release(&chosen);
    }
    free(all);
    return outcome;
}

static int find_real(const struct study *study, struct outlook *list, struct text *why)
{
    struct nvml *nvml;
    struct text absent = TEXT_INIT;
    struct reading ranks = study_ranks(study);
    int outcome = 0;
    if (nvml_open(&nvml, &absent) == 0) {
        outcome = add_devices(nvml, study, list, why);
        nvml_close(nvml);
    } else {
        list->ranks_unknown = !ranks.known;
        uint64_t least = ranks.known ? ranks.value : 1;
        for (uint64_t rank = 0; rank < least || rank < study->capacities; rank++)
            add_rank(list, &(struct plan_room){.limit = study_limit(study, rank)},
                     "there is no device to ask: whether a point fits is not judged "
                     "(--capacity names one)");
    }
    text_release(&absent);
    return outcome;
}

int cards_find(const struct study *study, struct reading capacity, struct outlook *outlook,
               struct text *why)
{
    struct outlook list = {.cards = NULL};
    struct reading ranks = study_ranks(study);
    int outcome = 0;
    list.ranks_unknown = capacity.known && !ranks.known;
    if (capacity.known)
        for (uint64_t rank = 0; rank < (ranks.known ? ranks.value : 1); rank++)
            add_rank(&list,
                     &(struct plan_room){capacity, study->overhead, study_limit(study, rank)},
                     "given with --capacity instead of each rank's own");
    else if (study->backend == BACKEND_CUDA)
        outcome = find_real(study, &list, why);
    else
        for (uint64_t rank = 0; rank < (ranks.known ? ranks.value : 1); rank++)
            add_rank(&list,
                     &(struct plan_room){.capacity = study_capacity(study, rank),
                                         .overhead = study->overhead},
                     "configured in the study");
    if (outcome != 0) {
        outlook_release(&list);
        return -1;
    }
    *outlook = list;
    return 0;
}

void cards_release(struct card *cards, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(cards[i].ranks);
    free(cards);
}
