/* nvml_cost: what a rank's own use of NVML takes, in the calls that a rank makes:
 *
 *     nvml_cost UUID [SAMPLES]     "what wall_us cpu_us", a line each; default: 200 samples
 *
 * Built by multi_gpu.sh with the house's own nvml.c. */
#include "harness/nvml/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct moment {
    double wall, cpu; /* us */
};

static double read_clock(clockid_t id)
{
    struct timespec time;
    clock_gettime(id, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static struct moment now(void)
{
    return (struct moment){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

static void print(const char *what, struct moment from, int times)
{
    struct moment to = now();
    printf("%s %.1f %.1f\n", what, (to.wall - from.wall) / times, (to.cpu - from.cpu) / times);
}

int main(int argc, char **argv)
{
    struct nvml *nvml;
    struct nvml_device device;
    struct nvml_memory memory;
    struct nvml_process processes[64];
    struct text why = TEXT_INIT;
    size_t count;
    bool lost, known;
    int samples = argc > 2 ? atoi(argv[2]) : 200;
    struct moment from = now();
    if (argc < 2 || nvml_open(&nvml, &why) != 0)
        goto failed;
    print("open", from, 1);
    from = now();
    if (nvml_by_uuid(nvml, argv[1], &device, &why) != 0)
        goto failed;
    print("find_by_uuid", from, 1);
    from = now();
    for (int i = 0; i < samples; i++)
        if (nvml_read_memory(nvml, &device, &memory, &lost, &why) != 0 ||
            nvml_processes(nvml, &device, processes, 64, &count, &known) != 0)
            goto failed;
    print("one_sample", from, samples);
    from = now();
    nvml_close(nvml);
    print("close", from, 1);
    return 0;
failed:
    fprintf(stderr, "nvml_cost: %s\n", text_string(&why));
    return 1;
}
