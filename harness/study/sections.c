#include "harness/study/interpret.h"
#include "harness/study/sections.h"
#include "harness/study/study_options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SECTION_KEYS 64

/* Keys already met in a section. */
struct met {
    const struct option *option[SECTION_KEYS];
    size_t line[SECTION_KEYS];
    size_t count;
};

static const struct option *find_exact(const struct option *table, const char *key)
{
    for (; table && table->name; table++)
        if (strcmp(table->name, key) == 0)
            return table;
    return NULL;
}

static const char *elsewhere(const char *key)
{
    for (const struct study_table *table = study_tables; table->section; table++)
        if (find_exact(table->options, key))
            return table->section;
    for (size_t i = 0; workloads[i]; i++)
        if (find_exact(workloads[i]->options, key))
            return workloads[i]->name;
    return NULL;
}

static void complain_unknown(const struct document_section *section,
                             const struct document_key *key, const struct study_scope *scopes,
                             struct complaints *complaints)
{
    const struct option *tables[STUDY_SCOPES] = {NULL};
    for (size_t i = 0; scopes[i].options; i++)
        tables[i] = scopes[i].options;
    const char *nearest = option_nearest(tables, key->name);
    const char *other = elsewhere(key->name);
    if (nearest)
        complain(complaints, COMPLAINT_UNKNOWN, key_subject(section, key),
                 "unknown key \"%s\" in [%s]; did you mean \"%s\"?", key->name, section->name,
                 nearest);
    else if (other)
        complain(complaints, COMPLAINT_UNKNOWN, key_subject(section, key),
                 "unknown key \"%s\" in [%s]; it belongs in [%s]", key->name, section->name,
                 other);
    else
        complain(complaints, COMPLAINT_UNKNOWN, key_subject(section, key),
                 "unknown key \"%s\" in [%s]", key->name, section->name);
}

const char *study_comment_hint(const char *value)
{
    return strstr(value, " #") ? " (a comment after a value starts with ;)" : "";
}

static void take_key(const struct document_section *section, const struct document_key *key,
                     const struct study_scope *scopes, struct met *met,
                     struct complaints *complaints)
{
    const struct option *option = NULL;
    const struct study_scope *scope = scopes;
    for (; scope->options && !option; scope += option ? 0 : 1)
        option = find_exact(scope->options, key->name);
    if (!option) {
        complain_unknown(section, key, scopes, complaints);
        return;
    }
    for (size_t i = 0; i < met->count; i++) {
        if (met->option[i] == option) {
            complain(complaints, COMPLAINT_TWICE, key_subject(section, key),
                     "key \"%s\" is already in line %zu", key->name, met->line[i]);
            return;
        }
    }
    assert(met->count < SECTION_KEYS);
    met->option[met->count] = option;
    met->line[met->count++] = key->line;
    struct text why = TEXT_INIT;
    if (option_set(option, scope->target, key->value, &why) != 0)
        complain(complaints, COMPLAINT_VALUE, key_subject(section, key), "%s%s",
                 text_string(&why), study_comment_hint(key->value));
    text_release(&why);
}

static void miss_keys(const struct document_section *section, const char *name,
                      const struct option *option, const struct met *met,
                      struct complaints *complaints)
{
    for (; option->name; option++) {
        bool given = option->fallback != NULL;
        for (size_t i = 0; i < met->count && !given; i++)
            given = met->option[i] == option;
        if (!given)
            complain(complaints, COMPLAINT_MISSING,
                     (struct subject){name, option->name, section ? section->line : 0},
                     "[%s] needs the key \"%s\"", name, option->name);
    }
}

void study_take_section(const struct document_section *section, const char *name,
                        const struct study_scope *scopes, struct complaints *complaints)
{
    struct met met = {.count = 0};
    for (size_t i = 0; section && i < section->count; i++)
        take_key(section, &section->keys[i], scopes, &met, complaints);
    if (section && section->malformed)
        return;
    for (; scopes->options; scopes++)
        miss_keys(section, name, scopes->options, &met, complaints);
}

static void take_fixed_sections(const struct document *document, struct study *study,
                                struct complaints *complaints)
{
    for (const struct study_table *table = study_tables; table->section;) {
        const char *name = table->section;
        struct study_scope scopes[STUDY_SCOPES] = {{NULL, NULL}};
        for (size_t i = 0; table->section && strcmp(table->section, name) == 0; i++, table++) {
            assert(i + 1 < STUDY_SCOPES);
            scopes[i] = (struct study_scope){table->options, (char *)study + table->offset};
        }
        const struct document_section *section = document_find(document, name);
        if (section || !document->malformed)
            study_take_section(section, name, scopes, complaints);
    }
}

static void choose_workload(const struct document *document, struct study *study,
                            struct complaints *complaints)
{
    const char *names[32] = {NULL};
    size_t count = 0;
    for (; workloads[count] && count + 1 < 32; count++)
        names[count] = workloads[count]->name;
    if (!study->workload_name)
        return;
    study->setting.workload = workload_find(study->workload_name);
    if (study->setting.workload)
        return;
    struct subject about = document_subject(document, "study", "workload");
    for (size_t i = 0; later_workloads[i]; i++) {
        if (strcmp(later_workloads[i], study->workload_name) == 0) {
            complain(complaints, COMPLAINT_VALUE, about, "workload: \"%s\" is not yet possible",
                     study->workload_name);
            return;
        }
    }
    struct text reason = TEXT_INIT;
    const char *nearest = text_nearest(study->workload_name, names);
    text_add(&reason, "workload: \"");
    text_add_escaped(&reason, study->workload_name, strlen(study->workload_name), 60);
    text_add(&reason, nearest ? "\" is unknown" : "\" is none of");
    for (size_t i = 0; i < count && !nearest; i++)
        text_addf(&reason, "%s %s", i ? "," : "", names[i]);
    if (nearest)
        text_addf(&reason, "; did you mean \"%s\"?", nearest);
    if (study->workload_name[0] == '\0')
        text_setf(&reason, "workload: a name is missing");
    complain(complaints, COMPLAINT_VALUE, about, "%s", text_string(&reason));
    text_release(&reason);
}

static void take_own_section(const struct document *document, struct study *study,
                             struct complaints *complaints)
{
    const struct workload *workload = study->setting.workload;
    if (!workload || !workload->options)
        return;
    const struct option layers[] = {point_options[DIMENSION_layers], {.name = NULL}};
    const struct document_section *own = document_find(document, workload->name);
    const struct document_section *point = document_find(document, "point");
    bool has_layers = workload->dimensions >> DIMENSION_layers & 1;
    const struct document_key *again =
        own && point && section_find(point, "layers") ? section_find(own, "layers") : NULL;
    study->setting.options = xcalloc(1, workload->options_size);
    option_defaults(workload->options, study->setting.options);
    struct study_scope scopes[] = {{workload->options, study->setting.options},
                                   {has_layers ? layers : NULL, &study->setting.point},
                                   {NULL, NULL}};
    study_take_section(own, workload->name, scopes, complaints);
    if (again && has_layers)
        complain(complaints, COMPLAINT_TWICE, key_subject(own, again),
                 "layers: given in [point] too");
}

void study_check_dimensions(const struct document_section *section, const struct study *study,
                            struct complaints *complaints)
{
    for (size_t i = 0; section && study->setting.workload && i < section->count; i++) {
        int dimension = dimension_find(section->keys[i].name);
        if (dimension >= 0 && !(study->setting.workload->dimensions >> dimension & 1))
            complain(complaints, COMPLAINT_UNKNOWN, key_subject(section, &section->keys[i]),
                     "workload %s has no dimension \"%s\"", study->setting.workload->name,
                     section->keys[i].name);
    }
}

/* What the workload's options decide (a model's own width) unless [point] says it too; whether
 * the two agree is for the workload to check. */
static void fix_dimensions(const struct document *document, struct study *study)
{
    const struct document_section *point = document_find(document, "point");
    for (int i = 0; i < DIMENSIONS && study->setting.workload && study->setting.workload->fixed;
         i++) {
        struct reading fixed =
            study->setting.workload->fixed((enum dimension)i, study->setting.options);
        if (fixed.known && !section_find(point, dimension_facts[i].name))
            study->setting.point.value[i] = fixed;
    }
}

void study_fill(const struct document *document, struct study *study,
                struct complaints *complaints)
{
    *study = (struct study){.name = NULL};
    for (const struct study_table *table = study_tables; table->section; table++)
        option_defaults(table->options, (char *)study + table->offset);
    take_fixed_sections(document, study, complaints);
    choose_workload(document, study, complaints);
    take_own_section(document, study, complaints);
    for (int i = 0; i < DIMENSIONS; i++)
        study->setting.point.value[i].known =
            study->setting.workload && study->setting.workload->dimensions >> i & 1;
    study_check_dimensions(document_find(document, "point"), study, complaints);
    fix_dimensions(document, study);
    for (size_t i = 0; i < document->count; i++)
        study_take_named(&document->sections[i], study, complaints);
}
