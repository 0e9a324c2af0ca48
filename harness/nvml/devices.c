#include "harness/nvml/devices.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A choice while it is made: positions in `all`, in the order asked for. */
struct choice {
    const struct nvml_device *all;
    size_t all_count;
    size_t *at;
    size_t count;
};
#define NOWHERE ((size_t)-1)

/* The N-th card in PCI order; of a partitioned card its first instance, as CUDA does. */
static size_t by_number(const struct choice *choice, uint64_t number)
{
    for (size_t i = 0; i < choice->all_count; i++) {
        if (choice->all[i].parent[0] != '\0')
            continue;
        if (number-- > 0)
            continue;
        if (!choice->all[i].partitioned)
            return i;
        bool has_instance = i + 1 < choice->all_count && choice->all[i + 1].parent[0] != '\0';
        return has_instance ? i + 1 : NOWHERE;
    }
    return NOWHERE;
}

/* The one device whose UUID begins so; none when several do. */
static size_t by_uuid(const struct choice *choice, const char *word)
{
    size_t found = NOWHERE;
    for (size_t i = 0; i < choice->all_count; i++) {
        if (!text_starts_with(choice->all[i].uuid, word))
            continue;
        if (strcmp(choice->all[i].uuid, word) == 0)
            return i;
        if (found != NOWHERE)
            return NOWHERE;
        found = i;
    }
    return found;
}

static bool is_uuid(const char *word)
{
    return text_starts_with(word, "GPU-") || text_starts_with(word, "MIG-");
}

static bool holds(const struct choice *choice, size_t at)
{
    for (size_t i = 0; i < choice->count; i++)
        if (choice->at[i] == at)
            return true;
    return false;
}

static void add(struct choice *choice, size_t at)
{
    *GROW(choice->at, choice->count) = at;
}

/* The next word of a list, without the blanks around it; false after the last. */
static bool next_word(const char **list, char *word, size_t room)
{
    if (*list == NULL)
        return false;
    const char *end = strchr(*list, ',');
    const char *from = *list, *to = end != NULL ? end : from + strlen(from);
    *list = end != NULL ? end + 1 : NULL;
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    size_t length = (size_t)(to - from);
    if (length >= room)
        length = room - 1;
    memcpy(word, from, length);
    word[length] = '\0';
    return true;
}

/* As CUDA reads its variable: the list ends before the first entry that names no device (-1
 * too), a repeat leaves nothing, digits may be followed by other text, and a list of UUIDs
 * holds UUIDs only. */
static void choose_visible(struct choice *choice, const char *visible, bool *numbers)
{
    char word[128];
    bool first = true, uuids = false;
    while (next_word(&visible, word, sizeof word)) {
        if (first)
            uuids = is_uuid(word);
        first = false;
        if (uuids != is_uuid(word))
            return;
        size_t at = NOWHERE;
        if (uuids) {
            at = by_uuid(choice, word);
        } else {
            const char *digits = word[0] == '+' ? word + 1 : word;
            if (!isdigit((unsigned char)digits[0]))
                return;
            *numbers = true;
            at = by_number(choice, strtoull(digits, NULL, 10));
        }
        if (at == NOWHERE)
            return;
        if (holds(choice, at)) {
            choice->count = 0;
            return;
        }
        add(choice, at);
    }
}

static void choose_every(struct choice *choice)
{
    for (size_t i = 0; i < choice->all_count; i++)
        if (!choice->all[i].partitioned)
            add(choice, i);
}

static int choose_wanted(struct choice *choice, const struct choice *visible,
                         const char *wanted, bool *numbers, struct text *why)
{
    char word[128];
    while (next_word(&wanted, word, sizeof word)) {
        size_t at = NOWHERE;
        size_t digits = strspn(word, "0123456789");
        if (is_uuid(word)) {
            at = by_uuid(choice, word);
        } else if (digits > 0 && digits < 10 && word[digits] == '\0') {
            *numbers = true;
            at = by_number(choice, strtoull(word, NULL, 10));
        } else {
            return text_fail(why, "devices: \"%s\" is neither a number nor a UUID", word);
        }
        if (at == NOWHERE)
            return text_fail(why, "devices: there is no device %s, or it is not the only one",
                             word);
        if (!holds(visible, at))
            return text_fail(why, "devices: %s is outside CUDA_VISIBLE_DEVICES", word);
        add(choice, at);
    }
    return 0;
}

static bool are_alike(const struct nvml_device *all, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(all[0].name, all[i].name) != 0)
            return false;
    return true;
}

static struct nvml_device *devices_of(const struct choice *choice)
{
    struct nvml_device *devices = xcalloc(choice->count, sizeof *devices);
    for (size_t i = 0; i < choice->count; i++)
        devices[i] = choice->all[choice->at[i]];
    return devices;
}

int devices_choose(const struct nvml_device *all, size_t all_count, const char *visible,
                   const char *order, const char *wanted, struct nvml_device **chosen,
                   size_t *count, struct text *why)
{
    struct choice seen = {.all = all, .all_count = all_count};
    struct choice listed = {.all = all, .all_count = all_count};
    bool numbers = false, everything = strcmp(wanted, "all") == 0;
    int result = -1;
    if (visible == NULL)
        choose_every(&seen);
    else
        choose_visible(&seen, visible, &numbers);
    if (all_count == 0)
        text_add(why, "the NVIDIA driver knows no device");
    else if (seen.count == 0)
        text_addf(why, "no device is visible: CUDA_VISIBLE_DEVICES is \"%s\"",
                  visible != NULL ? visible : "");
    else if (everything || choose_wanted(&listed, &seen, wanted, &numbers, why) == 0)
        result = 0;
    if (result == 0 && numbers && order != NULL && strcmp(order, "FASTEST_FIRST") == 0 &&
        !are_alike(all, all_count)) {
        text_add(why, "CUDA_DEVICE_ORDER is FASTEST_FIRST and the cards are unlike, so device "
                      "numbers mean nothing outside CUDA: use UUIDs or PCI_BUS_ID");
        result = -1;
    }
    if (result == 0) {
        const struct choice *made = everything ? &seen : &listed;
        *chosen = devices_of(made);
        *count = made->count;
    }
    free(seen.at);
    free(listed.at);
    return result;
}

int devices_find(struct nvml *nvml, const char *wanted, struct nvml_device **chosen,
                 size_t *count, struct text *why)
{
    struct nvml_device *all = NULL;
    size_t all_count = 0;
    if (nvml_devices(nvml, &all, &all_count, why) != 0)
        return -1;
    int result = devices_choose(all, all_count, getenv("CUDA_VISIBLE_DEVICES"),
                                getenv("CUDA_DEVICE_ORDER"), wanted, chosen, count, why);
    free(all);
    return result;
}

void device_to_row(const struct nvml_device *device, struct row *row)
{
    struct text pci = TEXT_INIT;
    text_addf(&pci, "pci-%s", device->pci);
    row_set_text(row, COLUMN_device_name, device->name[0] != '\0' ? device->name : NULL);
    row_set_text(row, COLUMN_device_uuid, device->uuid);
    row_set_text(row, COLUMN_device_pci, text_string(&pci));
    row_set_count(row, COLUMN_nvml_index, device->index);
    text_release(&pci);
}
