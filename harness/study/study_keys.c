#include "harness/study/study_options.h"

#include <string.h>

static void add_workload(const struct workload *workload, struct text *out)
{
    text_addf(out, "\n[%s]  of workload = %s, %s; has", workload->name, workload->name,
              workload->summary);
    for (int i = 0; i < DIMENSIONS; i++)
        if (workload->dimensions >> i & 1)
            text_addf(out, " %s", dimension_facts[i].name);
    text_add_char(out, '\n');
    if (workload->options)
        option_help_keys(workload->options, out);
    else
        text_add(out, "  no keys\n");
}

void study_keys_help(struct text *out)
{
    const char *before = "";
    for (const struct study_table *table = study_tables; table->section; table++) {
        if (strcmp(table->section, before) != 0)
            text_addf(out, "\n[%s]\n", table->section);
        before = table->section;
        option_help_keys(table->options, out);
    }
    for (size_t i = 0; workloads[i]; i++)
        add_workload(workloads[i], out);
    for (const struct study_kind *kind = study_kinds; kind->name; kind++) {
        text_addf(out, "\n[%s %s]  %s\n", kind->name, kind->argument, kind->help);
        if (kind->options == point_options)
            text_add(out, "  the dimensions of [point]\n");
        else
            option_help_keys(kind->options, out);
    }
}
