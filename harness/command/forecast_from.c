#include "harness/command/forecast_from.h"
#include "harness/command/forecast_folder.h"
#include "harness/base/file.h"
#include "harness/base/units.h"
#include "harness/study/card_list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const struct take *x = a, *y = b;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* "2=a.trace.csv" */
static int read_operand(const char *operand, struct take *take, struct text *why)
{
    const char *equals = strchr(operand, '=');
    struct text reason = TEXT_INIT;
    uint64_t value = 0;
    if (!equals) {
        text_addf(why, "%s: a recording is given as VALUE=TRACE.csv", operand);
        return -1;
    }
    char *word = xstrndup(operand, (size_t)(equals - operand));
    int result = parse_count(word, &value, &reason);
    if (!result && (value == 0 || value >= (uint64_t)1 << 32)) {
        text_add(&reason, "a value lies between 1 and 2^32");
        result = -1;
    }
    if (result)
        text_addf(why, "%s: %s", operand, text_string(&reason));
    else
        result = take_read(equals + 1, value, take, why);
    text_release(&reason);
    free(word);
    return result;
}

static int read_operands(const struct forecast_source *source, struct forecast_found *found,
                         struct text *why)
{
    found->takes = xcalloc(source->count, sizeof(*found->takes));
    for (size_t i = 0; i < source->count; i++) {
        if (read_operand(source->operands[i], &found->takes[i], why))
            return -1;
        found->take_count++;
    }
    return 0;
}

bool forecast_is_folder(const char *operand)
{
    return !strchr(operand, '=');
}

int forecast_find(const struct forecast_source *source, struct forecast_found *found,
                  struct text *why)
{
    *found = (struct forecast_found){0};
    const bool folder = source->count == 1 && forecast_is_folder(source->operands[0]);
    const int result =
        folder ? forecast_folder_read(source, found, why) : read_operands(source, found, why);
    if (found->take_count)
        qsort(found->takes, found->take_count, sizeof(*found->takes), compare);
    return result;
}

void forecast_found_release(struct forecast_found *found)
{
    for (size_t i = 0; i < found->take_count; i++)
        take_release(&found->takes[i]);
    free(found->takes);
    free(found->allocator);
    free(found->settings);
    *found = (struct forecast_found){0};
}

int forecast_cards_read(const char *path, struct reading outside, struct forecast_card **cards,
                        size_t *count, struct text *why)
{
    struct card_list list;
    if (card_list_read(path, &list, why))
        return -1;
    *cards = xcalloc(list.count + 1, sizeof(**cards));
    for (size_t i = 0; i < list.count; i++) {
        const struct card_line *line = &list.lines[i];
        const uint64_t reserve = line->reserve.known ? line->reserve.value : 0;
        (*cards)[i] = (struct forecast_card){
            .name = xstrdup(line->name),
            .capacity = reading_of(line->capacity > reserve ? line->capacity - reserve : 0),
            .outside = line->outside.known ? line->outside : outside};
    }
    *count = list.count;
    card_list_release(&list);
    return 0;
}
