/* blocks: the sections with an argument ([input …], [sweep …], [boundary …]), and every section
 * that has no place in a study. */
#include "harness/study/interpret.h"
#include "harness/study/sections.h"
#include "harness/study/study_options.h"
#include "harness/study/values.h"

#include <stdlib.h>
#include <string.h>

bool study_name_is_good(const char *name, size_t limit)
{
    static const char first[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static const char rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "._-";
    return strspn(name, first) > 0 && strspn(name, rest) == strlen(name) &&
           strlen(name) <= limit;
}

/* The dimension that a section is about, or -1 with a complaint. */
static int dimension_of(const struct document_section *section, const char *argument,
                        const struct study *study, struct complaints *complaints)
{
    const char *names[DIMENSIONS + 1] = {NULL};
    for (int i = 0; i < DIMENSIONS; i++)
        names[i] = dimension_facts[i].name;
    int dimension = dimension_find(argument);
    const char *nearest = text_nearest(argument, names);
    if (dimension < 0 && nearest)
        complain(complaints, COMPLAINT_UNKNOWN, section_subject(section),
                 "[%s]: no such dimension; did you mean \"%s\"?", section->name, nearest);
    else if (dimension < 0)
        complain(complaints, COMPLAINT_UNKNOWN, section_subject(section),
                 "[%s]: no such dimension", section->name);
    else if (study->setting.workload && !(study->setting.workload->dimensions >> dimension & 1))
        complain(complaints, COMPLAINT_UNKNOWN, section_subject(section),
                 "[%s]: workload %s has no %s, or ignores it", section->name,
                 study->setting.workload->name, argument);
    else
        return dimension;
    return -1;
}

static void take_input(const struct document_section *section, const char *name,
                       struct study *study, struct complaints *complaints)
{
    if (!study_name_is_good(name, STUDY_INPUT_NAME)) {
        complain(complaints, COMPLAINT_VALUE, section_subject(section),
                 "[%s]: a name starts with a letter or digit, then letters, digits, \".\", "
                 "\"_\" and \"-\"; at most %d bytes",
                 section->name, STUDY_INPUT_NAME);
        return;
    }
    struct study_input input = {.name = xstrdup(name), .point = study->setting.point};
    const struct study_scope scopes[] = {{point_options, &input.point}, {NULL, NULL}};
    study_take_section(section, section->name, scopes, complaints);
    study_check_dimensions(section, study, complaints);
    *GROW(study->inputs, study->input_count) = input;
}

static void take_sweep(const struct document_section *section, const char *argument,
                       struct study *study, struct complaints *complaints)
{
    struct sweep_text text = {NULL};
    struct text why = TEXT_INIT;
    const struct study_scope scopes[] = {{sweep_options, &text}, {NULL, NULL}};
    study_take_section(section, section->name, scopes, complaints);
    int dimension = dimension_of(section, argument, study, complaints);
    struct study_sweep sweep = {.values = NULL};
    if (dimension >= 0 && text.values) {
        const struct option *bounds = &point_options[dimension];
        sweep.dimension = (enum dimension)dimension;
        if (values_parse(text.values, bounds->minimum, bounds->maximum, &sweep.values,
                         &sweep.count, &why) != 0) {
            complain(complaints, COMPLAINT_VALUE,
                     key_subject(section, section_find(section, "values")), "values: %s%s",
                     text_string(&why), study_comment_hint(text.values));
        } else {
            *GROW(study->sweeps, study->sweep_count) = sweep;
        }
    }
    text_release(&why);
    free(text.values);
}

static void take_boundary(const struct document_section *section, const char *argument,
                          struct study *study, struct complaints *complaints)
{
    struct study_boundary boundary;
    const struct study_scope scopes[] = {{boundary_options, &boundary}, {NULL, NULL}};
    option_defaults(boundary_options, &boundary);
    study_take_section(section, section->name, scopes, complaints);
    int dimension = dimension_of(section, argument, study, complaints);
    if (dimension < 0)
        return;
    boundary.dimension = (enum dimension)dimension;
    if (section_find(section, "to") && boundary.to < boundary.from)
        complain(complaints, COMPLAINT_TOGETHER,
                 key_subject(section, section_find(section, "to")),
                 "to: %llu is below from (%llu)", (unsigned long long)boundary.to,
                 (unsigned long long)boundary.from);
    *GROW(study->boundaries, study->boundary_count) = boundary;
}

static const struct study_kind *find_kind(const char *name)
{
    for (const struct study_kind *kind = study_kinds; kind->name; kind++)
        if (strcmp(kind->name, name) == 0)
            return kind;
    return NULL;
}

static bool is_listed(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

static void complain_unknown(const struct document_section *section,
                             struct complaints *complaints)
{
    const char *names[32] = {NULL};
    size_t count = 0;
    for (const struct study_table *table = study_tables; table->section; table++)
        if (!is_listed(table->section, names))
            names[count++] = table->section;
    for (const struct study_kind *kind = study_kinds; kind->name; kind++)
        names[count++] = kind->name;
    for (size_t i = 0; workloads[i] && count + 1 < 32; i++)
        names[count++] = workloads[i]->name;
    /* "swep batch" is judged by its first word. */
    char *word = xstrndup(section->name, strcspn(section->name, " "));
    const char *nearest = text_nearest(word, names);
    const struct study_kind *kind = find_kind(word);
    if (kind)
        complain(complaints, COMPLAINT_MISSING, section_subject(section),
                 "[%s] needs a name: [%s %s]", section->name, word, kind->argument);
    else if (nearest && strcmp(nearest, section->name) != 0)
        complain(complaints, COMPLAINT_UNKNOWN, section_subject(section),
                 "unknown section [%s]; did you mean [%s%s]?", section->name, nearest,
                 find_kind(nearest) ? section->name + strlen(word) : "");
    else
        complain(complaints, COMPLAINT_UNKNOWN, section_subject(section),
                 "unknown section [%s]", section->name);
    free(word);
}

static bool is_fixed(const char *name)
{
    for (const struct study_table *table = study_tables; table->section; table++)
        if (strcmp(name, table->section) == 0)
            return true;
    return false;
}

bool study_is_setting(const struct document_section *section)
{
    return is_fixed(section->name) || workload_find(section->name) ||
           is_listed(section->name, later_workloads);
}

void study_take_named(const struct document_section *section, struct study *study,
                      struct complaints *complaints)
{
    const char *argument;
    if (section->duplicate || is_fixed(section->name))
        return;
    if ((argument = section_argument(section, "input")))
        take_input(section, argument, study, complaints);
    else if ((argument = section_argument(section, "sweep")))
        take_sweep(section, argument, study, complaints);
    else if ((argument = section_argument(section, "boundary")))
        take_boundary(section, argument, study, complaints);
    else if (study->setting.workload &&
             strcmp(section->name, study->setting.workload->name) == 0 &&
             study->setting.workload->options)
        return;
    else if (study->setting.workload &&
             strcmp(section->name, study->setting.workload->name) == 0)
        complain(complaints, COMPLAINT_UNKNOWN, section_subject(section),
                 "workload %s has no options", section->name);
    else if (workload_find(section->name))
        complain(complaints, COMPLAINT_UNKNOWN, section_subject(section),
                 "[%s] is of another workload than this study's", section->name);
    else if (is_listed(section->name, later_workloads))
        complain(complaints, COMPLAINT_UNKNOWN, section_subject(section),
                 "[%s]: a workload that is not yet possible", section->name);
    else
        complain_unknown(section, complaints);
}
