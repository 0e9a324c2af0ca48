#include "harness/setting/setting.h"

const char *const empty_cache_names[] = {"never", "between-repeats", "between-phases", NULL};

#define MANY UINT64_C(1000000000000)
#define THINGS UINT64_C(1000000)
const struct option point_options[] = {
#define DIMENSION(name_, unit_, fallback_, maximum_, asked_, meaning_)                         \
    {.name = #name_,                                                                           \
     .type = OPTION_COUNT,                                                                     \
     .offset = offsetof(struct point, value[DIMENSION_##name_].value),                         \
     .minimum = 1,                                                                             \
     .maximum = maximum_,                                                                      \
     .fallback = fallback_,                                                                    \
     .help = "N: " meaning_},
#include "harness/record/dimension.def"
#undef DIMENSION
    {.name = NULL}};

#define COLUMN_IF_IN_COLUMN(name_) COLUMN_##name_
#define COLUMN_IF_OF_RUN(name_) COLUMNS
#define CHILD(name_, member_, type_, role_, teller_, help_, ...)                               \
    {.name = #name_,                                                                           \
     .type = OPTION_##type_,                                                                   \
     .offset = offsetof(struct setting, member_),                                              \
     .help = help_,                                                                            \
     .about = &(const struct setting_about){KEY_##role_, COLUMN_IF_##role_(name_),             \
                                            TOLD_OF_##teller_},                                \
     __VA_ARGS__},
#define SETTING CHILD
#define KEY(...)
#define KEYS_OF_POINT
#define KEYS_OF_STUDY
#define KEYS_OF_DEVICE
const struct option setting_options[] = {
#define DIMENSION(name_, unit_, fallback_, maximum_, asked_, meaning_)                         \
    CHILD(name_, point.value[DIMENSION_##name_], MAYBE_COUNT, IN_COLUMN, WORK, "N: " meaning_, \
          .minimum = 1, .maximum = maximum_)
#include "harness/record/dimension.def"
#include "harness/setting/settings.def"
    {.name = NULL}};

static const struct setting_about *about(const struct option *option)
{
    return option->about;
}

void setting_add_words(const struct setting *setting, struct words *words)
{
    for (enum setting_teller teller = TOLD_OF_WORK; teller <= TOLD_OF_DEVICE; teller++)
        for (const struct option *option = setting_options; option->name; option++)
            if (about(option)->teller == teller)
                words_add_option(words, option, setting);
}

void setting_to_row(const struct setting *setting, struct row *row)
{
    for (const struct option *option = setting_options; option->name; option++)
        if (about(option)->column != COLUMNS)
            setting_to_cell(option, setting, (int)about(option)->column, row);
}

void setting_to_cell(const struct option *option, const void *target, int column,
                     struct row *row)
{
    struct text value = TEXT_INIT;
    option_format(option, target, &value);
    if (column >= 0 && column_facts[column].type == COLUMN_TYPE_TEXT)
        row_set_text(row, (enum column)column, text_string(&value));
    else if (column >= 0 &&
             row_parse_cell(row, (enum column)column, text_string(&value), value.length) != 0)
        row_clear(row, (enum column)column);
    text_release(&value);
}
