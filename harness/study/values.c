#include "harness/study/values.h"

#include "harness/base/units.h"

#include <stdlib.h>
#include <string.h>

struct list {
    uint64_t minimum, maximum;
    uint64_t *values;
    size_t count;
};

static int refuse(struct text *why, const char *item, const char *reason)
{
    text_add(why, "\"");
    text_add_escaped(why, item, strlen(item), 60);
    return text_fail(why, "\" %s", reason);
}

static int append(struct list *list, uint64_t value, struct text *why)
{
    if (list->count == STUDY_VALUES_LIMIT)
        return text_fail(why, "more than %zu values", STUDY_VALUES_LIMIT);
    *GROW(list->values, list->count) = value;
    return 0;
}

static int parse_bounded(const struct list *list, const char *item, uint64_t *value,
                         struct text *why)
{
    uint64_t parsed;
    if (parse_count(item, &parsed, why) != 0)
        return -1;
    if (parsed < list->minimum || parsed > list->maximum) {
        refuse(why, item, "is out of range");
        return text_fail(why, " (%llu to %llu)", (unsigned long long)list->minimum,
                         (unsigned long long)list->maximum);
    }
    *value = parsed;
    return 0;
}

/* start:stop:+step or start:stop:xfactor. `item` is cut into its parts. */
static int append_range(struct list *list, const char *whole, char *item, struct text *why)
{
    char *stop_text = strchr(item, ':') + 1;
    char *way = strchr(stop_text, ':');
    uint64_t start, stop, by;
    if (!way || (way[1] != '+' && way[1] != 'x'))
        return refuse(why, whole, "is not a range: start:stop:+step or start:stop:xfactor");
    stop_text[-1] = '\0';
    *way++ = '\0';
    if (parse_bounded(list, item, &start, why) != 0 ||
        parse_bounded(list, stop_text, &stop, why) != 0 || parse_count(way + 1, &by, why) != 0)
        return -1;
    if (start > stop)
        return refuse(why, whole, "ends below its start");
    if (by < (*way == 'x' ? 2 : 1))
        return refuse(why, whole, *way == 'x' ? "grows by a factor below 2" : "has step 0");
    for (uint64_t value = start;;) {
        uint64_t next;
        if (append(list, value, why) != 0)
            return -1;
        int over =
            *way == 'x' ? multiply_checked(value, by, &next) : add_checked(value, by, &next);
        if (over != 0 || next > stop)
            return 0;
        value = next;
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* A value listed twice would be two runs of one name. */
static int check_once(const struct list *list, struct text *why)
{
    uint64_t *sorted = xmalloc(list->count * sizeof *sorted);
    int outcome = 0;
    memcpy(sorted, list->values, list->count * sizeof *sorted);
    qsort(sorted, list->count, sizeof *sorted, by_value);
    for (size_t i = 1; i < list->count && outcome == 0; i++) {
        if (sorted[i] == sorted[i - 1]) {
            text_addf(why, "%llu is listed twice (`trials` repeats a point)",
                      (unsigned long long)sorted[i]);
            outcome = -1;
        }
    }
    free(sorted);
    return outcome;
}

static int append_item(struct list *list, const char *bytes, size_t length, struct text *why)
{
    while (length > 0 && strchr(" \t", *bytes)) {
        bytes++;
        length--;
    }
    while (length > 0 && strchr(" \t", bytes[length - 1]))
        length--;
    char *whole = xstrndup(bytes, length);
    char *item = xstrndup(bytes, length);
    int outcome = -1;
    uint64_t value;
    if (length == 0)
        text_add(why, "a value is missing");
    else if (strchr(item, ':'))
        outcome = append_range(list, whole, item, why);
    else if (parse_bounded(list, item, &value, why) == 0)
        outcome = append(list, value, why);
    free(whole);
    free(item);
    return outcome;
}

int values_parse(const char *text, uint64_t minimum, uint64_t maximum, uint64_t **values,
                 size_t *count, struct text *why)
{
    struct list list = {.minimum = minimum, .maximum = maximum};
    int outcome = 0;
    const char *at = text;
    for (;;) {
        size_t length = strcspn(at, ",");
        outcome = append_item(&list, at, length, why);
        if (outcome != 0 || at[length] == '\0')
            break;
        at += length + 1;
    }
    if (outcome == 0)
        outcome = check_once(&list, why);
    if (outcome == 0) {
        *values = list.values;
        *count = list.count;
    } else {
        free(list.values);
    }
    return outcome;
}
