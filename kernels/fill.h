/* fill: which values a generated tensor holds; random.h says how they are made. */
#ifndef HIGHWATER_KERNELS_FILL_H
#define HIGHWATER_KERNELS_FILL_H

#include <stdint.h>

/* Sizes are those of the filled array, row-major. A row, a position below 2^32 and a feature
 * below 2^34 have values of their own; so have 255 tensors of 2^24 sequences. */
struct fill {
    uint64_t seed;
    uint32_t tensor;   /* which one: every tensor of a workload has a number of its own */
    uint64_t sequence; /* of a request; 0 for weights */
    uint64_t rows, positions, features;
    float scale; /* values are normal with this deviation */
};

#endif
