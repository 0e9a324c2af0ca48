#include "harness/drive/admission.h"
#include "harness/base/file.h"
#include "harness/base/json.h"
#include "harness/base/capture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ATTEMPTS 3          /* for a card to answer, */
#define PAUSE_NS 300000000u /* with this between them */

/* --- what the workload program can do --- */

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

/* --- cards --- */

static bool seen_before(const struct placement *placement, size_t rank)
{
    for (size_t i = 0; i < rank; i++)
        if (strcmp(placement->seats[i].card.name, placement->seats[rank].card.name) == 0)
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
        if (ask_workload(placement->seats[rank].card.uuid, &context, why) != 0)
            return -1;
        largest = reading_max(largest, context);
    }
    for (size_t rank = 0; largest.known && rank < placement->ranks; rank++)
        placement->seats[rank].overhead = largest.value;
    return 0;
}

static int look_at_cards(struct placement *placement, struct text *why)
{
    for (size_t rank = 0; rank < placement->ranks; rank++)
        if (seat_look(&placement->seats[rank], placement->nvml, why) != 0)
            return -1;
    return 0;
}

static enum admission check_modes(const struct placement *placement, struct text *why)
{
    for (size_t rank = 0; rank < placement->ranks; rank++) {
        const struct seat *seat = &placement->seats[rank];
        const char *mode = nvml_compute_mode(placement->nvml, &seat->card);
        if (strcmp(mode, "prohibited") == 0) {
            text_addf(why, "%s is in compute mode prohibited", seat->card.uuid);
            return ADMISSION_NO_DEVICE;
        }
        if (strcmp(mode, "exclusive-process") == 0 && seat->shared) {
            text_addf(why,
                      "%s is listed twice, but it is in compute mode exclusive-process: "
                      "one process at a time",
                      seat->card.uuid);
            return ADMISSION_REFUSED;
        }
    }
    return ADMISSION_OK;
}

static enum admission check_counts(const struct study *study, uint64_t ranks, uint64_t cards,
                                   struct text *why)
{
    if (ranks > cards) {
        text_addf(why,
                  "%llu ranks need as many devices, %llu %s to be had (a device is shared "
                  "only when it is listed twice)",
                  (unsigned long long)ranks, (unsigned long long)cards,
                  cards == 1 ? "is" : "are");
        return ADMISSION_REFUSED;
    }
    if (study->capacities > 1 && study->capacities != ranks) {
        text_addf(why, "capacity: %zu limits for %llu ranks: one for all, or one per rank",
                  study->capacities, (unsigned long long)ranks);
        return ADMISSION_REFUSED;
    }
    return ADMISSION_OK;
}

static enum admission admit_cards(struct placement *placement, const struct study *study,
                                  bool measure, struct text *why)
{
    uint64_t ranks = study->ranks.known ? study->ranks.value : placement->ranks;
    enum admission admission = check_counts(study, ranks, placement->ranks, why);
    if (admission == ADMISSION_OK) {
        placement_cut(placement, study, ranks);
        admission = check_modes(placement, why);
    }
    if (admission == ADMISSION_OK &&
        (look_at_cards(placement, why) != 0 || try_cards(placement, measure, why) != 0))
        admission = ADMISSION_NO_DEVICE;
    return admission;
}

enum admission admission_open(struct placement *placement, const struct study *study,
                              bool measure, struct text *why)
{
    struct placement opened;
    struct nvml *nvml = NULL;
    if (study->setting.backend != BACKEND_CUDA) {
        placement_configure(placement, study, placement_ranks(study));
        return ADMISSION_OK;
    }
    if (nvml_open(&nvml, why) != 0 || placement_on_cards(&opened, study, nvml, why) != 0)
        return ADMISSION_NO_DEVICE;
    enum admission admission = admit_cards(&opened, study, measure, why);
    if (admission == ADMISSION_OK)
        *placement = opened;
    else
        placement_close(&opened);
    return admission;
}

/* --- between two runs --- */

static int check_once(const struct placement *placement, struct text *why)
{
    for (size_t rank = 0; placement->nvml != NULL && rank < placement->ranks; rank++) {
        const struct nvml_device *device = &placement->seats[rank].card;
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
int admission_check(const struct placement *placement, struct text *why)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    int result = -1;
    for (int attempt = 1; result != 0 && attempt < ATTEMPTS; attempt++) {
        result = check_once(placement, NULL);
        if (result != 0)
            nanosleep(&pause, NULL);
    }
    return result == 0 ? 0 : check_once(placement, why);
}
