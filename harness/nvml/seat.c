#include "harness/nvml/seat.h"
#include "harness/nvml/devices.h"

#include <stdlib.h>
#include <string.h>

#define UUID "uuid" /* the member that is no option: its room is of a fixed size */
#define MEMBER(name_, type_, fallback_)                                                        \
    {                                                                                          \
        .name = #name_, .type = type_, .offset = offsetof(struct seat, name_),                 \
        .fallback = fallback_                                                                  \
    }
static const struct option members[] = {
    MEMBER(capacity, OPTION_MAYBE_SIZE, ""), MEMBER(overhead, OPTION_SIZE, "0"),
    MEMBER(limit, OPTION_MAYBE_SIZE, ""),    MEMBER(baseline, OPTION_MAYBE_SIZE, ""),
    MEMBER(shared, OPTION_FLAG, "no"),       {.name = NULL},
};

bool seat_has_card(const struct seat *seat)
{
    return seat->card.uuid[0] != '\0';
}

int seat_look(struct seat *seat, struct nvml *nvml, struct text *why)
{
    struct nvml_memory memory;
    bool lost = false;
    if (nvml_read_memory(nvml, &seat->card, &memory, &lost, why) != 0)
        return -1;
    uint64_t reserved = memory.reserved.known ? memory.reserved.value : 0;
    seat->capacity = reading_of(memory.total.value - reserved);
    seat->baseline = memory.used;
    return 0;
}

struct reading seat_usable(const struct seat *seat)
{
    uint64_t bytes = seat->capacity.value;
    if (!seat->capacity.known)
        return reading_missing();
    return reading_of(bytes > seat->overhead ? bytes - seat->overhead : 0);
}

void seats_mark_shared(struct seat *seats, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (i != j && strcmp(seats[i].card.uuid, seats[j].card.uuid) == 0)
                seats[i].shared = true;
}

/* --- as a word --- */

static void add_member(const char *name, const char *value, struct text *out)
{
    text_addf(out, "%s%s=%s", out->length > 0 ? "," : "", name, value);
}

void seat_format(const struct seat *seat, struct text *out)
{
    struct text word = TEXT_INIT, value = TEXT_INIT;
    if (seat_has_card(seat))
        add_member(UUID, seat->card.uuid, &word);
    for (const struct option *member = members; member->name != NULL; member++) {
        text_clear(&value);
        option_format(member, seat, &value);
        if (strcmp(text_string(&value), member->fallback) != 0)
            add_member(member->name, text_string(&value), &word);
    }
    text_add(out, text_string(&word));
    text_release(&word);
    text_release(&value);
}

static int set_member(char *member, struct seat *seat, struct text *why)
{
    char *equals = strchr(member, '=');
    const char *value = equals != NULL ? equals + 1 : "";
    if (equals != NULL)
        *equals = '\0';
    const struct option *option = option_find(members, member);
    if (equals != NULL && option != NULL)
        return option_set(option, seat, value, why);
    if (equals != NULL && strcmp(member, UUID) == 0 && strlen(value) < sizeof seat->card.uuid) {
        memcpy(seat->card.uuid, value, strlen(value) + 1);
        return 0;
    }
    return text_fail(why, "%s%s%s is nothing that a seat has", member,
                     equals != NULL ? "=" : "", value);
}

int seat_parse(const char *word, struct seat *seat, struct text *why)
{
    struct seat parsed = {.shared = false};
    char *copy = xstrdup(word), *rest = copy;
    int result = 0;
    while (result == 0 && rest != NULL && *rest != '\0')
        result = set_member(strsep(&rest, ","), &parsed, why);
    if (result == 0)
        *seat = parsed;
    free(copy);
    return result;
}

/* --- what others are told of it --- */

void seat_add_words(const struct seat *seat, struct words *words)
{
    bool card = seat_has_card(seat);
    struct reading bytes = card ? seat->limit : seat->capacity;
    if (bytes.known)
        words_addf(words, "--capacity=%llu", (unsigned long long)bytes.value);
    if (!card && seat->overhead > 0)
        words_addf(words, "--overhead=%llu", (unsigned long long)seat->overhead);
    if (card)
        words_addf(words, "--expect-uuid=%s", seat->card.uuid);
}

void seat_add_environment(const struct seat *seat, struct words *environment)
{
    if (!seat_has_card(seat))
        return;
    words_addf(environment, "CUDA_VISIBLE_DEVICES=%s", seat->card.uuid);
    if (getenv("CUDA_DEVICE_ORDER") == NULL)
        words_add(environment, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
}

void seat_to_row(const struct seat *seat, struct row *row)
{
    if (!seat_has_card(seat)) {
        row_set_reading(row, COLUMN_device_capacity_bytes, seat->capacity);
        return;
    }
    device_to_row(&seat->card, row);
    row_set_text(row, COLUMN_shared_device, seat->shared ? "yes" : NULL);
}
