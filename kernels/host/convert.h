/* convert: elements of any dtype as float32 and back, rounded to nearest even. */
#ifndef HIGHWATER_KERNELS_HOST_CONVERT_H
#define HIGHWATER_KERNELS_HOST_CONVERT_H

#include "kernels/ops.h"

float half_to_float(uint16_t half);
uint16_t float_to_half(float value); /* beyond 65504: infinite, as on the GPU */
float brain_to_float(uint16_t brain);
uint16_t float_to_brain(float value);

/* `count` elements from the `first` of an array, to and from float32. */
void host_load(struct array from, uint64_t first, uint64_t count, float *to);
void host_store(struct array to, uint64_t first, uint64_t count, const float *from);

#endif
