/* dtype: the number formats that tensors are computed in. */
#ifndef HIGHWATER_KERNELS_DTYPE_H
#define HIGHWATER_KERNELS_DTYPE_H

#include <stdint.h>

/* DTYPE(name, bytes) */
#define DTYPE_TABLE                                                                            \
    DTYPE(float32, 4)                                                                          \
    DTYPE(float16, 2)                                                                          \
    DTYPE(bfloat16, 2)

enum dtype {
#define DTYPE(name, bytes) DTYPE_##name,
    DTYPE_TABLE
#undef DTYPE
        DTYPES
};
extern const char *const dtype_names[]; /* NULL-terminated */

static inline uint64_t dtype_bytes(enum dtype dtype)
{
    switch (dtype) {
#define DTYPE(name, bytes)                                                                     \
    case DTYPE_##name:                                                                         \
        return bytes;
        DTYPE_TABLE
#undef DTYPE
    case DTYPES:
        break;
    }
    return 0;
}

#endif
