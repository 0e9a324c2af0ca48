/* Any bytes are a header or a refusal; of what is accepted the tensors tile the data. The first
 * two bytes say how much data there is. The same bytes are a config.json or a refusal. */
#include "harness/model/model_config.h"
#include "harness/model/safetensors.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void check_config(const char *bytes, size_t length)
{
    struct model_config config;
    struct text why = TEXT_INIT;
    if (model_config_parse("F", bytes, length, &config, &why) == 0)
        demand(model_config_parameters(&config) > 0 && why.length == 0);
    else
        demand(why.length > 0);
    text_release(&why);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct safetensors set = {.complete = true};
    struct text why = TEXT_INIT;
    uint64_t bytes = size > 1 ? (uint64_t)data[0] << 8 | data[1] : 0, sum = 0;
    const char *header = (const char *)data + (size > 1 ? 2 : 0);
    size_t length = size > 1 ? size - 2 : 0;
    if (safetensors_parse("F", header, length, 8 + length, bytes, 0, &set, &why) == 0) {
        for (size_t i = 0; i < set.tensor_count; i++)
            sum += set.tensors[i].bytes;
        demand(sum == bytes && why.length == 0);
    } else {
        demand(why.length > 0);
    }
    safetensors_release(&set);
    text_release(&why);
    check_config(header, length);
    return 0;
}
