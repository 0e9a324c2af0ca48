/* Writing a made model to a folder: config.json and one or several safetensors files. */
#ifndef HIGHWATER_TESTS_MODEL_FILES_H
#define HIGHWATER_TESTS_MODEL_FILES_H

#include "tests/unit/kernels/model_folder.h"

static void write_file(const char *folder, const char *name, const void *bytes, size_t length)
{
    struct text why = TEXT_INIT;
    char *path = xasprintf("%s/%s", folder, name);
    demand(file_replace(path, bytes, length, &why) == 0, text_string(&why));
    free(path);
    text_release(&why);
}

/* Length, header, data. */
static void write_safetensors(const char *folder, const char *name, const struct text *header,
                              const struct text *data)
{
    struct text file = TEXT_INIT;
    for (int i = 0; i < 8; i++)
        text_add_char(&file, (char)(header->length >> 8 * i & 255));
    text_add_bytes(&file, header->data, header->length);
    if (data && data->length)
        text_add_bytes(&file, data->data, data->length);
    write_file(folder, name, file.data, file.length);
    text_release(&file);
}

static void add_tensor(const struct made_tensor *tensor, enum dtype stored, struct text *header,
                       struct text *data)
{
    static const char *const names[] = {"F32", "F16", "BF16"};
    uint64_t count = tensor->rows * (tensor->features ? tensor->features : 1);
    uint64_t bytes = count * dtype_bytes(stored);
    char *narrow = xmalloc(bytes);
    struct array to = {(uint64_t)(uintptr_t)narrow, stored};
    host_store(to, 0, count, tensor->values);
    text_addf(header, "%s\"%s\": {\"dtype\": \"%s\", \"shape\": [%" PRIu64,
              header->length > 1 ? ", " : "", tensor->name, names[stored], tensor->rows);
    if (tensor->features)
        text_addf(header, ", %" PRIu64, tensor->features);
    text_addf(header, "], \"data_offsets\": [%zu, %zu]}", data->length,
              data->length + (size_t)bytes);
    text_add_bytes(data, narrow, bytes);
    free(narrow);
}

/* Tensors go to the shards in turn; one shard needs no index. */
static void write_model(const struct made_model *model, const char *config, const char *folder,
                        size_t shards)
{
    struct text index = TEXT_INIT, why = TEXT_INIT;
    demand(folder_make(folder, &why) == 0, text_string(&why));
    write_file(folder, "config.json", config, strlen(config));
    text_add(&index, "{\"metadata\": {}, \"weight_map\": {");
    for (size_t shard = 0; shard < shards; shard++) {
        struct text header = TEXT_INIT, data = TEXT_INIT;
        char name[64] = "model.safetensors";
        if (shards > 1)
            snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", shard + 1, shards);
        text_add_char(&header, '{');
        for (size_t i = shard; i < model->count; i += shards) {
            add_tensor(&model->tensors[i], model->stored, &header, &data);
            text_addf(&index, "%s\"%s\": \"%s\"", i > shard || shard ? ", " : "",
                      model->tensors[i].name, name);
        }
        text_add_char(&header, '}');
        write_safetensors(folder, name, &header, &data);
        text_release(&header);
        text_release(&data);
    }
    text_add(&index, "}}");
    if (shards > 1)
        write_file(folder, "model.safetensors.index.json", index.data, index.length);
    text_release(&index);
    text_release(&why);
}

#endif
