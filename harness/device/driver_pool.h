/* driver_pool: a model of the pool behind cudaMallocAsync, for the devices that have no driver.
 *
 * Found on an H200 (driver of CUDA 13) and exact there in every address and in reserved bytes,
 * as long as the device lags behind the host, that is, nothing completes between two
 * synchronisations:
 *   - One range of addresses, pages of 32 MiB under it, blocks of 512-byte multiples.
 *   - What is freed on the stream waits until it synchronises, then becomes a hole.
 *   - A request takes the best fit among the waiting, else among the holes with all pages
 *     present, else among the other holes, the oldest of equal ones; else the end of the range
 *     grows.
 *   - A page that is missing comes from the highest page on which nothing lies, else from the
 *     device.
 *   - Pages got before a refusal stay. Trimming gives back every page on which nothing lies.
 * On a real device the driver notices completions when it likes: reserved is then an upper
 * bound of the need, and need not be the same twice.
 */
#ifndef HIGHWATER_DEVICE_DRIVER_POOL_H
#define HIGHWATER_DEVICE_DRIVER_POOL_H

#include "harness/device/device.h"

struct driver_pool;
/* Uses the device's paging. Nothing is reserved before the first request. */
struct driver_pool *driver_pool_open(struct device *device) MUST_CHECK;
void driver_pool_close(struct driver_pool *pool); /* gives everything back, live blocks too */
void driver_pool_synchronise(struct driver_pool *pool);

/* The pool of a device whose state begins with its `struct driver_pool *`. */
extern const struct device_pool driver_pool_ops;

#endif
