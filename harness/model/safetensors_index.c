/* safetensors_index.c: the files of a model together: one file, or an index with its shards. */
#include "harness/base/file.h"
#include "harness/base/json.h"
#include "harness/model/safetensors.h"
#include "harness/model/safetensors_inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INDEX_NAME "model.safetensors.index.json"
#define SINGLE_NAME "model.safetensors"
enum { ISSUES_SHOWN = 20, SHARD_LIMIT = 4096 };

void safetensors_release(struct safetensors *set)
{
    for (size_t i = 0; i < set->file_count; i++) {
        free(set->files[i].path);
        close(set->files[i].fd);
    }
    for (size_t i = 0; i < set->tensor_count; i++)
        free(set->tensors[i].name);
    free(set->files);
    free(set->tensors);
    text_release(&set->issues);
    *set = (struct safetensors){0};
}

void safetensors_add_shape(const struct safetensors_tensor *tensor, struct text *out)
{
    text_add_char(out, '[');
    for (size_t i = 0; i < tensor->rank; i++)
        text_addf(out, "%s%" PRIu64, i ? ", " : "", tensor->shape[i]);
    text_add_char(out, ']');
}

static int by_name(const void *left, const void *right)
{
    const struct safetensors_tensor *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (order != 0)
        return order;
    return (a->file > b->file) - (a->file < b->file);
}

const struct safetensors_tensor *safetensors_find(const struct safetensors *set,
                                                  const char *name)
{
    size_t low = 0, high = set->tensor_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(set->tensors[middle].name, name);
        if (order == 0)
            return &set->tensors[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Sorts and sums; the bytes of all files fit 64 bits because each lies in a real file. */
static int finish(const char *path, struct safetensors *set, struct text *why)
{
    if (set->tensor_count == 0) {
        text_addf(why, "%s: no weights found", path);
        return -1;
    }
    qsort(set->tensors, set->tensor_count, sizeof(*set->tensors), by_name);
    for (size_t i = 0; i < set->tensor_count; i++)
        set->bytes += set->tensors[i].bytes;
    return 0;
}

int safetensors_open_file(const char *path, struct safetensors *out, struct text *why)
{
    struct safetensors set = {.complete = true};
    if (safetensors_append_file(path, &set, why) != 0 || finish(path, &set, why) != 0) {
        safetensors_release(&set);
        return -1;
    }
    *out = set;
    return 0;
}

/* --- index and shards --------------------------------------------------------------------- */

/* What one reading of an index gathers. */
struct gathering {
    struct safetensors set;
    const char *folder;
    const struct json *map; /* tensor name → shard */
    char **shards;          /* distinct names, in the index's order; file number or absent */
    size_t *numbers;
    size_t shard_count;
    size_t issue_count;
};

static const size_t absent = SIZE_MAX;

/* Starts one line of the list, "" past the number shown. */
static struct text *issue(struct gathering *gathering)
{
    gathering->issue_count++;
    if (gathering->issue_count > ISSUES_SHOWN)
        return NULL;
    if (gathering->set.issues.length)
        text_add_char(&gathering->set.issues, '\n');
    return &gathering->set.issues;
}

static void tensor_issue(struct gathering *gathering, const char *tensor, const char *middle,
                         const char *shard)
{
    struct text *line = issue(gathering);
    if (!line)
        return;
    text_add(line, "tensor ");
    safetensors_quote(line, tensor);
    text_add(line, middle);
    safetensors_quote(line, shard);
}

static bool leaves_folder(const char *name)
{
    if (name[0] == '/' || name[0] == 0)
        return true;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0))
            return true;
    }
    return false;
}

static size_t shard_find(const struct gathering *gathering, const char *name)
{
    for (size_t i = gathering->shard_count; i-- > 0;) {
        if (strcmp(gathering->shards[i], name) == 0)
            return i;
    }
    return absent;
}

static int collect_shards(struct gathering *gathering, const char *index, struct text *why)
{
    const char *key = NULL;
    const struct json *value = NULL;
    while (json_next(gathering->map, &key, &value)) {
        const char *name = json_text(value);
        if (!name || leaves_folder(name)) {
            text_addf(why, "%s: tensor ", index);
            safetensors_quote(why, key);
            text_add(why, name ? ": its shard lies outside the folder: " : ": names no shard");
            if (name)
                safetensors_quote(why, name);
            return -1;
        }
        if (shard_find(gathering, name) != absent)
            continue;
        if (gathering->shard_count == SHARD_LIMIT) {
            text_addf(why, "%s: more than %d shards", index, SHARD_LIMIT);
            return -1;
        }
        size_t count = gathering->shard_count + 1;
        gathering->shards = xrealloc(gathering->shards, count * sizeof(*gathering->shards));
        gathering->shards[gathering->shard_count] = xstrdup(name);
        gathering->shard_count = count;
    }
    return 0;
}

/* A shard that is not there is an issue of the set; one that lies is an error. */
static int open_shards(struct gathering *gathering, struct text *why)
{
    gathering->numbers = xmalloc((gathering->shard_count + 1) * sizeof(*gathering->numbers));
    for (size_t i = 0; i < gathering->shard_count; i++) {
        char *path = xasprintf("%s/%s", gathering->folder, gathering->shards[i]);
        int result = 0;
        gathering->numbers[i] = absent;
        if (file_exists(path)) {
            gathering->numbers[i] = gathering->set.file_count;
            result = safetensors_append_file(path, &gathering->set, why);
        } else {
            struct text *line = issue(gathering);
            gathering->set.complete = false;
            if (line) {
                text_add(line, "shard ");
                safetensors_quote(line, gathering->shards[i]);
                text_add(line, " is missing");
            }
        }
        free(path);
        if (result != 0)
            return -1;
    }
    return 0;
}

/* Each indexed tensor must lie in the shard that the index names. */
static void compare_index(struct gathering *gathering)
{
    const char *key = NULL;
    const struct json *value = NULL;
    while (json_next(gathering->map, &key, &value)) {
        const char *name = json_text(value);
        size_t number = gathering->numbers[shard_find(gathering, name)];
        const struct safetensors_tensor *tensor = safetensors_find(&gathering->set, key);
        if (tensor && number == tensor->file)
            continue;
        gathering->set.complete = false;
        if (number != absent)
            tensor_issue(gathering, key,
                         tensor ? " lies in another shard than " : " is indexed but not in ",
                         name);
        else if (!tensor)
            tensor_issue(gathering, key, " is missing with shard ", name);
    }
}

/* Tensors that the index lacks are named; a name in two shards is ambiguous. One stays. */
static void compare_shards(struct gathering *gathering)
{
    struct safetensors *set = &gathering->set;
    size_t kept = 0;
    for (size_t i = 0; i < set->tensor_count; i++) {
        struct safetensors_tensor *tensor = &set->tensors[i];
        const char *path = set->files[tensor->file].path;
        if (kept && strcmp(set->tensors[kept - 1].name, tensor->name) == 0) {
            set->complete = false;
            tensor_issue(gathering, tensor->name, " lies again in ", path);
            set->bytes -= tensor->bytes;
            free(tensor->name);
            continue;
        }
        if (!json_get(gathering->map, tensor->name))
            tensor_issue(gathering, tensor->name, " is not in the index but in ", path);
        set->tensors[kept++] = *tensor;
    }
    set->tensor_count = kept;
}

/* Other readers take the single file first: that ours do not is said. */
static void compare_single(struct gathering *gathering)
{
    char *single = xasprintf("%s/" SINGLE_NAME, gathering->folder);
    struct text *line = NULL;
    if (shard_find(gathering, SINGLE_NAME) == absent && file_exists(single))
        line = issue(gathering);
    if (line)
        text_add(line, SINGLE_NAME " lies beside the index and is not read");
    free(single);
}

/* The stated total is only compared. */
static void compare_total(struct gathering *gathering, const struct json *root)
{
    const struct json *metadata = json_get(root, "metadata");
    const struct json *total = NULL;
    uint64_t stated;
    if (metadata && json_is_object(metadata))
        total = json_get(metadata, "total_size");
    bool count = total && json_count(total, &stated) == 0;
    if (!total || (count && stated == gathering->set.bytes))
        return;
    struct text *line = issue(gathering);
    if (!line)
        return;
    text_add(line, INDEX_NAME ": its total_size ");
    if (count)
        text_addf(line, "is %" PRIu64 " bytes", stated);
    else
        text_add(line, "is not a count");
    text_addf(line, ", the shards hold %" PRIu64, gathering->set.bytes);
}

static int gather(struct gathering *gathering, const char *index, const struct json *root,
                  struct text *why)
{
    gathering->map = json_is_object(root) ? json_get(root, "weight_map") : NULL;
    if (!gathering->map || !json_is_object(gathering->map)) {
        text_addf(why, "%s: no weight_map", index);
        return -1;
    }
    if (collect_shards(gathering, index, why) != 0 || open_shards(gathering, why) != 0)
        return -1;
    if (gathering->set.file_count && finish(index, &gathering->set, why) != 0)
        return -1;
    compare_shards(gathering);
    compare_index(gathering);
    compare_total(gathering, root);
    compare_single(gathering);
    if (gathering->issue_count > ISSUES_SHOWN)
        text_addf(&gathering->set.issues, "\nand %zu more",
                  gathering->issue_count - ISSUES_SHOWN);
    return 0;
}

static int open_index(const char *folder, const char *index, struct safetensors *out,
                      struct text *why)
{
    struct gathering gathering = {.folder = folder, .set = {.complete = true}};
    struct text bytes = TEXT_INIT, reason = TEXT_INIT;
    struct json *root = NULL;
    int result = file_read(index, SAFETENSORS_HEADER_LIMIT, &bytes, why);
    if (result == 0 && json_parse(text_string(&bytes), bytes.length, &root, &reason) != 0) {
        text_addf(why, "%s: %s", index, text_string(&reason));
        result = -1;
    }
    if (result == 0)
        result = gather(&gathering, index, root, why);
    json_release(root);
    text_release(&bytes);
    text_release(&reason);
    for (size_t i = 0; i < gathering.shard_count; i++)
        free(gathering.shards[i]);
    free(gathering.shards);
    free(gathering.numbers);
    if (result != 0)
        safetensors_release(&gathering.set);
    else
        *out = gathering.set;
    return result;
}

int safetensors_open_folder(const char *folder, struct safetensors *out, struct text *why)
{
    char *index = xasprintf("%s/" INDEX_NAME, folder);
    char *single = xasprintf("%s/" SINGLE_NAME, folder);
    int result;
    if (file_exists(index)) {
        result = open_index(folder, index, out, why);
    } else if (file_exists(single)) {
        result = safetensors_open_file(single, out, why);
    } else {
        text_addf(why, "%s: neither " SINGLE_NAME " nor " INDEX_NAME, folder);
        result = -1;
    }
    free(index);
    free(single);
    return result;
}
