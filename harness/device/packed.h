/* packed: how CUDA's driver packs small cudaMallocs into shared pages of 2 MiB.
 *
 * Found on an H200 and exact there: requests up to 2 MiB, in multiples of 512 bytes, best fit,
 * the oldest hole of equal ones; a page is given back when nothing in it lives.
 */
#ifndef HIGHWATER_DEVICE_PACKED_H
#define HIGHWATER_DEVICE_PACKED_H

#include "harness/device/device.h"
#include "harness/device/piece.h"

#define PACKED_PAGE ((uint64_t)2 << 20)
#define PACKED_LIMIT PACKED_PAGE /* larger requests take whole pages of their own */

struct packed {
    struct device *device;
    /* Whole pages, from and to the device. */
    enum outcome (*get)(struct device *device, uint64_t bytes, uint64_t *address);
    void (*put)(struct device *device, uint64_t address, uint64_t bytes);
    struct piece_bins free;
    struct piece_tree live; /* by address */
    struct piece_store store;
    uint32_t births;
};
void packed_init(struct packed *packed, struct device *device,
                 enum outcome (*get)(struct device *device, uint64_t bytes, uint64_t *address),
                 void (*put)(struct device *device, uint64_t address, uint64_t bytes));
enum outcome packed_alloc(struct packed *packed, uint64_t bytes, uint64_t *address) MUST_CHECK;
void packed_free(struct packed *packed, uint64_t address);
void packed_release(struct packed *packed); /* everything, live blocks too */

#endif
