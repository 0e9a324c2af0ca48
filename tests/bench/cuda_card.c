/* cuda_card: what a bare program does to one card, through libcuda.so.1 opened at run time.
 *
 *     cuda_card start
 *         cuInit and a context on device 0: "INIT CONTEXT COUNT", two times in ns and the
 *         number of visible devices
 *     cuda_card hold ORDINAL BYTES FILE
 *         holds memory on one card, as soon as there is room for it, and then writes the
 *         card's UUID into FILE; lets go when standard input ends, and after 200 seconds
 *
 * Built by the scripts that use it: cc cuda_card.c -ldl */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OUT_OF_MEMORY 2 /* of the driver's error codes */

struct cuda {
    int (*init)(unsigned int);
    int (*count)(int *);
    int (*device)(int *, int);
    int (*uuid)(unsigned char *, int);
    int (*retain)(void **, int);
    int (*release)(int);
    int (*current)(void *);
    int (*alloc)(uint64_t *, size_t);
    int (*free)(uint64_t);
};

static void need(const char *what, int code)
{
    if (code == 0)
        return;
    fprintf(stderr, "cuda_card: %s: error %d\n", what, code);
    exit(1);
}

static void load(struct cuda *cuda)
{
    static const char *const names[] = {"cuInit",
                                        "cuDeviceGetCount",
                                        "cuDeviceGet",
                                        "cuDeviceGetUuid_v2",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuDevicePrimaryCtxRelease_v2",
                                        "cuCtxSetCurrent",
                                        "cuMemAlloc_v2",
                                        "cuMemFree_v2"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "cuda_card: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *address = dlsym(library, names[i]);
        need(names[i], address == NULL);
        memcpy((char *)cuda + i * sizeof address, &address, sizeof address);
    }
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int start(const struct cuda *cuda)
{
    void *context;
    int device, count;
    uint64_t begin = now();
    need("cuInit", cuda->init(0));
    uint64_t ready = now();
    need("cuDeviceGet", cuda->device(&device, 0));
    need("the context", cuda->retain(&context, device));
    uint64_t end = now();
    need("cuDeviceGetCount", cuda->count(&count));
    printf("%llu %llu %d\n", (unsigned long long)(ready - begin),
           (unsigned long long)(end - ready), count);
    need("letting go", cuda->release(device));
    return 0;
}

static void tell(const char *path, const unsigned char *uuid)
{
    FILE *file = fopen(path, "w");
    need(path, file == NULL);
    fprintf(file, "GPU-");
    for (int i = 0; i < 16; i++)
        fprintf(file, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    fprintf(file, "\n");
    need(path, fclose(file));
}

static int hold(const struct cuda *cuda, int ordinal, uint64_t bytes, const char *path)
{
    void *context;
    int device;
    uint64_t memory;
    unsigned char uuid[16];
    char byte;
    need("cuInit", cuda->init(0));
    need("cuDeviceGet", cuda->device(&device, ordinal));
    need("cuDeviceGetUuid", cuda->uuid(uuid, device));
    need("the context", cuda->retain(&context, device));
    need("cuCtxSetCurrent", cuda->current(context));
    alarm(200); /* whatever becomes of whoever started us */
    int code;
    while ((code = cuda->alloc(&memory, bytes)) == OUT_OF_MEMORY)
        usleep(200);
    need("cuMemAlloc", code);
    tell(path, uuid);
    while (read(0, &byte, 1) > 0)
        ;
    need("cuMemFree", cuda->free(memory));
    need("letting go", cuda->release(device));
    return 0;
}

int main(int argc, char **argv)
{
    struct cuda cuda;
    if (argc == 2 && strcmp(argv[1], "start") == 0) {
        load(&cuda);
        return start(&cuda);
    }
    if (argc == 5 && strcmp(argv[1], "hold") == 0) {
        load(&cuda);
        return hold(&cuda, atoi(argv[2]), strtoull(argv[3], NULL, 10), argv[4]);
    }
    fprintf(stderr, "cuda_card: start, or hold ORDINAL BYTES FILE\n");
    return 2;
}
