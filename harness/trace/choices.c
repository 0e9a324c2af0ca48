#include "harness/trace/choices.h"
#include "harness/base/json.h"
#include "harness/record/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

/* What is tried of each option; 0 is its default. */
static const unsigned splits_mib[] = {0, 20, 32, 64, 128, 256, 512, 1024};
static const unsigned divisions[] = {0, 2, 4, 8, 16, 32};
static const char *const thresholds[] = {"0", "0.6", "0.8", "0.9"};
static const double threshold_values[] = {0, 0.6, 0.8, 0.9};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void spell(struct allocator_choice *choice, struct text *text, const char *option,
                  const char *value)
{
    text_addf(text, "%s%s:%s", text->length ? "," : "", option, value);
    choice->options++;
}

static void add_choice(struct choices *choices, bool expandable, unsigned split_mib,
                       unsigned division, size_t threshold)
{
    struct allocator_choice choice = {.allocator = expandable ? "expandable" : "caching"};
    struct text text = TEXT_INIT;
    char number[24];
    if (expandable)
        spell(&choice, &text, "expandable_segments", "True");
    if (split_mib) {
        snprintf(number, sizeof(number), "%u", split_mib);
        choice.setting.max_split_size = reading_of(split_mib * MIB);
        spell(&choice, &text, "max_split_size_mb", number);
    }
    snprintf(number, sizeof(number), "%u", division);
    choice.setting.roundup_power2_divisions = xstrdup(number);
    if (division)
        spell(&choice, &text, "roundup_power2_divisions", number);
    choice.setting.garbage_collection_threshold = threshold_values[threshold];
    if (threshold)
        spell(&choice, &text, "garbage_collection_threshold", thresholds[threshold]);
    text_add(&text, "");
    choice.spelled = xstrdup(text_string(&text));
    text_release(&text);
    choices->list = xrealloc(choices->list, (choices->count + 1) * sizeof(*choices->list));
    choices->list[choices->count++] = choice;
}

static void list_choices(struct choices *choices)
{
    for (size_t i = 0; i < COUNT(splits_mib); i++)
        for (size_t k = 0; k < COUNT(divisions); k++)
            for (size_t l = 0; l < COUNT(thresholds); l++)
                add_choice(choices, false, splits_mib[i], divisions[k], l);
    for (size_t k = 0; k < COUNT(divisions); k++)
        add_choice(choices, true, 0, divisions[k], 0);
}

static int compare(const void *a, const void *b)
{
    const struct allocator_choice *x = a, *y = b;
    if (x->runs != y->runs)
        return x->runs ? -1 : 1;
    if (x->fit.fits != y->fit.fits)
        return x->fit.fits < y->fit.fits ? -1 : 1;
    return x->options != y->options ? x->options - y->options : strcmp(x->spelled, y->spelled);
}

int choices_compare(const struct trace *trace, const struct replay_setting *setting,
                    struct choices *choices, struct text *why)
{
    struct choices made = {0};
    struct text reason = TEXT_INIT;
    int result = 0;
    list_choices(&made); /* the defaults first */
    for (size_t i = 0; i < made.count && !result; i++) {
        struct allocator_choice *choice = &made.list[i];
        struct replay_setting own = *setting;
        own.allocator = choice->allocator;
        own.allocator_setting = choice->setting;
        text_clear(&reason);
        choice->runs = replay_find_fit(trace, &own, &choice->fit, &reason) == 0;
        if (i == 0 && !choice->runs) {
            text_add(why, text_string(&reason));
            result = -1;
        }
    }
    text_release(&reason);
    if (result) {
        choices_release(&made);
        return -1;
    }
    made.fits_by_default = made.list[0].fit.fits;
    qsort(made.list, made.count, sizeof(*made.list), compare);
    *choices = made;
    return 0;
}

static void add_saved(const struct choices *choices, const struct allocator_choice *choice,
                      struct text *out)
{
    const uint64_t with = choice->fit.fits, without = choices->fits_by_default;
    text_addf(out, "%s%" PRIu64, with > without ? "-" : "",
              with > without ? with - without : without - with);
}

static void add_option_cells(const struct allocator_choice *choice, struct text *out)
{
    const struct allocator_setting *setting = &choice->setting;
    text_addf(out, ",%s,%s,", choice->allocator, setting->roundup_power2_divisions);
    if (setting->max_split_size.known)
        csv_add_count(out, setting->max_split_size.value);
    text_addf(out, ",%g,", setting->garbage_collection_threshold);
    csv_add_text(out, choice->spelled);
    text_add_char(out, '\n');
}

void choices_print_csv(const struct choices *choices, struct text *out)
{
    text_add(out, "fits_at,at_least,saves,reserved_peak,allocated_peak,alloc_retries,"
                  "device_calls,allocator,roundup_power2_divisions,max_split_size,"
                  "garbage_collection_threshold,PYTORCH_CUDA_ALLOC_CONF\n");
    for (size_t i = 0; i < choices->count; i++) {
        const struct allocator_choice *choice = &choices->list[i];
        const struct replay_fit *fit = &choice->fit;
        if (choice->runs) {
            text_addf(out, "%" PRIu64 ",%s,", fit->fits, fit->at_least ? "yes" : "no");
            add_saved(choices, choice, out);
            text_addf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, fit->reserved_peak,
                      fit->allocated_peak, fit->alloc_retries, fit->device_calls);
        } else {
            text_add(out, ",,,,,,");
        }
        add_option_cells(choice, out);
    }
}

void choices_print_json(const struct choices *choices, struct text *out)
{
    struct json *document = json_make_object(), *array = json_make_array();
    json_set_text(document, "evidence", "computed");
    json_set_count(document, "fits_by_default", choices->fits_by_default);
    for (size_t i = 0; i < choices->count; i++) {
        const struct allocator_choice *choice = &choices->list[i];
        const struct replay_fit *fit = &choice->fit;
        struct json *object = json_make_object();
        json_set_text(object, "PYTORCH_CUDA_ALLOC_CONF", choice->spelled);
        json_set_text(object, "allocator", choice->allocator);
        json_set_text(object, "roundup_power2_divisions",
                      choice->setting.roundup_power2_divisions);
        json_set_reading(object, "max_split_size", choice->setting.max_split_size);
        json_set_real(object, "garbage_collection_threshold",
                      choice->setting.garbage_collection_threshold);
        json_set_flag(object, "runs", choice->runs);
        if (choice->runs) {
            json_set_count(object, "fits_at", fit->fits);
            json_set_flag(object, "at_least", fit->at_least);
            json_set_count(object, "reserved_peak", fit->reserved_peak);
            json_set_count(object, "allocated_peak", fit->allocated_peak);
            json_set_count(object, "alloc_retries", fit->alloc_retries);
            json_set_count(object, "device_calls", fit->device_calls);
        }
        json_append(array, object);
    }
    json_set(document, "settings", array);
    json_write(document, out);
    json_release(document);
}

void choices_release(struct choices *choices)
{
    for (size_t i = 0; i < choices->count; i++) {
        free(choices->list[i].setting.roundup_power2_divisions);
        free(choices->list[i].spelled);
    }
    free(choices->list);
    *choices = (struct choices){0};
}
