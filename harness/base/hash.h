/* hash: FNV-1a (Fowler, Noll, Vo). What it makes is written down, so it never changes; it is no
 * protection against anyone. */
#ifndef HIGHWATER_BASE_HASH_H
#define HIGHWATER_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Of no bytes. */
#define HASH_START UINT64_C(14695981039346656037)
#define HASH32_START UINT32_C(2166136261)

/* Of what `hash` is of, followed by these bytes. */
uint64_t hash_add(uint64_t hash, const void *bytes, size_t length);
uint32_t hash32_add(uint32_t hash, const void *bytes, size_t length);

#endif
