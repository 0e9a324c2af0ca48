#include "harness/base/hash.h"

uint64_t hash_add(uint64_t hash, const void *bytes, size_t length)
{
    for (const unsigned char *byte = bytes; length > 0; byte++, length--)
        hash = (hash ^ *byte) * UINT64_C(1099511628211);
    return hash;
}

uint32_t hash32_add(uint32_t hash, const void *bytes, size_t length)
{
    for (const unsigned char *byte = bytes; length > 0; byte++, length--)
        hash = (hash ^ *byte) * UINT32_C(16777619);
    return hash;
}
