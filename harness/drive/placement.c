#include "harness/drive/placement.h"
#include "harness/base/file.h"
#include "harness/base/json.h"
#include "harness/base/capture.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ATTEMPTS 3                           /* for a card to answer, */
#define PAUSE_NS 300000000u                  /* with this between them */
#define ASSUMED_OVERHEAD (UINT64_C(1) << 30) /* of context and libraries on a real card */

/* --- what the workload program can do -------------------------------------------------------
 */

static bool lists(const struct json *names, const char *name)
{
    for (size_t i = 0; names != NULL && i < json_length(names); i++) {
        const char *listed = json_text(json_at(names, i));
        if (listed != NULL && strcmp(listed, name) == 0)
            return true;
    }
    return false;
}

/* 0: it has the cuda device, and could open it when `uuid` is given. */
static int judge_description(const struct text *output, struct reading *context,
                             struct text *why)
{
    struct json *about = NULL;
    if (json_parse(text_string(output), output->length, &about, why) != 0)
        return -1;
    const struct json *device = json_get(about, "device");
    const struct json *bytes = device != NULL ? json_get(device, "context_bytes") : NULL;
    uint64_t value = 0;
    bool has_cuda = lists(json_get(about, "backends"), "cuda");
    if (!has_cuda)
        text_add(why, "this highwater was built without CUDA: there is no cuda device in it");
    else if (bytes != NULL && json_count(bytes, &value) == 0)
        *context = reading_of(value);
    json_release(about);
    return has_cuda ? 0 : -1;
}

static int ask_workload(const char *uuid, struct reading *context, struct text *why)
{
    char *program = file_beside_me("highwater-workload");
    char *visible = xasprintf("CUDA_VISIBLE_DEVICES=%s", uuid != NULL ? uuid : "");
    const char *const argv[] = {program, "--describe", uuid != NULL ? "--measure" : NULL, NULL};
    const char *const environment[] = {uuid != NULL ? visible : NULL, NULL};
    struct text output = TEXT_INIT, error = TEXT_INIT;
    int code = 0;
    int result = capture(argv, environment, &output, &error, &code, why);
    if (result == 0 && code != 0) {
        text_add_escaped(why, text_string(&error), strcspn(text_string(&error), "\n"), 400);
        result = -1;
    } else if (result == 0) {
        result = judge_description(&output, context, why);
    }
    text_release(&output);
    text_release(&error);
    free(program);
    free(visible);
    return result;
}

/* --- cards
 * ------------------------------------------------------------------------------------ */

static bool seen_before(const struct placement *placement, size_t rank)
{
    for (size_t i = 0; i < rank; i++)
        if (strcmp(placement->list.devices[i].name, placement->list.devices[rank].name) == 0)
            return true;
    return false;
}

/* One card of each kind is opened; the largest context stands for all. */
static int try_cards(struct placement *placement, bool measure, struct text *why)
{
    struct reading largest = reading_missing();
    if (!measure)
        return ask_workload(NULL, &largest, why);
    for (size_t rank = 0; rank < placement->ranks; rank++) {
        struct reading context = reading_missing();
        if (seen_before(placement, rank))
            continue;
        if (ask_workload(placement->list.devices[rank].uuid, &context, why) != 0)
            return -1;
        largest = reading_max(largest, context);
    }
    if (largest.known)
        placement->overhead = largest.value;
    return 0;
}

static int read_cards(struct placement *placement, struct text *why)
{
    for (size_t rank = 0; rank < placement->ranks; rank++) {
        struct nvml_memory memory;
        bool lost = false;
        if (nvml_read_memory(placement->nvml, &placement->list.devices[rank], &memory, &lost,
                             why) != 0)
            return -1;
        uint64_t reserved = memory.reserved.known ? memory.reserved.value : 0;
        placement->capacity[rank] = reading_of(memory.total.value - reserved);
        placement->baseline[rank] = memory.used;
    }
    return 0;
}

static enum placement_outcome check_mode(const struct placement *placement, struct text *why)
{
    for (size_t rank = 0; rank < placement->ranks; rank++) {
        const struct nvml_device *device = &placement->list.devices[rank];
        const char *mode = nvml_compute_mode(placement->nvml, device);
        if (strcmp(mode, "prohibited") == 0) {
            text_addf(why, "%s is in compute mode prohibited", device->uuid);
            return PLACEMENT_NO_DEVICE;
        }
        if (strcmp(mode, "exclusive-process") == 0 && placement->list.shared[rank]) {
            text_addf(why,
                      "%s is listed twice, but it is in compute mode exclusive-process: "
                      "one process at a time",
                      device->uuid);
            return PLACEMENT_REFUSED;
        }
    }
    return PLACEMENT_OK;
}

static int list_cards(struct placement *placement, const struct study *study, struct text *why)
{
    struct nvml_device *all = NULL;
    size_t count = 0;
    if (nvml_open(&placement->nvml, why) != 0 ||
        nvml_devices(placement->nvml, &all, &count, why) != 0)
        return -1;
    int result =
        devices_choose(all, count, getenv("CUDA_VISIBLE_DEVICES"), getenv("CUDA_DEVICE_ORDER"),
                       study->devices, &placement->list, why);
    free(all);
    return result;
}

/* Only the cards of the ranks that there are count as shared; ranks that run one after the
 * other share nothing. */
static void cut_to_ranks(struct placement *placement, bool alone)
{
    struct device_list *list = &placement->list;
    list->count = (size_t)placement->ranks;
    for (size_t i = 0; i < list->count; i++) {
        list->shared[i] = false;
        for (size_t j = 0; j < list->count; j++)
            if (!alone && j != i && strcmp(list->devices[i].uuid, list->devices[j].uuid) == 0)
                list->shared[i] = true;
    }
}

static enum placement_outcome place_cards(struct placement *placement,
                                          const struct study *study, bool measure,
                                          struct text *why)
{
    if (list_cards(placement, study, why) != 0)
        return PLACEMENT_NO_DEVICE;
    placement->ranks = study->ranks.known ? study->ranks.value : placement->list.count;
    if (placement->ranks > placement->list.count) {
        text_addf(why,
                  "%llu ranks need as many devices, %zu %s to be had (a device is shared "
                  "only when it is listed twice)",
                  (unsigned long long)placement->ranks, placement->list.count,
                  placement->list.count == 1 ? "is" : "are");
        return PLACEMENT_REFUSED;
    }
    if (study->capacities > 1 && study->capacities != placement->ranks) {
        text_addf(why, "capacity: %zu limits for %llu ranks: one for all, or one per rank",
                  study->capacities, (unsigned long long)placement->ranks);
        return PLACEMENT_REFUSED;
    }
    cut_to_ranks(placement, study->placement == PLACEMENT_ALONE);
    placement->capacity = xcalloc((size_t)placement->ranks, sizeof *placement->capacity);
    placement->baseline = xcalloc((size_t)placement->ranks, sizeof *placement->baseline);
    placement->overhead = ASSUMED_OVERHEAD;
    enum placement_outcome mode = check_mode(placement, why);
    if (mode != PLACEMENT_OK)
        return mode;
    if (read_cards(placement, why) != 0 || try_cards(placement, measure, why) != 0)
        return PLACEMENT_NO_DEVICE;
    return PLACEMENT_OK;
}

/* --- both
 * ------------------------------------------------------------------------------------- */

enum placement_outcome placement_open(struct placement *placement, const struct study *study,
                                      bool measure, struct text *why)
{
    struct placement opened = {.overhead = study->overhead};
    enum placement_outcome outcome = PLACEMENT_OK;
    if (study->backend == BACKEND_CUDA) {
        outcome = place_cards(&opened, study, measure, why);
    } else {
        struct reading ranks = study_ranks(study);
        opened.ranks = ranks.known && ranks.value > 0 ? ranks.value : 1;
        opened.capacity = xcalloc((size_t)opened.ranks, sizeof *opened.capacity);
        opened.baseline = xcalloc((size_t)opened.ranks, sizeof *opened.baseline);
        for (uint64_t rank = 0; rank < opened.ranks; rank++)
            opened.capacity[rank] = study_capacity(study, rank);
    }
    if (outcome != PLACEMENT_OK) {
        placement_close(&opened);
        return outcome;
    }
    opened.limit = xcalloc((size_t)opened.ranks, sizeof *opened.limit);
    for (uint64_t rank = 0; rank < opened.ranks; rank++)
        opened.limit[rank] = study_limit(study, rank);
    *placement = opened;
    return PLACEMENT_OK;
}

struct placement placement_of_run(const struct placement *placement, uint64_t place)
{
    struct placement one = *placement;
    if (place == 0)
        return one;
    assert(place <= placement->ranks);
    one.ranks = 1;
    if (one.list.count > 0) {
        one.list.count = 1;
        one.list.devices += place - 1;
        one.list.shared += place - 1;
    }
    one.capacity += place - 1;
    one.limit += place - 1;
    one.baseline += place - 1;
    return one;
}

void placement_close(struct placement *placement)
{
    nvml_close(placement->nvml);
    device_list_release(&placement->list);
    free(placement->capacity);
    free(placement->limit);
    free(placement->baseline);
    *placement = (struct placement){.nvml = NULL};
}

static int check_once(const struct placement *placement, struct text *why)
{
    for (size_t rank = 0; placement->nvml != NULL && rank < placement->ranks; rank++) {
        const struct nvml_device *device = &placement->list.devices[rank];
        struct nvml_device now;
        struct nvml_memory memory;
        bool lost = false;
        if (nvml_by_uuid(placement->nvml, device->uuid, &now, why) != 0 ||
            nvml_read_memory(placement->nvml, &now, &memory, &lost, why) != 0)
            return -1;
    }
    return 0;
}

/* A busy driver may fail to answer once: a card is lost when it does not answer again. */
int placement_check(struct placement *placement, struct text *why)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct text ignored = TEXT_INIT;
    int result = -1;
    for (int attempt = 1; result != 0 && attempt < ATTEMPTS; attempt++) {
        result = check_once(placement, &ignored);
        if (result != 0)
            nanosleep(&pause, NULL);
    }
    text_release(&ignored);
    return result == 0 ? 0 : check_once(placement, why);
}

static void add_entry(struct text *list, uint64_t rank, struct reading bytes)
{
    if (rank > 0)
        text_add_char(list, ',');
    if (bytes.known)
        text_addf(list, "%llu", (unsigned long long)bytes.value);
}

void placement_to_setting(const struct placement *placement, const struct study *study,
                          struct rank_setting *setting)
{
    struct text devices = TEXT_INIT, shared = TEXT_INIT;
    struct text baselines = TEXT_INIT, capacities = TEXT_INIT;
    bool cards = placement->list.count > 0;
    for (uint64_t rank = 0; rank < placement->ranks; rank++) {
        if (cards) {
            text_addf(&devices, "%s%s", rank > 0 ? "," : "",
                      placement->list.devices[rank].uuid);
            text_addf(&shared, "%s%s", rank > 0 ? "," : "",
                      placement->list.shared[rank] ? "yes" : "");
            add_entry(&baselines, rank, placement->baseline[rank]);
            add_entry(&capacities, rank, placement->limit[rank]);
        } else {
            add_entry(&capacities, rank, placement->capacity[rank]);
        }
    }
    setting->ranks = placement->ranks;
    setting->devices = xstrdup(text_string(&devices));
    setting->shared = xstrdup(text_string(&shared));
    setting->baselines = xstrdup(text_string(&baselines));
    setting->capacities = xstrdup(text_string(&capacities));
    setting->overhead = cards ? 0 : study->overhead;
    text_release(&devices);
    text_release(&shared);
    text_release(&baselines);
    text_release(&capacities);
}

void placement_to_row(const struct placement *placement, uint64_t rank, struct row *row)
{
    if (placement->list.count == 0) {
        row_set_reading(row, COLUMN_device_capacity_bytes, placement->capacity[rank]);
        return;
    }
    const struct nvml_device *device = &placement->list.devices[rank];
    device_to_row(device, row);
    row_set_text(row, COLUMN_shared_device, placement->list.shared[rank] ? "yes" : NULL);
}
