/* The card, through the CUDA runtime; what only the driver API has (names, paging) through
 * entry points that the runtime hands out, so that nothing links libcuda. */
#include "harness/device/cuda/device_cuda.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cuda_state {
    cudaStream_t stream;
    int ordinal;
    bool broken;
};

static struct cuda_state *state_of(const struct device *device)
{
    return device->state;
}

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

/* --- outcomes ---------------------------------------------------------------------------- */

void *device_cuda_stream(const struct device *device)
{
    return state_of(device)->stream;
}

enum outcome device_cuda_failed(struct device *device, const char *call, const char *reason)
{
    struct cuda_state *state = state_of(device);
    if (state && state->broken)
        return OUTCOME_FAILED; /* the first reason is the cause */
    if (state)
        state->broken = true;
    text_setf(&device->error, "%s: %s", call, reason);
    return OUTCOME_FAILED;
}

enum outcome device_cuda_outcome(struct device *device, int code, const char *call)
{
    struct cuda_state *state = state_of(device);
    cudaError_t error = (cudaError_t)code;
    if (error == cudaSuccess)
        return OUTCOME_OK;
    cudaGetLastError(); /* else the next good call would look failed */
    if (error == cudaErrorMemoryAllocation && !(state && state->broken))
        return OUTCOME_OOM;
    char reason[160];
    snprintf(reason, sizeof reason, "%s: %s", cudaGetErrorName(error),
             cudaGetErrorString(error));
    return device_cuda_failed(device, call, reason);
}

/* --- the driver's own calls -------------------------------------------------------------- */

static void *entry(const char *name)
{
    void *function = NULL;
    enum cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found);
#else
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found);
#endif
    if (error != cudaSuccess)
        cudaGetLastError();
    return error == cudaSuccess && found == cudaDriverEntryPointSuccess ? function : NULL;
}

static enum outcome driver_outcome(struct device *device, CUresult result, const char *call)
{
    char reason[32];
    if (result == CUDA_SUCCESS)
        return OUTCOME_OK;
    if (result == CUDA_ERROR_OUT_OF_MEMORY && !state_of(device)->broken)
        return OUTCOME_OOM;
    snprintf(reason, sizeof reason, "CUDA error %d", (int)result);
    return device_cuda_failed(device, call, reason);
}

/* `*function` is set, or the outcome says that this driver has no such call. */
static enum outcome find_entry(struct device *device, const char *name, void *function)
{
    void *found = entry(name);
    if (!found)
        return device_cuda_failed(device, name, "this driver has no such call");
    memcpy(function, &found, sizeof found); /* ISO C has no cast from data to function */
    return OUTCOME_OK;
}

/* --- open and facts ---------------------------------------------------------------------- */

static enum outcome open_device(struct device *device, const struct device_setting *setting)
{
    int ordinal = (int)setting->ordinal;
    enum outcome outcome =
        device_cuda_outcome(device, (int)cudaSetDevice(ordinal), "cudaSetDevice");
    if (outcome == OUTCOME_OK) /* runtimes before 12 create the context only now */
        outcome = device_cuda_outcome(device, (int)cudaFree(NULL), "cudaFree(0)");
    if (outcome != OUTCOME_OK)
        return outcome;
    struct cuda_state *state = xcalloc(1, sizeof *state);
    state->ordinal = ordinal;
    device->state = state;
    outcome = device_cuda_outcome(
        device, (int)cudaStreamCreateWithFlags(&state->stream, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags");
    if (outcome != OUTCOME_OK) {
        free(state);
        device->state = NULL;
    }
    return outcome;
}

static void close_device(struct device *device)
{
    struct cuda_state *state = state_of(device);
    cudaStreamDestroy(state->stream);
    free(state);
    device->state = NULL;
}

static void set_identity(int ordinal, struct device_facts *facts)
{
    CUresult (*get_name)(char *, int, CUdevice);
    CUresult (*get_uuid)(CUuuid *, CUdevice);
    void *name = entry("cuDeviceGetName"), *uuid = entry("cuDeviceGetUuid");
    CUuuid bytes;
    memcpy(&get_name, &name, sizeof name);
    memcpy(&get_uuid, &uuid, sizeof uuid);
    if (!name || get_name(facts->name, sizeof facts->name, ordinal) != CUDA_SUCCESS)
        facts->name[0] = '\0';
    if (!uuid || get_uuid(&bytes, ordinal) != CUDA_SUCCESS)
        return;
    char *out = facts->uuid;
    out += sprintf(out, "GPU-");
    for (int i = 0; i < 16; i++)
        out += sprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                       (unsigned)(unsigned char)bytes.bytes[i]);
}

static int usage(struct device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    size_t available, total;
    (void)device;
    if (cudaMemGetInfo(&available, &total) != cudaSuccess) {
        cudaGetLastError();
        return -1;
    }
    *free_bytes = available;
    *total_bytes = total;
    return 0;
}

static void get_facts(struct device *device, struct device_facts *facts)
{
    const struct cuda_state *state = state_of(device);
    uint64_t available;
    int version;
    *facts = (struct device_facts){.total_bytes = 0};
    set_identity(state->ordinal, facts);
    if (cudaDeviceGetPCIBusId(facts->pci, sizeof facts->pci, state->ordinal) != cudaSuccess)
        facts->pci[0] = '\0';
    if (usage(device, &available, &facts->total_bytes) != 0)
        facts->total_bytes = 0;
    if (cudaRuntimeGetVersion(&version) == cudaSuccess)
        snprintf(facts->runtime, sizeof facts->runtime, "cuda-%d.%d", version / 1000,
                 version % 1000 / 10);
}

/* --- segments and copies ----------------------------------------------------------------- */

static enum outcome segment_alloc(struct device *device, uint64_t bytes, uint64_t *address)
{
    void *memory;
    enum outcome outcome =
        device_cuda_outcome(device, (int)cudaMalloc(&memory, bytes), "cudaMalloc");
    if (outcome == OUTCOME_OK)
        *address = (uint64_t)(uintptr_t)memory;
    return outcome;
}

static void segment_free(struct device *device, uint64_t address, uint64_t bytes)
{
    (void)bytes;
    if (device_cuda_outcome(device, (int)cudaFree(pointer(address)), "cudaFree") != OUTCOME_OK)
        return; /* the context is broken: whoever asks next is told */
}

bool device_cuda_could_give(struct device *device, uint64_t bytes)
{
    uint64_t address;
    if (segment_alloc(device, bytes, &address) != OUTCOME_OK)
        return false;
    segment_free(device, address, bytes);
    return true;
}

static enum outcome synchronise(struct device *device)
{
    return device_cuda_outcome(device, (int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

static enum outcome copy(struct device *device, void *to, const void *from, uint64_t bytes)
{
    cudaStream_t stream = state_of(device)->stream;
    enum outcome outcome = device_cuda_outcome(
        device, (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream),
        "cudaMemcpyAsync");
    if (outcome != OUTCOME_OK)
        return outcome;
    return device_cuda_outcome(device, (int)cudaStreamSynchronize(stream),
                               "cudaStreamSynchronize");
}

static enum outcome to_host(struct device *device, void *to, uint64_t from, uint64_t bytes)
{
    return copy(device, to, pointer(from), bytes);
}

static enum outcome from_host(struct device *device, uint64_t to, const void *from,
                              uint64_t bytes)
{
    return copy(device, pointer(to), from, bytes);
}

/* --- paging: one map call is one physical piece, unmapped as a whole --------------------- */

static CUmemAllocationProp piece_of(const struct device *device)
{
    CUmemAllocationProp piece;
    memset(&piece, 0, sizeof piece);
    piece.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    piece.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    piece.location.id = state_of(device)->ordinal;
    return piece;
}

static uint64_t granularity(struct device *device)
{
    CUresult (*ask)(size_t *, const CUmemAllocationProp *, CUmemAllocationGranularity_flags) =
        NULL;
    CUmemAllocationProp piece = piece_of(device);
    size_t bytes = 0;
    if (find_entry(device, "cuMemGetAllocationGranularity", &ask) != OUTCOME_OK ||
        ask(&bytes, &piece, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
        return 0;
    return bytes;
}

static enum outcome reserve(struct device *device, uint64_t bytes, uint64_t *address)
{
    CUresult (*ask)(CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long) = NULL;
    CUdeviceptr start = 0;
    enum outcome outcome = find_entry(device, "cuMemAddressReserve", &ask);
    if (outcome == OUTCOME_OK)
        outcome = driver_outcome(device, ask(&start, bytes, 0, 0, 0), "cuMemAddressReserve");
    if (outcome == OUTCOME_OK)
        *address = start;
    return outcome;
}

static void unreserve(struct device *device, uint64_t address, uint64_t bytes)
{
    CUresult (*give)(CUdeviceptr, size_t) = NULL;
    if (find_entry(device, "cuMemAddressFree", &give) == OUTCOME_OK)
        (void)give(address, bytes);
}

static void unmap(struct device *device, uint64_t address, uint64_t bytes)
{
    CUresult (*give)(CUdeviceptr, size_t) = NULL;
    if (find_entry(device, "cuMemUnmap", &give) == OUTCOME_OK)
        (void)driver_outcome(device, give(address, bytes), "cuMemUnmap");
}

static enum outcome map(struct device *device, uint64_t address, uint64_t bytes)
{
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                       unsigned long long);
    CUresult (*place)(CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle,
                      unsigned long long);
    CUresult (*let)(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t);
    CUresult (*give)(CUmemGenericAllocationHandle);
    CUmemAllocationProp piece = piece_of(device);
    CUmemAccessDesc access = {.location = piece.location,
                              .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    enum outcome outcome = find_entry(device, "cuMemCreate", &create);
    if (outcome != OUTCOME_OK || (outcome = find_entry(device, "cuMemMap", &place)) ||
        (outcome = find_entry(device, "cuMemSetAccess", &let)) ||
        (outcome = find_entry(device, "cuMemRelease", &give)))
        return outcome;
    outcome = driver_outcome(device, create(&handle, bytes, &piece, 0), "cuMemCreate");
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = driver_outcome(device, place(address, bytes, 0, handle, 0), "cuMemMap");
    (void)give(handle); /* the mapping keeps the memory */
    if (outcome != OUTCOME_OK)
        return outcome;
    outcome = driver_outcome(device, let(address, bytes, &access, 1), "cuMemSetAccess");
    if (outcome != OUTCOME_OK)
        unmap(device, address, bytes);
    return outcome;
}

static const struct device_paging paging = {.granularity = granularity,
                                            .reserve = reserve,
                                            .unreserve = unreserve,
                                            .map = map,
                                            .unmap = unmap};

/* --- the stream-ordered pool -------------------------------------------------------------- */

/* The default pool, kept as PyTorch keeps it: it never gives memory back by itself. */
static int pool_of(const struct device *device, cudaMemPool_t *pool)
{
    uint64_t keep = UINT64_MAX;
    if (cudaDeviceGetDefaultMemPool(pool, state_of(device)->ordinal) == cudaSuccess &&
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
        device, (int)cudaMallocAsync(&memory, bytes, state_of(device)->stream),
        "cudaMallocAsync");
    if (outcome == OUTCOME_OK)
        *address = (uint64_t)(uintptr_t)memory;
    return outcome;
}

static void pool_free(struct device *device, uint64_t address)
{
    (void)device_cuda_outcome(
        device, (int)cudaFreeAsync((void *)(uintptr_t)address, state_of(device)->stream),
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

static const struct device_pool pool = {.alloc = pool_alloc,
                                        .free = pool_free,
                                        .read = pool_read,
                                        .reset_high = pool_reset_high,
                                        .trim = pool_trim};

const struct device_ops device_cuda = {
    .name = "cuda",
    .observed = true,
    .open = open_device,
    .close = close_device,
    .facts = get_facts,
    .segment_alloc = segment_alloc,
    .segment_free = segment_free,
    .usage = usage,
    .synchronise = synchronise,
    .to_host = to_host,
    .from_host = from_host,
    .paging = &paging,
    .pool = &pool,
};
