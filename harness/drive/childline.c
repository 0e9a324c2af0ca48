#include "harness/drive/childline.h"
#include "kernels/backends.h"

static void add_count(struct words *words, const char *name, uint64_t value)
{
    words_addf(words, "--%s=%llu", name, (unsigned long long)value);
}

void childline_add(struct words *words, const struct study *study, const struct plan_run *run)
{
    words_add(words, "highwater-workload");
    words_add(words, study->setting.workload->name);
    for (int i = 0; i < DIMENSIONS; i++)
        if (run->point.value[i].known)
            add_count(words, dimension_facts[i].name, run->point.value[i].value);
    words_addf(words, "--dtype=%s", dtype_names[study->setting.dtype]);
    add_count(words, "warmup", study->setting.warmup);
    add_count(words, "repeats", study->setting.repeats);
    add_count(words, "seed", study->setting.seed);
    words_addf(words, "--phases=%s", run->phases == PHASES_WHOLE ? "whole" : "split");
    words_addf(words, "--empty-cache=%s", empty_cache_names[study->setting.empty_cache]);
    words_addf(words, "--backend=%s", backend_names[study->setting.backend]);
    words_add(words, "--ordinal=0"); /* each child sees one device */
    words_addf(words, "--allocator=%s", study->setting.memory.allocator);
    words_add_options(words, allocator_options, &study->setting.memory.allocator_setting);
    if (study->setting.workload->options != NULL)
        words_add_options(words, study->setting.workload->options, study->setting.options);
}
