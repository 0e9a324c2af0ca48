#include "harness/drive/childline.h"

void childline_add(struct words *words, const struct study *study, const struct plan_run *run)
{
    const struct setting setting = plan_setting(study, &run->point, run->phases);
    words_add(words, "highwater-workload");
    words_add(words, setting.workload->name);
    setting_add_words(&setting, words); /* --ordinal=0 too: each child sees one device */
    words_add_options(words, allocator_options, &setting.memory.allocator_setting);
    if (setting.workload->options != NULL)
        words_add_options(words, setting.workload->options, setting.options);
}
