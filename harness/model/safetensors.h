/* safetensors: what a model's weight files hold, and their numbers by range.
 *
 * A folder is read through its index (model.safetensors.index.json, when there is one: a stray
 * file beside the shards is not read) or its single model.safetensors. Nothing in a file is
 * believed: the header's length is compared with the file before anything is allocated for it,
 * shapes, types and offsets must agree to the byte, tensors must neither overlap nor leave a
 * gap. Messages name the file and the tensor.
 */
#ifndef HIGHWATER_MODEL_SAFETENSORS_H
#define HIGHWATER_MODEL_SAFETENSORS_H

#include "harness/base/text.h"

#include <stdbool.h>
#include <stdint.h>

#define SAFETENSORS_HEADER_LIMIT 100000000u /* bytes; the reference reader's limit */
#define SAFETENSORS_RANK_LIMIT 8

/* DTYPE(name in the file, bytes an element) */
#define SAFETENSORS_DTYPES(DTYPE)                                                              \
    DTYPE(F32, 4)                                                                              \
    DTYPE(F16, 2)                                                                              \
    DTYPE(BF16, 2)                                                                             \
    DTYPE(F64, 8)                                                                              \
    DTYPE(F8_E4M3, 1)                                                                          \
    DTYPE(F8_E5M2, 1)                                                                          \
    DTYPE(BOOL, 1)                                                                             \
    DTYPE(U8, 1)                                                                               \
    DTYPE(I8, 1)                                                                               \
    DTYPE(U16, 2)                                                                              \
    DTYPE(I16, 2)                                                                              \
    DTYPE(U32, 4)                                                                              \
    DTYPE(I32, 4)                                                                              \
    DTYPE(U64, 8)                                                                              \
    DTYPE(I64, 8)
enum safetensors_dtype {
#define DTYPE(name, size) SAFETENSORS_##name,
    SAFETENSORS_DTYPES(DTYPE)
#undef DTYPE
        SAFETENSORS_DTYPE_COUNT
};
const char *safetensors_dtype_name(enum safetensors_dtype dtype);

struct safetensors_tensor {
    char *name;
    enum safetensors_dtype dtype;
    size_t rank;
    uint64_t shape[SAFETENSORS_RANK_LIMIT];
    uint64_t elements; /* 1 for a scalar, 0 is legal */
    uint64_t bytes;
    uint64_t offset; /* of its first byte in its file */
    size_t file;     /* index into files */
};
struct safetensors_file {
    char *path;
    int fd;
    uint64_t bytes;
};
struct safetensors {
    struct safetensors_file *files;
    size_t file_count;
    struct safetensors_tensor *tensors; /* sorted by name */
    size_t tensor_count;
    uint64_t bytes;     /* of all tensors, each once */
    bool complete;      /* every indexed tensor was found exactly once, in the shard named */
    struct text issues; /* one line for each mismatch of index and shards, "" when they agree */
};

/* One file. */
int safetensors_open_file(const char *path, struct safetensors *out,
                          struct text *why) MUST_CHECK;
/* A model's folder. 0 also when index and shards disagree: then `complete` and `issues` say so;
 * -1 when nothing can be read, a file is malformed, or a path leaves the folder. */
int safetensors_open_folder(const char *folder, struct safetensors *out,
                            struct text *why) MUST_CHECK;
void safetensors_release(struct safetensors *set);

/* NULL: there is none of this name. */
const struct safetensors_tensor *safetensors_find(const struct safetensors *set,
                                                  const char *name);
/* "[256, 64]" */
void safetensors_add_shape(const struct safetensors_tensor *tensor, struct text *out);

/* Elements first … first + count - 1 in row-major order, their bytes as stored. */
int safetensors_read(const struct safetensors *set, const struct safetensors_tensor *tensor,
                     uint64_t first, uint64_t count, void *out, struct text *why) MUST_CHECK;
/* The same as float32; F32, F16 and BF16 only, others are refused by name. */
int safetensors_read_float(const struct safetensors *set,
                           const struct safetensors_tensor *tensor, uint64_t first,
                           uint64_t count, float *out, struct text *why) MUST_CHECK;

/* The header alone, from memory (`length` bytes of JSON before `data_bytes` bytes of data that
 * begin at `data_offset`): appends its tensors to the set, as of file number `file`, unsorted.
 * `name` stands for the file in messages. What was appended stays the set's on failure. */
int safetensors_parse(const char *name, const char *json, size_t length, uint64_t data_offset,
                      uint64_t data_bytes, size_t file, struct safetensors *set,
                      struct text *why) MUST_CHECK;

#endif
