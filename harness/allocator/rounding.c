#include "harness/allocator/rounding.h"
#include "harness/base/units.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static unsigned log2_floor(uint64_t n)
{
    return 63u - (unsigned)__builtin_clzll(n);
}

static bool is_power_of_two(uint64_t n)
{
    return n && (n & (n - 1)) == 0;
}

static size_t entry_of(uint64_t bytes)
{
    const unsigned log = log2_floor(bytes);
    if (log <= 20)
        return 0;
    return log - 20 < ROUNDING_ENTRIES ? log - 20 : ROUNDING_ENTRIES - 1;
}

static int parse_divisions(const char *string, uint64_t *out, struct text *why)
{
    uint64_t n;
    if (parse_count(string, &n, why))
        return -1;
    if (n && !is_power_of_two(n))
        return text_fail(why, "%s divisions: must be 0 or a power of two", string);
    *out = n;
    return 0;
}

/* One "KEY:DIVISIONS" of a list. `last` is the entry of the key before, -1 at the first. */
static int parse_pair(char *pair, int *last, struct rounding *rounding, struct text *why)
{
    char *colon = strchr(pair, ':');
    if (!colon)
        return text_fail(why, "\"%s\" is not MIB:DIVISIONS", pair);
    *colon = '\0';
    uint64_t divisions, key;
    if (parse_divisions(colon + 1, &divisions, why))
        return -1;
    if (strcmp(pair, ">") == 0) {
        if (*last < 0)
            return text_fail(why, "\">\" needs a size before it");
        for (size_t i = (size_t)*last + 1; i < ROUNDING_ENTRIES; i++)
            rounding->divisions[i] = divisions;
        return 0;
    }
    if (parse_count(pair, &key, why))
        return -1;
    if (!is_power_of_two(key))
        return text_fail(why, "%s MiB is not a power of two", pair);
    const unsigned log = log2_floor(key);
    const size_t entry = log < ROUNDING_ENTRIES ? log : ROUNDING_ENTRIES - 1;
    for (size_t i = *last < 0 ? 0 : entry; i <= entry; i++)
        rounding->divisions[i] = divisions;
    *last = (int)entry;
    return 0;
}

static int parse_list(char *list, struct rounding *rounding, struct text *why)
{
    size_t length = strlen(list);
    if (length < 2 || list[length - 1] != ']')
        return text_fail(why, "a list ends with \"]\"");
    list[length - 1] = '\0';
    int last = -1;
    for (char *next = list + 1; next;) {
        char *pair = next;
        next = strchr(pair, ',');
        if (next)
            *next++ = '\0';
        if (parse_pair(pair, &last, rounding, why))
            return -1;
    }
    return 0;
}

int rounding_parse(const char *string, struct rounding *rounding, struct text *why)
{
    struct rounding parsed = {{0}};
    if (!string || !*string) {
        *rounding = parsed;
        return 0;
    }
    int result = 0;
    if (*string == '[') {
        /* blanks are ignored, as PyTorch does */
        char *list = xstrdup(string), *to = list;
        for (const char *from = string; *from; from++) {
            if (*from != ' ')
                *to++ = *from;
        }
        *to = '\0';
        result = parse_list(list, &parsed, why);
        free(list);
    } else {
        uint64_t divisions = 0;
        result = parse_divisions(string, &divisions, why);
        for (size_t i = 0; i < ROUNDING_ENTRIES; i++)
            parsed.divisions[i] = divisions;
    }
    if (!result)
        *rounding = parsed;
    return result;
}

uint64_t rounding_apply(const struct rounding *rounding, uint64_t bytes)
{
    if (bytes < ROUNDING_MINIMUM)
        return ROUNDING_MINIMUM;
    const uint64_t divisions = rounding->divisions[entry_of(bytes)];
    if (divisions <= 1 || divisions > bytes / ROUNDING_MINIMUM ||
        bytes <= ROUNDING_MINIMUM * divisions)
        return round_up(bytes, ROUNDING_MINIMUM);
    if (is_power_of_two(bytes))
        return bytes;
    const uint64_t step = ((uint64_t)1 << log2_floor(bytes)) / divisions;
    return round_up(bytes, step);
}
