/* chunk_model: where CUDA's driver put segments on an H200, fitted to recordings. Chunks of
 * 32 MiB multiples are taken from the top of the address space down and filled from the bottom
 * up, the newest chunk first; reservations as in ascending.
 */
#ifndef HIGHWATER_TRACE_CHUNK_MODEL_H
#define HIGHWATER_TRACE_CHUNK_MODEL_H

#include "harness/device/address.h"

struct address_policy *chunk_model_open(void) MUST_CHECK;
void chunk_model_close(struct address_policy *policy);

#endif
