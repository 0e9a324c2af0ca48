#include "harness/observe/card.h"
#include "harness/base/clock.h"
#include "harness/nvml/devices.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES 256
#define GLANCE_NS 50000000u /* between two looks while a card settles */

/* In a pid namespace NVML may tell the numbers of the host, where ours are others. */
static bool in_first_pid_namespace(void)
{
    char link[64];
    ssize_t length = readlink("/proc/self/ns/pid", link, sizeof link - 1);
    if (length < 0)
        return false;
    link[length] = '\0';
    return strcmp(link, "pid:[4026531836]") == 0;
}

int card_open(struct card *card, const struct seat *seat, struct text *why)
{
    if (!seat_has_card(seat)) {
        *card = (struct card){.nvml = NULL};
        return 0;
    }
    struct card opened = {.shared = seat->shared, .trusts_pids = in_first_pid_namespace()};
    if (nvml_open(&opened.nvml, why) != 0)
        return -1;
    if (nvml_by_uuid(opened.nvml, seat->card.uuid, &opened.device, why) != 0) {
        nvml_close(opened.nvml);
        return -1;
    }
    *card = opened;
    return 0;
}

void card_close(struct card *card)
{
    nvml_close(card->nvml);
    card->nvml = NULL;
}

static int read_memory(struct card *card, struct nvml_memory *memory, struct text *why)
{
    return nvml_read_memory(card->nvml, &card->device, memory, &card->lost, why);
}

static bool list(struct card *card, struct nvml_process *processes, size_t *count)
{
    bool known = false;
    if (nvml_processes(card->nvml, &card->device, processes, PROCESSES, count, &known) != 0)
        return false;
    card->told = card->told || known;
    return known;
}

/* The sum over all processes listed; missing when one of them has no figure, and when nobody is
 * listed where others are hidden. */
static struct reading all_processes(struct card *card)
{
    struct nvml_process processes[PROCESSES];
    size_t count = 0;
    uint64_t sum = 0;
    if (!list(card, processes, &count) || (count == 0 && !card->trusts_pids))
        return reading_missing();
    for (size_t i = 0; i < count; i++) {
        if (!processes[i].used.known)
            return reading_missing();
        sum += processes[i].used.value;
    }
    return reading_of(sum);
}

enum card_state card_settle(struct card *card, struct reading baseline, uint64_t settle_ns,
                            const struct watch *watch, struct text *why)
{
    if (card->nvml == NULL)
        return CARD_READY;
    uint64_t until = clock_monotonic_ns() + settle_ns;
    enum card_use_outcome outcome = CARD_STILL_IN_USE;
    while (outcome == CARD_STILL_IN_USE) {
        int signal = 0;
        if (read_memory(card, &card->before, why) != 0)
            return CARD_LOST;
        outcome =
            card_use_settles(card->before.used, baseline, clock_monotonic_ns() >= until, why);
        if (outcome == CARD_STILL_IN_USE &&
            watch_wait(watch, 0, -1, clock_monotonic_ns() + GLANCE_NS, &signal) == WATCH_SIGNAL)
            return CARD_INTERRUPTED;
    }
    card->foreign_before = all_processes(card);
    return outcome == CARD_SETTLED ? CARD_READY : CARD_DIRTY;
}

void card_look_after(struct card *card, uint64_t patience_ns)
{
    const struct timespec glance = {.tv_nsec = GLANCE_NS};
    uint64_t until = clock_monotonic_ns() + patience_ns;
    struct nvml_memory after;
    while (card->nvml != NULL && read_memory(card, &after, NULL) == 0 && !card->shared) {
        card->used_after = after.used;
        card->foreign_after = all_processes(card);
        bool more = card_use_grew(card->before.used, after.used) ||
                    card_use_grew(card->foreign_before, card->foreign_after);
        if (!more || clock_monotonic_ns() >= until)
            break;
        nanosleep(&glance, NULL);
    }
}

static void add_to(struct reading *sum, uint64_t bytes)
{
    *sum = reading_of((sum->known ? sum->value : 0) + bytes);
}

/* A process that the driver still lists may have gone: whose it was cannot be asked any more.
 */
static bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

static void read_processes(struct card *card, const struct child *child,
                           struct card_sample *sample)
{
    struct nvml_process processes[PROCESSES];
    size_t count = 0;
    bool told = true;
    struct reading others = reading_of(0);
    if (!card->trusts_pids || !list(card, processes, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        struct reading used = processes[i].used;
        pid_t pid = (pid_t)processes[i].pid;
        bool own = child_owns(child, pid);
        told = told && used.known && (own || !is_gone(pid));
        if (used.known)
            add_to(own ? &sample->own : &others, used.value);
    }
    if (told && !card->shared)
        sample->others = others;
}

const char *card_mute(const struct card *card)
{
    if (!card->trusts_pids)
        return "memory by process: not to be told in a pid namespace";
    return card->told ? NULL : "memory by process: not told by the driver";
}

bool card_sample(struct card *card, const struct child *child, struct card_sample *sample)
{
    struct nvml_memory memory;
    if (card->nvml == NULL || read_memory(card, &memory, NULL) != 0)
        return false; /* a missing sample is a longer gap, nothing more */
    *sample = (struct card_sample){.used = memory.used};
    read_processes(card, child, sample);
    return true;
}

void card_to_row(struct card *card, struct row *row)
{
    if (card->nvml == NULL)
        return;
    const struct nvml_device *device = &card->device;
    device_to_row(device, row);
    const char *ecc = nvml_ecc(card->nvml, device), *mig = nvml_mig(card->nvml, device);
    const char *driver = nvml_driver_version(card->nvml);
    row_set_text(row, COLUMN_ecc, *ecc != '\0' ? ecc : NULL);
    row_set_text(row, COLUMN_mig, *mig != '\0' ? mig : NULL);
    row_set_text(row, COLUMN_driver_version, *driver != '\0' ? driver : NULL);
    row_set_text(row, COLUMN_shared_device, card->shared ? "yes" : NULL);
    row_set_reading(row, COLUMN_device_used_before_bytes, card->before.used);
    row_set_reading(row, COLUMN_nvml_reserved_bytes, card->before.reserved);
    row_set_reading(row, COLUMN_foreign_start_bytes, card->foreign_before);
    row_set_reading(row, COLUMN_foreign_end_bytes, card->foreign_after);
}
