/* safetensors_inside: what safetensors.c and safetensors_index.c share. */
#ifndef HIGHWATER_MODEL_SAFETENSORS_INSIDE_H
#define HIGHWATER_MODEL_SAFETENSORS_INSIDE_H

#include "harness/model/safetensors.h"

/* Opens, checks and appends a file and its tensors, unsorted. */
int safetensors_append_file(const char *path, struct safetensors *set,
                            struct text *why) MUST_CHECK;
void safetensors_quote(struct text *out, const char *name);

#endif
