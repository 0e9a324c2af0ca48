#include "harness/plan/placement.h"
#include "harness/nvml/devices.h"

#include <assert.h>
#include <stdlib.h>

uint64_t placement_ranks(const struct study *study)
{
    struct reading ranks = study_ranks(study);
    return ranks.known && ranks.value > 0 ? ranks.value : 1;
}

void placement_configure(struct placement *placement, const struct study *study, uint64_t ranks)
{
    *placement = (struct placement){.ranks = ranks};
    placement->seats = xcalloc((size_t)ranks, sizeof *placement->seats);
    for (uint64_t rank = 0; rank < ranks; rank++)
        placement->seats[rank] =
            (struct seat){.capacity = study_capacity(study, rank),
                          .overhead = study->setting.memory.device.overhead,
                          .limit = study_limit(study, rank)};
}

int placement_on_cards(struct placement *placement, const struct study *study,
                       struct nvml *nvml, struct text *why)
{
    struct nvml_device *cards = NULL;
    size_t count = 0;
    if (devices_find(nvml, study->devices, &cards, &count, why) != 0) {
        nvml_close(nvml);
        return -1;
    }
    placement_configure(placement, study, count);
    placement->nvml = nvml;
    for (size_t i = 0; i < count; i++) {
        placement->seats[i].card = cards[i];
        placement->seats[i].overhead = SEAT_ASSUMED_OVERHEAD;
    }
    free(cards);
    return 0;
}

void placement_cut(struct placement *placement, const struct study *study, uint64_t ranks)
{
    if (ranks < placement->ranks)
        placement->ranks = ranks;
    if (study->placement != PLACEMENT_ALONE)
        seats_mark_shared(placement->seats, (size_t)placement->ranks);
}

struct placement placement_of_run(const struct placement *placement, uint64_t place)
{
    struct placement one = *placement;
    if (place == 0)
        return one;
    assert(place <= placement->ranks);
    one.ranks = 1;
    one.seats += place - 1;
    return one;
}

void placement_close(struct placement *placement)
{
    nvml_close(placement->nvml);
    free(placement->seats);
    *placement = (struct placement){.nvml = NULL};
}
