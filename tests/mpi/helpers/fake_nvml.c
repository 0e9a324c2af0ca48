/* A stand-in for libnvidia-ml.so.1, scripted by the file that HIGHWATER_FAKE_NVML names; it is
 * read again at every call, so that a test changes the machine by changing the file. One fact a
 * line, words separated by blanks:
 *
 *     driver 580.1
 *     card UUID PCI NAME TOTAL RESERVED USED     a device, NVML's index in order of lines
 *     instance N UUID NAME TOTAL USED            a MIG instance of card N (which has MIG on)
 *     process N PID BYTES|na                     a process on card N, beside its USED
 *     mode N 0|2|3                               compute mode
 *     ecc N on|off
 *     fail CODE                                  every call about a device fails with it
 *     no-init CODE                               nvmlInit fails
 *     no-processes CODE                          the lists of processes fail
 *     old-memory                                 only the first memory call is there
 *
 * Layouts are written down a second time here, on purpose: a wrong one in nvml.c shows. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16
#define API __attribute__((visibility("default")))

struct card {
    char uuid[80], pci[32], name[80];
    unsigned long long total, reserved, used;
    int parent; /* -1: a card; else an instance of that one */
    int mode, ecc;
};
struct process {
    int card;
    unsigned int pid;
    unsigned long long used;
};
struct machine {
    char driver[80];
    struct card card[MOST];
    int cards; /* cards and instances, cards first */
    int real_cards;
    struct process process[MOST];
    int processes;
    int fail, no_init, no_processes;
    bool old_memory;
};

static void add_line(struct machine *m, const char *line)
{
    struct card card = {.parent = -1, .ecc = -1};
    struct process process;
    char bytes[40], word[8];
    int n, value;
    if (sscanf(line, "driver %79s", m->driver) == 1)
        return;
    if (m->cards < MOST &&
        sscanf(line, "card %79s %31s %79s %llu %llu %llu", card.uuid, card.pci, card.name,
               &card.total, &card.reserved, &card.used) == 6) {
        m->card[m->cards++] = card;
        m->real_cards = m->cards;
    } else if (m->cards < MOST && sscanf(line, "instance %d %79s %79s %llu %llu", &card.parent,
                                         card.uuid, card.name, &card.total, &card.used) == 5) {
        m->card[m->cards++] = card;
    } else if (m->processes < MOST &&
               sscanf(line, "process %d %u %39s", &process.card, &process.pid, bytes) == 3) {
        process.used = strcmp(bytes, "na") == 0 ? ~0ull : strtoull(bytes, NULL, 10);
        m->process[m->processes++] = process;
    } else if (sscanf(line, "mode %d %d", &n, &value) == 2 && n < m->cards) {
        m->card[n].mode = value;
    } else if (sscanf(line, "ecc %d %7s", &n, word) == 2 && n < m->cards) {
        m->card[n].ecc = strcmp(word, "on") == 0;
    } else if (strncmp(line, "old-memory", 10) == 0) {
        m->old_memory = true;
    } else {
        (void)sscanf(line, "fail %d", &m->fail);
        (void)sscanf(line, "no-init %d", &m->no_init);
        (void)sscanf(line, "no-processes %d", &m->no_processes);
    }
}

static struct machine look(void)
{
    static const struct machine nothing;
    struct machine m = nothing;
    const char *path = getenv("HIGHWATER_FAKE_NVML");
    FILE *file = path != NULL ? fopen(path, "re") : NULL;
    char line[400];
    if (file == NULL) {
        m.fail = m.no_init = 9;
        return m;
    }
    while (fgets(line, sizeof line, file) != NULL)
        add_line(&m, line);
    fclose(file);
    return m;
}

/* A handle is the position and one. */
static int find(const struct machine *m, void *handle, const struct card **card)
{
    uintptr_t position = (uintptr_t)handle - 1;
    if (m->fail != 0)
        return m->fail;
    if (position >= (uintptr_t)m->cards)
        return 2;
    *card = &m->card[position];
    return 0;
}

static int position_of(const struct machine *m, const struct card *card)
{
    return (int)(card - m->card);
}

static int put(char *out, unsigned int room, const char *value)
{
    if (strlen(value) >= room)
        return 7;
    strcpy(out, value);
    return 0;
}

#define DECLARE(name, ...)                                                                     \
    API int name(__VA_ARGS__);                                                                 \
    API int name(__VA_ARGS__)

DECLARE(nvmlInit_v2, void)
{
    return look().no_init;
}
DECLARE(nvmlShutdown, void)
{
    return 0;
}

API const char *nvmlErrorString(int code);
API const char *nvmlErrorString(int code)
{
    return code == 15 ? "GPU is lost" : code == 999 ? "Unknown Error" : "an error";
}

DECLARE(nvmlSystemGetDriverVersion, char *out, unsigned int room)
{
    struct machine m = look();
    return put(out, room, m.driver);
}

DECLARE(nvmlDeviceGetCount_v2, unsigned int *count)
{
    struct machine m = look();
    *count = (unsigned int)m.real_cards;
    return m.fail;
}

DECLARE(nvmlDeviceGetHandleByIndex_v2, unsigned int index, void **handle)
{
    struct machine m = look();
    *handle = (void *)(uintptr_t)(index + 1);
    return m.fail != 0 ? m.fail : index < (unsigned int)m.real_cards ? 0 : 2;
}

DECLARE(nvmlDeviceGetHandleByUUID, const char *uuid, void **handle)
{
    struct machine m = look();
    if (m.fail != 0)
        return m.fail;
    for (int i = 0; i < m.cards; i++)
        if (strcmp(m.card[i].uuid, uuid) == 0) {
            *handle = (void *)(uintptr_t)(i + 1);
            return 0;
        }
    return 6;
}

DECLARE(nvmlDeviceGetIndex, void *handle, unsigned int *index)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    if (code == 0 && card->parent >= 0)
        return 3;
    if (code == 0)
        *index = (unsigned int)position_of(&m, card);
    return code;
}

DECLARE(nvmlDeviceGetName, void *handle, char *out, unsigned int room)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    return code != 0 ? code : put(out, room, card->name);
}

DECLARE(nvmlDeviceGetUUID, void *handle, char *out, unsigned int room)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    return code != 0 ? code : put(out, room, card->uuid);
}

struct pci {
    char legacy[16];
    unsigned int domain, bus, device, id, subsystem;
    char bus_id[32];
};
DECLARE(nvmlDeviceGetPciInfo_v3, void *handle, struct pci *pci)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    if (code == 0 && card->parent >= 0)
        return 3;
    if (code == 0) {
        memset(pci, 0xff, sizeof *pci);
        strcpy(pci->bus_id, card->pci);
    }
    return code;
}

/* Use of a card: its own figure, its processes and its instances. */
static unsigned long long used_of(const struct machine *m, const struct card *card)
{
    unsigned long long used = card->used;
    for (int i = 0; i < m->processes; i++)
        if (m->process[i].card == position_of(m, card) && m->process[i].used != ~0ull)
            used += m->process[i].used;
    return used;
}

struct memory {
    unsigned long long total, free, used;
};
DECLARE(nvmlDeviceGetMemoryInfo, void *handle, struct memory *memory)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    if (code == 0) {
        memory->total = card->total;
        memory->used = used_of(&m, card) + card->reserved;
        memory->free = card->total - memory->used;
    }
    return code;
}

struct memory_v2 {
    unsigned int version;
    unsigned int pad;
    unsigned long long total, reserved, free, used;
};
DECLARE(nvmlDeviceGetMemoryInfo_v2, void *handle, struct memory_v2 *memory)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    if (memory->version != 0x02000028u || m.old_memory)
        return 25;
    if (code == 0) {
        memory->total = card->total;
        memory->reserved = card->reserved;
        memory->used = used_of(&m, card);
        memory->free = card->total - card->reserved - memory->used;
    }
    return code;
}

struct process_info {
    unsigned int pid, pad;
    unsigned long long used;
    unsigned int gpu_instance, compute_instance;
};
DECLARE(nvmlDeviceGetComputeRunningProcesses_v3, void *handle, unsigned int *count,
        struct process_info *infos)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    unsigned int room = *count, found = 0;
    if (code != 0 || m.no_processes != 0)
        return code != 0 ? code : m.no_processes;
    for (int i = 0; i < m.processes; i++) {
        if (m.process[i].card != position_of(&m, card))
            continue;
        if (found == room)
            return 7;
        infos[found++] = (struct process_info){.pid = m.process[i].pid,
                                               .used = m.process[i].used,
                                               .gpu_instance = ~0u,
                                               .compute_instance = ~0u};
    }
    *count = found;
    return 0;
}

DECLARE(nvmlDeviceGetEccMode, void *handle, unsigned int *current, unsigned int *pending)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    if (code == 0 && card->ecc < 0)
        return 3;
    if (code == 0)
        *current = *pending = (unsigned int)card->ecc;
    return code;
}

DECLARE(nvmlDeviceGetMigMode, void *handle, unsigned int *current, unsigned int *pending)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    *current = *pending = 0;
    for (int i = 0; code == 0 && i < m.cards; i++)
        if (m.card[i].parent == position_of(&m, card))
            *current = *pending = 1;
    return code;
}

DECLARE(nvmlDeviceGetMaxMigDeviceCount, void *handle, unsigned int *count)
{
    struct machine m = look();
    const struct card *card;
    *count = 7;
    return find(&m, handle, &card);
}

DECLARE(nvmlDeviceGetMigDeviceHandleByIndex, void *handle, unsigned int index, void **instance)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    for (int i = 0; code == 0 && i < m.cards; i++)
        if (m.card[i].parent == position_of(&m, card) && index-- == 0) {
            *instance = (void *)(uintptr_t)(i + 1);
            return 0;
        }
    return code != 0 ? code : 6;
}

DECLARE(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, void *handle, void **parent)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    if (code == 0 && card->parent < 0)
        return 2;
    if (code == 0)
        *parent = (void *)(uintptr_t)(card->parent + 1);
    return code;
}

DECLARE(nvmlDeviceGetComputeMode, void *handle, unsigned int *mode)
{
    struct machine m = look();
    const struct card *card;
    int code = find(&m, handle, &card);
    if (code == 0)
        *mode = (unsigned int)card->mode;
    return code;
}
