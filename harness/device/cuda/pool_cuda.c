#include "harness/device/cuda/device_cuda.h"

#include <cuda_runtime_api.h>

/* The default pool, kept as PyTorch keeps it: it never gives memory back by itself. */

static int pool_of(const struct device *device, cudaMemPool_t *pool)
{
    uint64_t keep = UINT64_MAX;
    if (cudaDeviceGetDefaultMemPool(pool, device_cuda_ordinal(device)) == cudaSuccess &&
        cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keep) == cudaSuccess)
        return 0;
    cudaGetLastError();
    return -1;
}

static enum outcome pool_alloc(struct device *device, uint64_t bytes, uint64_t *address)
{
    cudaMemPool_t pool;
    void *memory;
    if (pool_of(device, &pool) != 0)
        return device_cuda_failed(device, "cudaDeviceGetDefaultMemPool", "no pool");
    enum outcome outcome = device_cuda_outcome(
        device, (int)cudaMallocAsync(&memory, bytes, device_cuda_stream(device)),
        "cudaMallocAsync");
    if (outcome == OUTCOME_OK)
        *address = (uint64_t)(uintptr_t)memory;
    return outcome;
}

static void pool_free(struct device *device, uint64_t address)
{
    (void)device_cuda_outcome(
        device, (int)cudaFreeAsync((void *)(uintptr_t)address, device_cuda_stream(device)),
        "cudaFreeAsync");
}

static int pool_read(struct device *device, struct device_pool_reading *reading)
{
    static const enum cudaMemPoolAttr attributes[] = {
        cudaMemPoolAttrReservedMemCurrent, cudaMemPoolAttrReservedMemHigh,
        cudaMemPoolAttrUsedMemCurrent, cudaMemPoolAttrUsedMemHigh};
    uint64_t value[4];
    cudaMemPool_t pool;
    if (pool_of(device, &pool) != 0)
        return -1;
    for (int i = 0; i < 4; i++)
        if (cudaMemPoolGetAttribute(pool, attributes[i], &value[i]) != cudaSuccess) {
            cudaGetLastError();
            return -1;
        }
    *reading = (struct device_pool_reading){value[0], value[1], value[2], value[3]};
    return 0;
}

static void pool_reset_high(struct device *device)
{
    cudaMemPool_t pool;
    uint64_t reserved = 0, used = 0; /* the driver takes 0 as "the current value" */
    if (pool_of(device, &pool) != 0)
        return;
    (void)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &reserved);
    (void)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used);
}

static void pool_trim(struct device *device)
{
    cudaMemPool_t pool;
    if (cudaDeviceSynchronize() == cudaSuccess && pool_of(device, &pool) == 0)
        (void)cudaMemPoolTrimTo(pool, 0);
}

const struct device_pool device_cuda_pool = {.alloc = pool_alloc,
                                             .free = pool_free,
                                             .read = pool_read,
                                             .reset_high = pool_reset_high,
                                             .trim = pool_trim};
