/* safetensors.c: one file: its header, checked, and its bytes. */
#include "harness/model/safetensors.h"
#include "harness/base/json.h"
#include "harness/base/units.h"
#include "harness/model/safetensors_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
void safetensors_quote(struct text *out, const char *name)
{
    text_add_char(out, '\'');
    text_add_escaped(out, name, strlen(name), 120);
    text_add_char(out, '\'');
}

static int refuse(struct text *why, const char *file, const char *tensor, const char *reason)
{
    text_addf(why, "%s: tensor ", file);
    safetensors_quote(why, tensor);
    text_addf(why, ": %s", reason);
    return -1;
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
    safetensors_quote(why, text);
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
        text_addf(why, " of %s is %" PRIu64 " bytes, its offsets hold %" PRIu64,
                  dtypes[tensor->dtype].name, tensor->bytes, end - begin);
        return -1;
    }
    if (end > data_bytes) {
        refuse(why, file, tensor->name, "truncated: ");
        text_addf(why, "it ends at byte %" PRIu64 " of the data, the file has %" PRIu64, end,
                  data_bytes);
        return -1;
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
    text_addf(why, "%s: %" PRIu64 " bytes after the last tensor belong to none", file,
              data_bytes - at);
    return -1;
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
    if (length == 0 || json[0] != '{') {
        text_addf(why, "%s: the header does not begin with '{'", name);
        return -1;
    }
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
        if (got <= 0) {
            text_addf(why, "%s: %s", file->path,
                      got < 0 ? strerror(errno) : "the file became shorter while it was read");
            return -1;
        }
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
    if (file->bytes < sizeof(bytes)) {
        text_addf(why, "%s: %" PRIu64 " bytes are too few for a safetensors file", file->path,
                  file->bytes);
        return -1;
    }
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
    if (length > SAFETENSORS_HEADER_LIMIT) {
        text_addf(why, "%s: the header's %" PRIu64 " bytes are above the limit of %u",
                  file->path, length, SAFETENSORS_HEADER_LIMIT);
        return -1;
    }
    *out = length;
    return 0;
}

int safetensors_append_file(const char *path, struct safetensors *set, struct text *why)
{
    set->files = xrealloc(set->files, (set->file_count + 1) * sizeof(*set->files));
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
        text_addf(why, "%s cannot be computed with", dtypes[tensor->dtype].name);
        return -1;
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
