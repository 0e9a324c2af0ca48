/* device: where bytes come from. Three of them: cuda (the card), simulated (addresses only, any
 * capacity, instant) and host (real memory under a byte budget).
 *
 * Addresses are uint64_t everywhere; on host and cuda they are pointers. Nothing here decides
 * policy: allocators sit on segments, workloads sit on allocators.
 */
#ifndef HIGHWATER_DEVICE_DEVICE_H
#define HIGHWATER_DEVICE_DEVICE_H

#include "harness/base/reading.h"
#include "harness/base/text.h"

#define DEVICE_UNIT 512u /* bytes: every address and size of a segment is a multiple of it */

/* How a request of the experiment ended. Not OK is a result, not a bug. */
enum outcome {
    OUTCOME_OK,
    OUTCOME_OOM,      /* the device (or a stated limit) refused memory */
    OUTCOME_HOST_OOM, /* the host refused memory */
    OUTCOME_FAILED,   /* anything else: the reason is in device->error */
};

struct device_facts {
    char name[96];
    char uuid[64];        /* "GPU-…", "" when there is none */
    char pci[24];         /* "00000000:3B:00.0", "" when there is none */
    uint64_t total_bytes; /* as the device tells a process */
    char runtime[32];     /* "cuda-13.0", "" when there is none */
    char driver[32];
};

struct device_setting {
    uint64_t ordinal;        /* cuda */
    struct reading capacity; /* simulated and host: bytes in all (must be known) */
    uint64_t overhead;       /* simulated: taken by context and libraries when opened */
    struct address_policy *addresses; /* simulated: where segments lie; NULL: ascending */
};

struct device;
struct address_policy; /* address.h */

/* Optional: address ranges whose pages are mapped one by one (expandable segments). */
struct device_paging {
    uint64_t (*granularity)(struct device *device);
    enum outcome (*reserve)(struct device *device, uint64_t bytes, uint64_t *address);
    void (*unreserve)(struct device *device, uint64_t address, uint64_t bytes);
    enum outcome (*map)(struct device *device, uint64_t address, uint64_t bytes);
    void (*unmap)(struct device *device, uint64_t address, uint64_t bytes);
};

/* Optional: the device's own stream-ordered pool (the async allocator). */
struct device_pool_reading {
    uint64_t reserved_current, reserved_high, used_current, used_high;
};
struct device_pool {
    enum outcome (*alloc)(struct device *device, uint64_t bytes, uint64_t *address);
    void (*free)(struct device *device, uint64_t address);
    int (*read)(struct device *device, struct device_pool_reading *reading);
    void (*reset_high)(struct device *device);
    void (*trim)(struct device *device);
};

struct device_ops {
    const char *name; /* cuda, simulated, host */
    bool observed;    /* true: rows are evidence = observed */
    /* Opens the device: for cuda this creates the context. OUTCOME_OOM when it does not fit. */
    enum outcome (*open)(struct device *device, const struct device_setting *setting);
    void (*close)(struct device *device);
    void (*facts)(struct device *device, struct device_facts *facts);
    /* Bytes in whole multiples as the allocator asks them; OUTCOME_OOM clears the device's
     * sticky error. The address is aligned to at least 512. */
    enum outcome (*segment_alloc)(struct device *device, uint64_t bytes, uint64_t *address);
    void (*segment_free)(struct device *device, uint64_t address, uint64_t bytes);
    /* As the device tells it to this process; -1 when it does not answer. */
    int (*usage)(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes);
    enum outcome (*synchronise)(struct device *device);
    /* Synchronous copies; NULL on the simulated device. */
    enum outcome (*to_host)(struct device *device, void *to, uint64_t from, uint64_t bytes);
    enum outcome (*from_host)(struct device *device, uint64_t to, const void *from,
                              uint64_t bytes);
    const struct device_paging *paging; /* NULL: none */
    const struct device_pool *pool;     /* NULL: none */
};

struct device {
    const struct device_ops *ops;
    void *state;       /* the device's own */
    struct text error; /* of the last OUTCOME_FAILED: call, name of the error */
};

/* The first to be linked everywhere; cuda's lies in kernels' cuda objects: `device_cuda`. */
extern const struct device_ops device_simulated;
extern const struct device_ops device_host;
extern const struct device_ops device_cuda; /* only in programs that link CUDA */

enum outcome device_open(struct device *device, const struct device_ops *ops,
                         const struct device_setting *setting) MUST_CHECK;
void device_close(struct device *device);

#endif
