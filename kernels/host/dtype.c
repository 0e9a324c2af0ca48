#include "kernels/dtype.h"

#include <stddef.h>

const char *const dtype_names[] = {
#define DTYPE(name, bytes) #name,
    DTYPE_TABLE
#undef DTYPE
        NULL,
};
