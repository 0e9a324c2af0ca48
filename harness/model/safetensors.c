#include "harness/model/safetensors.h"
#include "harness/base/file.h"
#include "harness/base/json.h"
#include "harness/base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INDEX_NAME "model.safetensors.index.json"
#define SINGLE_NAME "model.safetensors"
enum { ISSUES_SHOWN = 20, SHARD_LIMIT = 4096 };

static const struct {
    const char *name;
    uint64_t size;
} dtypes[SAFETENSORS_DTYPE_COUNT] = {
#define DTYPE(name, size) {#name, size},
    SAFETENSORS_DTYPES(DTYPE)
#undef DTYPE
};

const char *safetensors_dtype_name(enum safetensors_dtype dtype)
{
    return dtypes[dtype].name;
}

/* Names come from strangers: one printable line, cut. */
static void quote(struct text *out, const char *name)
{
    text_add_char(out, '\'');
    text_add_escaped(out, name, strlen(name), 120);
    text_add_char(out, '\'');
}

static int refuse(struct text *why, const char *file, const char *tensor, const char *reason)
{
    text_addf(why, "%s: tensor ", file);
    quote(why, tensor);
    return text_fail(why, ": %s", reason);
}

void safetensors_add_shape(const struct safetensors_tensor *tensor, struct text *out)
{
    text_add_char(out, '[');
    for (size_t i = 0; i < tensor->rank; i++)
        text_addf(out, "%s%" PRIu64, i ? ", " : "", tensor->shape[i]);
    text_add_char(out, ']');
}

/* --- one tensor's entry ------------------------------------------------------------------- */

static int read_dtype(const struct json *entry, const char *file, const char *name,
                      enum safetensors_dtype *out, struct text *why)
{
    const struct json *field = json_get(entry, "dtype");
    const char *text = field ? json_text(field) : NULL;
    if (!text)
        return refuse(why, file, name, "no dtype");
    for (size_t i = 0; i < SAFETENSORS_DTYPE_COUNT; i++) {
        if (strcmp(dtypes[i].name, text) == 0) {
            *out = (enum safetensors_dtype)i;
            return 0;
        }
    }
    refuse(why, file, name, "unknown dtype ");
    quote(why, text);
    return -1;
}

/* A product that contains a zero is zero even when the other factors would overflow. */
static int read_shape(const struct json *entry, const char *file,
                      struct safetensors_tensor *tensor, struct text *why)
{
    const struct json *shape = json_get(entry, "shape");
    if (!shape || !json_is_array(shape))
        return refuse(why, file, tensor->name, "no shape");
    size_t rank = json_length(shape);
    if (rank > SAFETENSORS_RANK_LIMIT)
        return refuse(why, file, tensor->name, "more than 8 dimensions");
    bool empty = false;
    for (size_t i = 0; i < rank; i++) {
        if (json_count(json_at(shape, i), &tensor->shape[i]) != 0)
            return refuse(why, file, tensor->name, "a dimension is not a count");
        empty = empty || tensor->shape[i] == 0;
    }
    uint64_t elements = empty ? 0 : 1;
    for (size_t i = 0; i < rank && !empty; i++) {
        if (multiply_checked(elements, tensor->shape[i], &elements) != 0)
            return refuse(why, file, tensor->name, "its shape overflows 64 bits");
    }
    tensor->rank = rank;
    tensor->elements = elements;
    if (multiply_checked(elements, dtypes[tensor->dtype].size, &tensor->bytes) != 0)
        return refuse(why, file, tensor->name, "its size overflows 64 bits");
    return 0;
}

/* Leaves tensor->offset relative to the data. */
static int read_offsets(const struct json *entry, const char *file, uint64_t data_bytes,
                        struct safetensors_tensor *tensor, struct text *why)
{
    const struct json *offsets = json_get(entry, "data_offsets");
    uint64_t begin, end;
    if (!offsets || !json_is_array(offsets) || json_length(offsets) != 2 ||
        json_count(json_at(offsets, 0), &begin) != 0 ||
        json_count(json_at(offsets, 1), &end) != 0)
        return refuse(why, file, tensor->name, "no data_offsets of two counts");
    if (begin > end)
        return refuse(why, file, tensor->name, "its offsets run backwards");
    if (end - begin != tensor->bytes) {
        refuse(why, file, tensor->name, "shape ");
        safetensors_add_shape(tensor, why);
        return text_fail(why, " of %s is %" PRIu64 " bytes, its offsets hold %" PRIu64,
                         dtypes[tensor->dtype].name, tensor->bytes, end - begin);
    }
    if (end > data_bytes) {
        refuse(why, file, tensor->name, "truncated: ");
        return text_fail(why, "it ends at byte %" PRIu64 " of the data, the file has %" PRIu64,
                         end, data_bytes);
    }
    tensor->offset = begin;
    return 0;
}

static int read_entry(const struct json *entry, const char *file, uint64_t data_bytes,
                      struct safetensors_tensor *tensor, struct text *why)
{
    if (!json_is_object(entry))
        return refuse(why, file, tensor->name, "its entry is not an object");
    if (read_dtype(entry, file, tensor->name, &tensor->dtype, why) != 0 ||
        read_shape(entry, file, tensor, why) != 0)
        return -1;
    return read_offsets(entry, file, data_bytes, tensor, why);
}

/* --- the tensors of one header together --------------------------------------------------- */

/* By place; where several begin together, those without bytes first. */
static int by_offset(const void *left, const void *right)
{
    const struct safetensors_tensor *a = left, *b = right;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int check_tiling(const char *file, struct safetensors_tensor *tensors, size_t count,
                        uint64_t data_bytes, struct text *why)
{
    uint64_t at = 0;
    qsort(tensors, count, sizeof(*tensors), by_offset);
    for (size_t i = 0; i < count; i++) {
        if (tensors[i].offset < at)
            return refuse(why, file, tensors[i].name, "overlaps the tensor before it");
        if (tensors[i].offset > at)
            return refuse(why, file, tensors[i].name, "a gap lies before its bytes");
        at += tensors[i].bytes;
    }
    if (at == data_bytes)
        return 0;
    return text_fail(why, "%s: %" PRIu64 " bytes after the last tensor belong to none", file,
                     data_bytes - at);
}

static int append_entries(const char *file, const struct json *root, uint64_t data_bytes,
                          struct safetensors *set, struct text *why)
{
    const char *key = NULL;
    const struct json *entry = NULL;
    size_t room = json_length(root);
    set->tensors =
        xrealloc(set->tensors, (set->tensor_count + room + 1) * sizeof(*set->tensors));
    while (json_next(root, &key, &entry)) {
        if (strcmp(key, "__metadata__") == 0)
            continue;
        struct safetensors_tensor *tensor = &set->tensors[set->tensor_count++];
        *tensor = (struct safetensors_tensor){.name = xstrdup(key)};
        if (read_entry(entry, file, data_bytes, tensor, why) != 0)
            return -1;
    }
    return 0;
}

int safetensors_parse(const char *name, const char *json, size_t length, uint64_t data_offset,
                      uint64_t data_bytes, size_t file, struct safetensors *set,
                      struct text *why)
{
    struct json *root = NULL;
    struct text reason = TEXT_INIT;
    if (length == 0 || json[0] != '{')
        return text_fail(why, "%s: the header does not begin with '{'", name);
    if (json_parse(json, length, &root, &reason) != 0) {
        text_addf(why, "%s: header: %s", name, text_string(&reason));
        text_release(&reason);
        return -1;
    }
    size_t first = set->tensor_count;
    int result = append_entries(name, root, data_bytes, set, why);
    json_release(root);
    if (result == 0)
        result = check_tiling(name, set->tensors + first, set->tensor_count - first, data_bytes,
                              why);
    for (size_t i = first; i < set->tensor_count; i++) {
        set->tensors[i].file = file;
        set->tensors[i].offset += data_offset;
    }
    return result;
}

/* --- a file ------------------------------------------------------------------------------- */

static int read_all(const struct safetensors_file *file, uint64_t offset, void *out,
                    uint64_t bytes, struct text *why)
{
    for (uint64_t done = 0; done < bytes;) {
        uint64_t rest = bytes - done, most = (uint64_t)1 << 30;
        ssize_t got = pread(file->fd, (char *)out + done, (size_t)(rest < most ? rest : most),
                            (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return text_fail(why, "%s: %s", file->path, got < 0 ? strerror(errno)
                             : "the file became shorter while it was read");
        done += (uint64_t)got;
    }
    return 0;
}

static int open_path(const char *path, struct safetensors_file *file, struct text *why)
{
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        text_addf(why, "%s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    if (!S_ISREG(facts.st_mode)) {
        text_addf(why, "%s: not a regular file", path);
        close(fd);
        return -1;
    }
    *file = (struct safetensors_file){xstrdup(path), fd, (uint64_t)facts.st_size};
    return 0;
}

/* The length is judged against the file and our limit before a byte is allocated for it. */
static int header_length(const struct safetensors_file *file, uint64_t *out, struct text *why)
{
    unsigned char bytes[8];
    if (file->bytes < sizeof(bytes))
        return text_fail(why, "%s: %" PRIu64 " bytes are too few for a safetensors file",
                         file->path, file->bytes);
    if (read_all(file, 0, bytes, sizeof(bytes), why) != 0)
        return -1;
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | bytes[i];
    if (length > file->bytes - sizeof(bytes)) {
        text_addf(why,
                  "%s: the header claims %" PRIu64
                  " bytes, after its length the file has %" PRIu64,
                  file->path, length, file->bytes - sizeof(bytes));
        return -1;
    }
    if (length > SAFETENSORS_HEADER_LIMIT)
        return text_fail(why, "%s: the header's %" PRIu64 " bytes are above the limit of %u",
                         file->path, length, SAFETENSORS_HEADER_LIMIT);
    *out = length;
    return 0;
}

/* Opens, checks and appends a file and its tensors, unsorted. */
static int append_file(const char *path, struct safetensors *set, struct text *why)
{
    set->files = xgrow(set->files, set->file_count, sizeof *set->files);
    struct safetensors_file *file = &set->files[set->file_count];
    uint64_t length;
    if (open_path(path, file, why) != 0)
        return -1;
    set->file_count++;
    if (header_length(file, &length, why) != 0)
        return -1;
    char *header = xmalloc((size_t)length + 1);
    int result = read_all(file, 8, header, length, why);
    if (result == 0)
        result = safetensors_parse(path, header, (size_t)length, 8 + length,
                                   file->bytes - 8 - length, set->file_count - 1, set, why);
    free(header);
    return result;
}

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
    if (set->tensor_count == 0)
        return text_fail(why, "%s: no weights found", path);
    qsort(set->tensors, set->tensor_count, sizeof(*set->tensors), by_name);
    for (size_t i = 0; i < set->tensor_count; i++)
        set->bytes += set->tensors[i].bytes;
    return 0;
}

int safetensors_open_file(const char *path, struct safetensors *out, struct text *why)
{
    struct safetensors set = {.complete = true};
    if (append_file(path, &set, why) != 0 || finish(path, &set, why) != 0) {
        safetensors_release(&set);
        return -1;
    }
    *out = set;
    return 0;
}

/* --- numbers ------------------------------------------------------------------------------ */

int safetensors_read(const struct safetensors *set, const struct safetensors_tensor *tensor,
                     uint64_t first, uint64_t count, void *out, struct text *why)
{
    if (first > tensor->elements || count > tensor->elements - first)
        return refuse(why, set->files[tensor->file].path, tensor->name,
                      "a range outside it was asked for");
    uint64_t size = dtypes[tensor->dtype].size;
    return read_all(&set->files[tensor->file], tensor->offset + first * size, out, count * size,
                    why);
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static float half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u;
    uint32_t fraction = half & 1023u;
    if (exponent == 31)
        return float_of_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent == 0) /* zero and subnormals: exact as a product */
        return (sign ? -1.0f : 1.0f) * (float)fraction * 0x1p-24f;
    return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

int safetensors_read_float(const struct safetensors *set,
                           const struct safetensors_tensor *tensor, uint64_t first,
                           uint64_t count, float *out, struct text *why)
{
    bool half = tensor->dtype == SAFETENSORS_F16;
    if (tensor->dtype == SAFETENSORS_F32)
        return safetensors_read(set, tensor, first, count, out, why);
    if (!half && tensor->dtype != SAFETENSORS_BF16) {
        refuse(why, set->files[tensor->file].path, tensor->name, "weights of dtype ");
        return text_fail(why, "%s cannot be computed with", dtypes[tensor->dtype].name);
    }
    /* read into the upper half of the place they are widened into, front to back */
    char *narrow = (char *)out + count * 2;
    if (safetensors_read(set, tensor, first, count, narrow, why) != 0)
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        uint16_t bits;
        memcpy(&bits, narrow + i * 2, sizeof(bits));
        float value = half ? half_to_float(bits) : float_of_bits((uint32_t)bits << 16);
        memcpy((char *)out + i * 4, &value, sizeof(value));
    }
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
    quote(line, tensor);
    text_add(line, middle);
    quote(line, shard);
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
            quote(why, key);
            text_add(why, name ? ": its shard lies outside the folder: " : ": names no shard");
            if (name)
                quote(why, name);
            return -1;
        }
        if (shard_find(gathering, name) != absent)
            continue;
        if (gathering->shard_count == SHARD_LIMIT)
            return text_fail(why, "%s: more than %d shards", index, SHARD_LIMIT);
        *GROW(gathering->shards, gathering->shard_count) = xstrdup(name);
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
            result = append_file(path, &gathering->set, why);
        } else {
            struct text *line = issue(gathering);
            gathering->set.complete = false;
            if (line) {
                text_add(line, "shard ");
                quote(line, gathering->shards[i]);
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
    if (!gathering->map || !json_is_object(gathering->map))
        return text_fail(why, "%s: no weight_map", index);
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
